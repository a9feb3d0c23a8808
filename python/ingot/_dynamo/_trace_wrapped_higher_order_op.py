# SPDX-License-Identifier: Apache-2.0
"""torch._dynamo._trace_wrapped_higher_order_op: masks that index tensors by tensors."""

from __future__ import annotations

from typing import Any

from ingot.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """A block in which x[i] with tensors without dimensions selects by their values, which indexing does anyway."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))
