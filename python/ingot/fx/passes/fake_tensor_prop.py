# SPDX-License-Identifier: Apache-2.0
"""Fake values of a graph, found by running it on fake tensors."""
from __future__ import annotations

from typing import Any

from ingot import fx
from ingot._C import Tensor
from ingot._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ingot.fx.node import map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(fx.Interpreter):
    """Runs a graph on fake tensors and notes their values as `val`."""

    def __init__(self, module: fx.GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if result is not None:
            n.meta["val"] = map_aggregate(result, lambda value: value)
        return result

    def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        value = super().get_attr(target, args, kwargs)
        return self._mode.from_tensor(value) if isinstance(value, Tensor) else value

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        from ingot.func import functional_call

        module = self.fetch_attr(target)
        state = dict(module.named_parameters()) | dict(module.named_buffers())
        if not state:
            return module(*args, **kwargs)
        fakes = {name: self._mode.from_tensor(value) for name, value in state.items()}
        return functional_call(module, fakes, args, kwargs)

    def propagate(self, *args: Any) -> Any:
        """The fake result for these inputs, real or fake."""
        real = (isinstance(a, Tensor) and not isinstance(a, FakeTensor) for a in args)
        fakes = [self._mode.from_tensor(a) if one else a for a, one in zip(args, real, strict=True)]
        return self.propagate_dont_convert_inputs(*fakes)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        with self._mode:
            return super().run(*args)
