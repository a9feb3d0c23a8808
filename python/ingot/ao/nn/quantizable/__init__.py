# SPDX-License-Identifier: Apache-2.0
"""Layers made of parts that can be quantized one by one."""

from ingot.ao.nn.quantizable.modules import *  # noqa: F403
