# SPDX-License-Identifier: Apache-2.0
"""A wrapper of two tensors that computes everything twice, for tests of wrapper subclasses."""

from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.utils import _pytree as pytree
from ingot.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

__all__ = ["TwoTensor", "TwoTensorMode"]


class TwoTensor(Tensor):
    """Two tensors of one shape, a and b."""

    a: Tensor
    b: Tensor

    @staticmethod
    def __new__(cls, a: Tensor, b: Tensor) -> TwoTensor:
        same = a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()
        if not same or a.device != b.device or a.layout != b.layout or a.requires_grad != b.requires_grad:
            raise AssertionError
        made = Tensor._make_wrapper_subclass(
            cls,
            a.size(),
            strides=a.stride(),
            storage_offset=a.storage_offset(),
            device=a.device,
            layout=a.layout,
            requires_grad=a.requires_grad,
            dtype=a.dtype,
        )
        made.a = a
        made.b = b
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"TwoTensor({self.a!r}, {self.b!r})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Tensor], meta: Any, outer_size: Any, outer_stride: Any
    ) -> TwoTensor:
        if meta is not None:
            raise AssertionError
        return TwoTensor(inner_tensors["a"], inner_tensors["b"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        results = []
        for name in ("a", "b"):
            mine = pytree.tree_map_only(TwoTensor, lambda t, name=name: getattr(t, name), (args, kwargs))
            results.append(func(*mine[0], **mine[1]))
        first, spec = pytree.tree_flatten(results[0])
        second = pytree.tree_leaves(results[1])
        pairs = [TwoTensor(a, b) if isinstance(a, Tensor) else a for a, b in zip(first, second, strict=True)]
        return return_and_correct_aliasing(func, args, kwargs, pytree.tree_unflatten(pairs, spec))


class TwoTensorMode(TorchDispatchMode):
    """Inside, factories make TwoTensors of two equal tensors."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if any(issubclass(t, TwoTensor) for t in types) or not isinstance(out, Tensor):
            return out
        return TwoTensor(out, out.clone())
