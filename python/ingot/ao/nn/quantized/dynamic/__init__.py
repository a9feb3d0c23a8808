# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.quantized.dynamic: weights are quantized, activations by every call."""

from ingot.ao.nn.quantized.dynamic.modules import *  # noqa: F403
