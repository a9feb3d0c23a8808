# SPDX-License-Identifier: Apache-2.0
"""torch.nn.quantized: the older name of torch.ao.nn.quantized."""

from ingot.ao.nn.quantized import *  # noqa: F403
from ingot.ao.nn.quantized import functional as functional
from ingot.nn.quantized import dynamic as dynamic
