# SPDX-License-Identifier: Apache-2.0
"""torch.nn.intrinsic.qat: the older name of torch.ao.nn.intrinsic.qat."""

from ingot.ao.nn.intrinsic.qat import *  # noqa: F403
