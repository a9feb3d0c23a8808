# SPDX-License-Identifier: Apache-2.0
"""with_effects: a call with side effects, ordered by tokens; and which operators have some."""

from __future__ import annotations

import enum
from typing import Any
from weakref import WeakKeyDictionary

from ingot import _C
from ingot._ops import HigherOrderOperator, OpOverload

__all__ = ["SIDE_EFFECTS", "get_effect_key", "has_aliasing", "has_effects", "new_token_tensor", "with_effects"]


class _EffectType(enum.Enum):
    """Calls of one kind happen in their order."""

    ORDERED = "Ordered"


SIDE_EFFECTS: WeakKeyDictionary[Any, _EffectType] = WeakKeyDictionary()


def _register_effectful_op(op: Any, effect: _EffectType) -> None:
    """Calls of the operator have an effect."""
    if not isinstance(op, (OpOverload, HigherOrderOperator)) or has_aliasing(op):
        raise AssertionError(f"{op} is no operator, or its results share memory with its operands")
    if op in SIDE_EFFECTS and SIDE_EFFECTS[op] is not effect:
        raise RuntimeError(f"Already registered effect type {SIDE_EFFECTS[op]} to op {op}, trying to register a different effect type {effect}.")  # fmt: skip  # noqa: E501
    SIDE_EFFECTS[op] = effect


def _deregister_effectful_op(op: Any) -> None:
    if op not in SIDE_EFFECTS:
        raise RuntimeError(f"Op {op} is not registered as effectful")
    del SIDE_EFFECTS[op]


def has_aliasing(op: Any) -> bool:
    """Whether something that the operator takes or returns is shared or written."""
    if isinstance(op, HigherOrderOperator):
        return op not in SIDE_EFFECTS
    schema = op._schema
    return any(a.alias_info is not None for a in (*schema.arguments, *schema.returns))


def get_effect_key(op: Any, args: Any, kwargs: Any) -> _EffectType | None:
    return SIDE_EFFECTS.get(op)


def has_effects(op: Any, args: Any, kwargs: Any) -> bool:
    known = isinstance(op, (OpOverload, HigherOrderOperator)) and not has_aliasing(op)
    return known and get_effect_key(op, args, kwargs) is not None


def new_token_tensor() -> Any:
    return _C.tensor([], dtype=_C.bool)


def _call(token: Any, op: Any, *args: Any, **kwargs: Any) -> tuple:
    out = op(*args, **kwargs)
    return (token, *out) if isinstance(out, tuple) else (token, out)


with_effects = HigherOrderOperator("with_effects", _call)
_C.hop_register("with_effects", with_effects)
