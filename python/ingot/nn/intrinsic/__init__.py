# SPDX-License-Identifier: Apache-2.0
"""torch.nn.intrinsic: the older name of torch.ao.nn.intrinsic."""

from ingot.ao.nn.intrinsic import *  # noqa: F403
from ingot.nn.intrinsic import qat as qat
from ingot.nn.intrinsic import quantized as quantized
