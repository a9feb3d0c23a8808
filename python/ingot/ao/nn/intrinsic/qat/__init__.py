# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.intrinsic.qat"""

from ingot.ao.nn.intrinsic.qat.modules import *  # noqa: F403
