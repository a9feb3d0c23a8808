# SPDX-License-Identifier: Apache-2.0
"""torch.nn.qat: the older name of torch.ao.nn.qat."""

from ingot.ao.nn.qat import *  # noqa: F403
