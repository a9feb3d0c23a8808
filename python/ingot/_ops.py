# SPDX-License-Identifier: Apache-2.0
"""torch._ops: the classes of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._C import OpOverload, OpOverloadPacket, ops

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "ops"]

_OpNamespace = _C._OpNamespace


class HigherOrderOperator:
    """torch.ops.higher_order.<name>: an operator that takes functions. `run` does the work."""

    def __init__(self, name: str, run: Callable | None = None) -> None:
        self._name = self.__name__ = name
        self._ns = self.namespace = "higher_order"
        self._run = run
        self.__module__ = "torch.ops.higher_order"
        setattr(ops.higher_order, name, self)

    def name(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._run is None:
            raise NotImplementedError(f"torch.ops.higher_order.{self._name} has no implementation here")
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<torch.ops.higher_order.{self._name}>"

    def __copy__(self) -> HigherOrderOperator:
        return self

    def __deepcopy__(self, memo: Any) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> Any:
        return _C.hop_object, (self._name,)
