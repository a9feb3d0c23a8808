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


def __getattr__(name: str) -> object:
    """Packages that few programs need are imported when they are used."""
    if name in ("intrinsic", "qat", "quantized"):
        import importlib

        return importlib.import_module(f"ingot.nn.{name}")
    raise AttributeError(f"module 'ingot.nn' has no attribute {name!r}")
