# SPDX-License-Identifier: Apache-2.0
"""Layers, their functional forms, initial values and utilities."""

from ingot.nn import attention, functional, init, modules, parallel, parameter, utils
from ingot.nn.modules import *  # noqa: F403
from ingot.nn.modules import __all__ as _layers
from ingot.nn.parallel import DataParallel
from ingot.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention", "functional",
    "init", "modules", "parallel", "parameter", "utils", *_layers,
]  # fmt: skip
