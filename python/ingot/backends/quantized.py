# SPDX-License-Identifier: Apache-2.0
"""torch.backends.quantized. All engines of PyTorch are one here: the name is kept for programs that set it."""

from __future__ import annotations

import sys
import types

ENGINES = ["qnnpack", "none", "onednn", "x86", "fbgemm"]


class _Quantized(types.ModuleType):
    """The module itself, so that its engine can be assigned."""

    supported_engines = ENGINES

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._engine = "x86"

    @property
    def engine(self) -> str:
        return self._engine

    @engine.setter
    def engine(self, name: str) -> None:
        if name not in ENGINES:
            raise RuntimeError(f"{name} is not a valid value for quantized engine")
        self._engine = name


sys.modules[__name__] = _Quantized(__name__)
