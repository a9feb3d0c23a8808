# SPDX-License-Identifier: Apache-2.0
"""Proxies: values of a symbolic trace. Whatever is done to one becomes a node of the tracer's graph."""
from __future__ import annotations

import collections
import copy
import dataclasses
import dis
import enum
import inspect
import operator
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ingot
from ingot import _C
from ingot.fx import traceback as fx_traceback
from ingot.fx.graph import Graph, magic_methods, reflectable_magic_methods
from ingot.fx.node import Node, base_types, map_aggregate

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
    "TracerBase",
]  # fmt: skip


_METHODS = (type(_C.Tensor.add), types.MethodDescriptorType, types.WrapperDescriptorType)
_LIBRARY = __file__.rpartition("ingot")[0] + "ingot"  # frames in these files are not the user's
assert_fn = ingot._assert


class TraceError(ValueError):
    """A proxy was used where a real value is required."""


class Scope(NamedTuple):
    """The module that a trace is in: its path and its class."""

    module_path: str
    module_type: Any


class ScopeContextManager:
    """Changes the scope of a tracer, and puts it back."""

    def __init__(self, scope: list[Scope], current_scope: Scope) -> None:
        self._scopes = scope
        self._new = current_scope

    def __enter__(self) -> Scope:
        self._scopes.append(self._new)
        return self._new

    def __exit__(self, *unused: object) -> None:
        self._scopes.pop()


# Metadata that a node recorded on behalf of another one takes over.
_COPY_META_FIELDS = (
    "nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id", "from_node",
    "quantization_tag", "_numeric_debug_handle", "custom", "partitioner_tag",
)  # fmt: skip


class TracerBase:
    """Makes nodes and proxies of a graph."""

    graph: Graph
    root: Any = None
    tensor_attrs: dict[Any, str]
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"

    @property
    def _scopes(self) -> list[Scope]:
        return self.__dict__.setdefault("_scope_list", [Scope("", None)])

    @property
    def scope(self) -> Scope:
        return self._scopes[-1]

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self.__dict__["_scope_list"] = [scope]

    @property
    def module_stack(self) -> collections.OrderedDict:
        """The modules that the trace is in, outermost first: (path, class) by path."""
        return self.__dict__.setdefault("_module_stack", collections.OrderedDict())

    @property
    def node_name_to_scope(self) -> dict[str, tuple[str, Any]]:
        return self.__dict__.setdefault("_node_scopes", {})

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        if kind == "call_function" and self.check_mutable_operations:
            from ingot.fx.operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            meta = fx_traceback.get_current_meta()
            if meta.get("stack_trace"):
                node.stack_trace = meta["stack_trace"]
            node.meta.update({k: copy.copy(meta[k]) for k in _COPY_META_FIELDS if k in meta})
        elif self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
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
        made = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not made.node.stack_trace and self._find_user_frame() is not None:
            frames = [f for f in traceback.extract_stack() if not f.filename.startswith(_LIBRARY)]
            made.node.stack_trace = "".join(traceback.format_list(frames)).strip()
        return made

    def _find_user_frame(self) -> types.FrameType | None:
        """The innermost frame that is not of this library."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_LIBRARY):
            frame = frame.f_back  # type: ignore[assignment]
        return frame

    def create_arg(self, a: Any) -> Any:
        """Something a program passed as an argument, as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(x) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return self._dict_arg(a)
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            values = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", a.__class__, (), values)
        if a is None or a is ... or isinstance(a, (*base_types, enum.Enum, Node, type)) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _dict_arg(self, a: dict) -> dict:
        out = {}
        for key, value in a.items():
            k = self.create_arg(key)

            def refuse(node: Any, key: Any = k) -> Any:
                if isinstance(node, Node):
                    raise RuntimeError(
                        f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
                    )
                return node

            map_aggregate(k, refuse)
            out[k] = self.create_arg(value)
        return out

    def to_bool(self, obj: Proxy) -> bool:
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """Unpacking into names is possible where the caller's code says how many there are."""
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame and frame.f_back else None
        if caller is not None:
            code = caller.f_code.co_code
            at = caller.f_lasti
            if dis.opname[code[at]] == "UNPACK_SEQUENCE":
                return (obj[i] for i in range(code[at + 1]))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
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

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict) -> Proxy:
        made = Proxy.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, kinds: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def look(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, look)
        map_aggregate(kwargs, look)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        if isinstance(orig_method, _METHODS):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        if type(orig_method).__name__.endswith("HigherOrderOperator"):
            raise RuntimeError("Unable to symbolically trace HigherOrderOperators")
        name = tracer.graph._target_to_str(getattr(orig_method, "__name__", type(orig_method).__name__))
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _is_asserted(frame: types.FrameType) -> bool:
    """Whether the caller's code tests a value for an assert statement: the branch not taken raises."""
    instructions = [i for i in dis.get_instructions(frame.f_code) if i.opname not in ("CACHE", "TO_BOOL", "NOT_TAKEN")]
    at = next((k for k, i in enumerate(instructions) if i.offset >= frame.f_lasti), None)
    if at is None:
        return False
    if instructions[at].offset == frame.f_lasti and not instructions[at].opname.startswith("POP_JUMP"):
        at += 1
    following = instructions[at : at + 2]
    return (
        len(following) == 2
        and following[0].opname.endswith("IF_TRUE")
        and following[1].opname in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT")
    )


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


class ParameterProxy(Proxy):
    """A parameter whose shape is known while it is traced, so that control flow may ask for it."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, ingot.nn.Parameter):
            raise AssertionError(f"expected a Parameter, found {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self) -> Any:
        return self.param.size()

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


class GraphAppendingTracer(TracerBase):
    """Records at the insert point of an existing graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.tensor_attrs = {}


def _operator_method(fn: Callable) -> Callable:
    def method(self: Proxy, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_function", fn, (self, *args), kwargs)

    return method


def _reflected_method(fn: Callable) -> Callable:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", fn, (other, self), {})

    return method


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(getattr(operator, _name)))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_method(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # __eq__ records, identity is the key
