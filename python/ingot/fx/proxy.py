# SPDX-License-Identifier: Apache-2.0
"""Proxies: values of a symbolic trace. Whatever is done to one becomes a node of the tracer's graph."""
from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from ingot import _C
from ingot.fx import traceback as fx_traceback
from ingot.fx.graph import Graph
from ingot.fx.node import Node, map_aggregate

__all__ = ["Attribute", "Proxy", "TraceError", "TracerBase"]


_METHODS = (type(_C.Tensor.add), types.MethodDescriptorType, types.WrapperDescriptorType)


class TraceError(ValueError):
    """A proxy was used where a real value is required."""


class TracerBase:
    """Makes nodes and proxies of a graph."""

    graph: Graph
    root: Any = None
    tensor_attrs: dict[Any, str]

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if fx_traceback.has_preserved_node_meta():
            meta = fx_traceback.get_current_meta()
            node.meta.update({k: v for k, v in meta.items() if k in ("stack_trace", "nn_module_stack", "torch_fn")})
        return node

    def proxy(self, node: Node) -> Proxy:
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        args_ = self.create_arg(args)
        kwargs_ = self.create_arg(kwargs)
        node = self.create_node(kind, target, tuple(args_), dict(kwargs_), name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """Something a program passed as an argument, as an argument of a node."""
        return map_aggregate(a, self._leaf)

    def _leaf(self, a: Any) -> Any:
        return a.node if isinstance(a, Proxy) else a

    def to_bool(self, obj: Proxy) -> bool:
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """Unpacking into names is possible where the caller's code says how many there are."""
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame and frame.f_back else None
        if caller is not None:
            code = caller.f_code.co_code
            at = caller.f_lasti
            import dis

            if dis.opname[code[at]] == "UNPACK_SEQUENCE":
                return (obj[i] for i in range(code[at + 1]))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument."
        )

    def keys(self, obj: Proxy) -> Any:
        return Attribute(obj, "keys")()


class Proxy:
    """Stands for the value of a node."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer = tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __index__(self) -> int:
        return self.tracer.to_bool(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})

    @classmethod
    def __torch_function__(cls, orig_method: Any, kinds: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        found: list[Proxy] = []

        def look(a: Any) -> Any:
            if isinstance(a, Proxy):
                found.append(a)
            return a

        map_aggregate(args, look)
        map_aggregate(kwargs, look)
        tracer = found[0].tracer
        if isinstance(orig_method, _METHODS):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """x.name: a value of its own, or the method that is about to be called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class GraphAppendingTracer(TracerBase):
    """Records at the insert point of an existing graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tensor_attrs = {}


def _operator_method(fn: Callable) -> Callable:
    def method(self: Proxy, *args: Any) -> Any:
        return self.tracer.create_proxy("call_function", fn, (self, *args), {})

    return method


def _reflected_method(fn: Callable) -> Callable:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", fn, (other, self), {})

    return method


_BINARY = "add sub mul floordiv truediv mod pow lshift rshift matmul"
for _name in [*_BINARY.split(), *"eq ne lt gt le ge neg pos invert getitem".split()]:
    setattr(Proxy, f"__{_name}__", _operator_method(getattr(operator, _name)))
for _name in ("and", "or", "xor"):
    setattr(Proxy, f"__{_name}__", _operator_method(getattr(operator, f"__{_name}__")))
    setattr(Proxy, f"__r{_name}__", _reflected_method(getattr(operator, f"__{_name}__")))
for _name in _BINARY.split():
    setattr(Proxy, f"__r{_name}__", _reflected_method(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # __eq__ records, identity is the key

