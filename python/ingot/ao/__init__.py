# SPDX-License-Identifier: Apache-2.0
"""torch.ao: quantization of models, module by module."""


def __getattr__(name: str) -> object:
    if name in ("nn", "quantization"):
        import importlib

        return importlib.import_module(f"ingot.ao.{name}")
    raise AttributeError(f"module 'ingot.ao' has no attribute {name!r}")
