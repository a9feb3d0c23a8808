# SPDX-License-Identifier: Apache-2.0
"""torch.nn.quantized.dynamic: the older name of torch.ao.nn.quantized.dynamic."""

from ingot.ao.nn.quantized.dynamic import *  # noqa: F403
