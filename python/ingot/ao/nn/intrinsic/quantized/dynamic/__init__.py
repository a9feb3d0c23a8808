# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.intrinsic.quantized.dynamic"""

from ingot.ao.nn.intrinsic.quantized.dynamic.modules import *  # noqa: F403
