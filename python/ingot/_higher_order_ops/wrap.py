# SPDX-License-Identifier: Apache-2.0
"""Regions: with another grad mode, with autocast, with checkpoints, with nothing of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._higher_order_ops._calls import Flat, unflatten
from ingot._ops import HigherOrderOperator
from ingot.amp import autocast
from ingot.utils import _pytree as pytree

__all__ = [
    "tag_activation_checkpoint", "wrap", "wrap_activation_checkpoint", "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]  # fmt: skip


def _call(enable_grad: bool, wrapped_func: Callable, *args: Any) -> Any:
    leaves, spec = pytree.tree_flatten(list(args))
    body = Flat(wrapped_func, spec)
    return unflatten(_C.hop_set_grad(enable_grad, body, leaves), body)


wrap_with_set_grad_enabled = HigherOrderOperator("wrap_with_set_grad_enabled", _call)
_C.hop_register("wrap_with_set_grad_enabled", wrap_with_set_grad_enabled)


def _call_autocast(
    device_type: str, dtype: Any, enabled: bool, cache_enabled: bool, wrapped_func: Callable, *args: Any, **kwargs: Any
) -> Any:
    with autocast(device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled):
        return wrapped_func(*args, **kwargs)


wrap_with_autocast = HigherOrderOperator("wrap_with_autocast", _call_autocast)
_C.hop_register("wrap_with_autocast", wrap_with_autocast)


def _call_plain(func: Callable, *args: Any, **kwargs: Any) -> Any:
    return func(*args, **kwargs)


wrap = HigherOrderOperator("wrap", _call_plain)


def _call_checkpoint(function: Callable, *args: Any, **kwargs: Any) -> Any:
    from ingot.utils.checkpoint import checkpoint

    kwargs.setdefault("use_reentrant", False)
    return checkpoint(function, *args, **kwargs)


wrap_activation_checkpoint = HigherOrderOperator("wrap_activation_checkpoint", _call_checkpoint)
tag_activation_checkpoint = HigherOrderOperator("tag_activation_checkpoint", _call_checkpoint)
