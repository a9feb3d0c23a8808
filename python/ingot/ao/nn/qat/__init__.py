# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.qat: modules that train with fake quantization of their weights."""

from ingot.ao.nn.qat.modules import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name == "dynamic":
        import importlib

        return importlib.import_module("ingot.ao.nn.qat.dynamic")
    raise AttributeError(f"module 'ingot.ao.nn.qat' has no attribute {name!r}")
