# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.quantized"""

from ingot.ao.nn.quantized import functional as functional
from ingot.ao.nn.quantized.modules import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name == "dynamic":
        import importlib

        return importlib.import_module("ingot.ao.nn.quantized.dynamic")
    raise AttributeError(f"module 'ingot.ao.nn.quantized' has no attribute {name!r}")
