# SPDX-License-Identifier: Apache-2.0
"""Types of tensors by their sizes, some of them unknown."""
from __future__ import annotations

from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _Dynamic:
    """The size or type that nothing is known of."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dynamic)

    def __hash__(self) -> int:
        return hash("Dyn")

    def __repr__(self) -> str:
        return "Dyn"

    __str__ = __repr__


Dyn = _Dynamic()


class TensorType:
    """TensorType((1, Dyn, 3)): a tensor of three dimensions, the second of unknown size."""

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = tuple(dim)

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self.__args__) == list(other.__args__)

    def __hash__(self) -> int:
        return hash(self.__args__)

    @staticmethod
    def __class_getitem__(item: Any) -> TensorType:
        return TensorType(tuple(item) if isinstance(item, tuple) else (item,))


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(a, TensorType) and isinstance(b, TensorType) and len(a.__args__) == len(b.__args__):
        return list(zip(a.__args__, b.__args__, strict=True))
    return None


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether one value can have both types."""
    if t1 == t2 or t1 == Dyn or t2 == Dyn:
        return True
    pairs = _pairs(t1, t2)
    return pairs is not None and all(is_consistent(a, b) for a, b in pairs)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first type says all that the second one says."""
    if t1 == t2 or t2 == Dyn:
        return True
    pairs = _pairs(t1, t2)
    return pairs is not None and all(is_more_precise(a, b) for a, b in pairs)
