# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.intrinsic.quantized"""

from ingot.ao.nn.intrinsic.quantized.modules import *  # noqa: F403
