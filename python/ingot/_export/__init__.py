# SPDX-License-Identifier: Apache-2.0
"""Older entry points of export."""
from __future__ import annotations

from typing import Any

from ingot import nn
from ingot.export import _trace

__all__ = ["capture_pre_autograd_graph"]


def capture_pre_autograd_graph(
    f: nn.Module, args: tuple, kwargs: dict[str, Any] | None = None, dynamic_shapes: Any = None
) -> nn.Module:
    """The module of a program of training level, called as `f` is."""
    return _trace._export_for_training(f, args, kwargs, dynamic_shapes).module()
