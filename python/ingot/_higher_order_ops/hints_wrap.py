# SPDX-License-Identifier: Apache-2.0
"""hints_wrapper: a function with hints for a compiler, which change nothing about its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._higher_order_ops._calls import is_leaf_value
from ingot._ops import HigherOrderOperator

__all__ = ["hints_wrapper"]


def _call(body_fn: Callable, args: tuple, kwargs: dict[str, Any], hints: dict[str, Any]) -> Any:
    for name, value, kind in (("args", args, tuple), ("kwargs", kwargs, dict), ("hints", hints, dict)):
        if not isinstance(value, kind):
            raise RuntimeError(f"{name} must be a {kind.__name__}, got {type(value)}")
    if not all(map(is_leaf_value, args)):
        raise RuntimeError(f"args must be a tuple of tensors, ints, floats, or bools, got {args}")
    for key, value in hints.items():
        if not isinstance(key, str):
            raise RuntimeError(f"hints key must be a str, got {key}.")
        if not isinstance(value, (int, float, bool, str)):
            raise RuntimeError(f"hints must be a dict containing int, float, bool or str value, got value {value} for key {key}.")  # fmt: skip  # noqa: E501
    return body_fn(*args, **kwargs)


hints_wrapper = HigherOrderOperator("hints_wrapper", _call)
