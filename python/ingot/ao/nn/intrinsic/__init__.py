# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.intrinsic: fused modules."""

from ingot.ao.nn.intrinsic.modules import *  # noqa: F403
from ingot.ao.nn.intrinsic.modules import _FusedModule as _FusedModule


def __getattr__(name: str) -> object:
    """qat and quantized need modules that need this one."""
    if name in ("qat", "quantized"):
        import importlib

        return importlib.import_module(f"ingot.ao.nn.intrinsic.{name}")
    raise AttributeError(name)
