# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn: quantized modules, fused modules and modules that train with fake quantization."""


def __getattr__(name: str) -> object:
    if name in ("intrinsic", "qat", "quantizable", "quantized"):
        import importlib

        return importlib.import_module(f"ingot.ao.nn.{name}")
    raise AttributeError(f"module 'ingot.ao.nn' has no attribute {name!r}")
