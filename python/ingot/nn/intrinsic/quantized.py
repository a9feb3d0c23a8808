# SPDX-License-Identifier: Apache-2.0
"""torch.nn.intrinsic.quantized: the older name of torch.ao.nn.intrinsic.quantized."""

from ingot.ao.nn.intrinsic.quantized import *  # noqa: F403
