# SPDX-License-Identifier: Apache-2.0
"""Tracing a module by running it on proxies: operators, functions, methods and modules become nodes."""
from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import functools
import importlib
import inspect
import math
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from ingot import _C, nn
from ingot.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import base_types, map_aggregate
from ingot.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, assert_fn
from ingot.utils import _pytree as pytree

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_tracing: ContextVar[bool] = ContextVar("_tracing", default=False)
# Functions and methods that traces record: (namespace, name), as wrap was told.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_proxyable_classes: dict[type, None] = {}


def is_fx_tracing() -> bool:
    """Whether a symbolic trace is under way in this thread."""
    return _tracing.get()


class ProxyableClassMeta(type):
    """Classes whose construction a trace records if an argument is a proxy."""

    def __init__(cls, name: str, bases: tuple, attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_fx_tracing():
            proxy = _find_proxy(args, kwargs)
            if proxy is not None:
                return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class PHBase:
    """An argument of a trace that stays a placeholder, inside concrete_args."""

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """A placeholder whose node has attributes of its own."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


PH = PHBase()


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _find_proxy(*trees: Any) -> Proxy | None:
    found: list[Proxy] = []

    def look(a: Any) -> Any:
        if isinstance(a, Proxy):
            found.append(a)
        return a

    map_aggregate(trees, look)
    return found[0] if found else None


def _create_wrapped_func(original: Callable) -> Callable:
    """Calls with a proxy among their arguments become nodes, others are made."""
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call


def _create_wrapped_method(cls: type, name: str) -> Callable:
    original = getattr(cls, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return call


def wrap(fn_or_name: Any) -> Any:
    """Marks a function of the calling module: a trace records calls of it instead of looking inside."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(caller.f_globals), name)] = caller.f_globals
    return fn_or_name


def _wrap_method(cls: type, name: str) -> None:
    """Traces record calls of a method that have a proxy among their arguments."""
    _wrapped_methods_to_patch.append((cls, name))


# Functions of these modules are recorded whole where a tensor argument is a proxy: they are control flow around
# operators, and PyTorch's ask __torch_function__ first. The listed ones have no such question.
_ASKING_MODULES = ("ingot.nn.functional", "ingot.nn._losses", "ingot.nn._attention", "ingot.functional")
_NOT_ASKING = frozenset(
    """sigmoid tanh upsample upsample_nearest upsample_bilinear is_tensor is_storage typename broadcast_shapes
    set_default_device get_default_device""".split()
)
# PyTorch's forms of these take *args and choose by a flag: a trace of the function itself cannot unpack them.
_CHOOSING = frozenset(
    """adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d
    max_pool1d max_pool2d max_pool3d""".split()
)
_TENSOR_TYPES = ("Tensor", "Maybe", "Tensor | None", "list[Tensor]")


def _asks(fn: Any) -> bool:
    """Whether a function is one that a trace records whole."""
    if not isinstance(fn, types.FunctionType) or fn.__module__ not in _ASKING_MODULES:
        return False
    name = fn.__name__
    return not name.startswith(("_", "sym_")) and name not in _NOT_ASKING


@functools.cache
def _asking(fn: Callable) -> Callable:
    """The function, recorded if a tensor argument is a proxy: required arguments by place, the others by name."""
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _find_proxy(args, kwargs) is None:
            return fn(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        places: list[Any] = []
        names: dict[str, Any] = {}
        relevant: list[Any] = []
        for name, p in signature.parameters.items():
            value = bound.arguments[name]
            if p.kind is p.VAR_POSITIONAL:
                places.extend(value)
                relevant.extend(value)
                continue
            if p.kind is p.VAR_KEYWORD:
                names.update(value)
            elif p.default is p.empty:
                places.append(value)
            else:
                names[name] = value
            if str(p.annotation) in _TENSOR_TYPES or p.annotation is p.empty:
                relevant.append(value)
        proxy = _find_proxy(relevant)
        if proxy is None:
            return fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", fn, tuple(places), names)

    return call


def _type_hints(fn: Callable) -> dict[str, Any]:
    """The annotations of a function; those of this library are texts and become types."""
    found = getattr(fn, "__annotations__", {})
    if not (getattr(fn, "__module__", None) or "").startswith("ingot."):
        return found
    try:
        found = {k: v for k, v in typing.get_type_hints(fn).items() if v is not Any}
        # Printed code has the form of typing.
        unions = {k: typing.Union[v.__args__] for k, v in found.items() if isinstance(v, types.UnionType)}  # noqa: UP007
        return found | unions
    except Exception:  # a type that only type checkers know
        return {}


class _Patcher:
    """Replaces attributes and entries of namespaces, and puts them back when it is left."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, bool]] = []
        self._seen: set[int] = set()

    def patch(self, scope: dict[str, Any], name: str, value: Any) -> None:
        self._undo.append((scope, name, scope.get(name), name in scope))
        scope[name] = value

    def patch_method(self, cls: type, name: str, value: Any) -> None:
        self._undo.append((cls, name, cls.__dict__.get(name), name in cls.__dict__))
        setattr(cls, name, value)

    def visit_once(self, scope: dict[str, Any]) -> bool:
        first = id(scope) not in self._seen
        self._seen.add(id(scope))
        return first

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *unused: object) -> None:
        while self._undo:
            where, name, before, had = self._undo.pop()
            if isinstance(where, dict):
                if had:
                    where[name] = before
                else:
                    del where[name]
            elif had:
                setattr(where, name, before)
            else:
                delattr(where, name)


def _patch_function(fn: types.FunctionType, count: int) -> types.FunctionType:
    """The function with one plain parameter in place of *args, and one of **kwargs."""
    stars = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    code = fn.__code__.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=fn.__code__.co_flags & ~stars
    )
    return types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


class Tracer(TracerBase):
    """Runs a module on proxies. is_leaf_module decides which calls of modules are nodes and which are entered."""

    def __init__(
        self,
        autowrap_modules: tuple = (math,),
        autowrap_functions: tuple = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for name, value in [item for m in autowrap_modules for item in m.__dict__.items()]
            if not name.startswith("_") and callable(value)
        } | {id(f) for f in autowrap_functions}
        self._autowrap_search: list[types.ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[nn.Module, str] | None = None
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Any = None

    def __deepcopy__(self, memo: dict) -> Tracer:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for key, value in self.__dict__.items():  # modules of Python are shared
            made.__dict__[key] = list(value) if key == "_autowrap_search" else copy.deepcopy(value, memo)
        return made

    # ---- what a sub-class decides ----

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return m.__module__.startswith(("ingot.nn", "ingot.ao.nn")) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        if self.submodule_paths is not None and mod in self.submodule_paths:
            return self.submodule_paths[mod]
        for name, module in self.root.named_modules() if isinstance(self.root, nn.Module) else ():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: nn.Module, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        name = self.path_of_module(m)
        with ScopeContextManager(self._scopes, Scope(name, type(m))) as scope:
            key = f"{name}@{sum(k.partition('@')[0] == name for k in self.module_stack)}"
            key = name if name not in self.module_stack else key
            self.module_stack[key] = (name, scope.module_type)
            try:
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What a read of a module's attribute gives while it is traced: a proxy of a parameter."""
        if isinstance(attr_val, nn.Parameter):
            return self._attribute_proxy(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, _C.Tensor):
            return self._attribute_proxy(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _attribute_proxy(self, value: Any, named: Iterator[tuple[str, Any]], cache: dict[str, Any]) -> Any:
        for name, known in named:
            if known is not value:
                continue
            if name not in cache:
                make = None
                if self.param_shapes_constant:

                    def make(node: Any, name: str = name) -> ParameterProxy:
                        return ParameterProxy(self, node, name, value)

                takes = "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters
                more = {"proxy_factory_fn": make} if takes else {}
                cache[name] = self.create_proxy("get_attr", name, (), {}, **more)
            return cache[name]
        return value

    # ---- arguments of nodes ----

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, (nn.Parameter, nn.Module)):
            named = self.root.named_parameters() if isinstance(a, nn.Parameter) else self.root.named_modules()
            for name, known in named:
                if a is known:
                    return self.create_node("get_attr", name, (), {})
            if isinstance(a, nn.Parameter):
                raise NameError("parameter is not a member of this module")
            raise NotImplementedError(f"argument of type: {type(a)}")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", a.__class__, tuple(self.create_arg(x) for x in a), {})
        if isinstance(a, _C.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(a) or self._constant(a, "_tensor_constant")
            self.tensor_attrs[a] = name
            return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            name = self._constant(a, f"_{type(a).__name__}_constant_")
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _constant(self, a: Any, stem: str) -> str:
        """A value that is not an attribute of a module becomes an attribute of the root."""
        i = 0
        while hasattr(self.root, f"{stem}{i}"):
            i += 1
        setattr(self.root, f"{stem}{i}", a)
        return f"{stem}{i}"

    def _collect(self, root: nn.Module) -> None:
        self.submodule_paths = {m: name for name, m in root.named_modules()}
        for prefix, module in root.named_modules():
            for key, value in vars(module).items():
                if isinstance(value, _C.Tensor):
                    self.tensor_attrs.setdefault(value, f"{prefix}.{key}" if prefix else key)

    # ---- the call ----

    def _specialize(self, name: str, value: Any, position: int, default: tuple) -> Any:
        """A leaf of concrete_args: a placeholder whose value is asserted; the trace goes on with the value."""
        holder = self.create_proxy("placeholder", f"{name}_{position}", default, {})
        if isinstance(value, PHBase):
            for key, attribute in vars(value).items():
                setattr(holder.node, key, attribute)
            return holder
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (holder, message), {})
        elif isinstance(value, base_types) and not isinstance(value, _C.Tensor):
            self.create_proxy("call_function", assert_fn, (holder == value, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up "
                "to the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=4,
            )
        return value

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable, list[Any]]:
        """The function to run and its arguments: one placeholder per parameter."""
        analysed = inspect.unwrap(root_fn)
        if not isinstance(analysed, types.FunctionType):
            analysed = getattr(analysed, "__func__", None) or vars(type(analysed)).get("__call__")
            if not isinstance(analysed, types.FunctionType):
                raise AssertionError(f"{root_fn!r} is not written in Python: a trace has nothing to run")
        code = analysed.__code__
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        args: list[Any] = []
        if is_module:
            if not names:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            names = names[1:]
        parameters = inspect.signature(analysed).parameters
        annotations = _type_hints(analysed)
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args, strict=True))
        concrete = concrete_args or {}
        count = 0

        def default_of(name: str) -> tuple:
            found = parameters.get(name)
            return () if found is None or found.default is found.empty else (found.default,)

        def leaf(name: str, value: Any) -> Any:
            nonlocal count
            count += 1
            return self._specialize(name, value, count, default_of(name))

        for name in names:
            if name in concrete:
                count = 0
                args.append(pytree.tree_map(lambda v, name=name: leaf(name, v), concrete[name]))
            else:
                args.append(
                    self.create_proxy("placeholder", name, default_of(name), {}, type_expr=annotations.get(name))
                )
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            rest = iter(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    name = next(rest)
                    args.append(self.create_proxy("placeholder", stars + name, (), {}, type_expr=annotations.get(name)))
            root_fn = _patch_function(analysed, len(args))
        flat, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children_specs):
            return root_fn, args
        return self._flattened(root_fn, names if not is_module else ["self", *names], spec), flat

    def _flattened(self, root_fn: Callable, names: list[str], spec: Any) -> Callable:
        """Concrete arguments that are trees: the graph has flat inputs and outputs."""
        self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, spec, None)))

        def flatten_fn(*args: Any) -> Any:
            out, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(args), spec)))
            codegen = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        return flatten_fn

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of root called on proxies."""
        is_module = isinstance(root, nn.Module)
        self.tensor_attrs = {}
        self.scope = Scope("", None)
        self.__dict__["_module_stack"] = collections.OrderedDict()
        self.__dict__["_node_scopes"] = {}
        if is_module:
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
            if isinstance(root, GraphModule) and self.traced_func_name == "forward":
                fn = root._compiled()
            own = vars(root).get(self.traced_func_name)  # a method that this object alone has
            if own is not None:
                is_module, fn = False, own
        else:
            self.root, fn = nn.Module(), root
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self._collect(self.root)
        token = _tracing.set(True)
        try:
            asking = _asks(fn)
            fn, args = self.create_args_for_root(fn, is_module, concrete_args)
            if asking:
                if fn.__name__ in _CHOOSING:
                    self.iter(args[0])
                fn = _asking(fn)
            with self._patched(getattr(inspect.unwrap(fn), "__globals__", {})):
                result = fn(*args)
                returns = _type_hints(inspect.unwrap(fn)).get("return")
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=returns)
        finally:
            _tracing.reset(token)
            self.submodule_paths = None
        return self.graph

    @contextlib.contextmanager
    def _patched(self, fn_globals: dict[str, Any]) -> Iterator[None]:
        """While a trace runs: calls of modules and reads of parameters go to the tracer, wrapped functions record."""
        with _Patcher() as patcher:
            cache: dict[str, Any] = {}
            call, read = nn.Module.__call__, nn.Module.__getattr__

            def module_getattr(mod: nn.Module, attr: str) -> Any:
                return self.getattr(attr, read(mod, attr), cache)

            def module_call(mod: nn.Module, *args: Any, **kwargs: Any) -> Any:
                def forward(*a: Any, **k: Any) -> Any:
                    return call(mod, *a, **k)

                self._autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}))
                return self.call_module(mod, forward, args, kwargs)

            patcher.patch_method(nn.Module, "__getattr__", module_getattr)
            patcher.patch_method(nn.Module, "__call__", module_call)
            for (_, name), scope in list(_wrapped_fns_to_patch.items()):
                if name not in scope and not hasattr(builtins, name):
                    continue
                patcher.patch(scope, name, _create_wrapped_func(scope.get(name, getattr(builtins, name, None))))
            for cls, name in _wrapped_methods_to_patch:
                patcher.patch_method(cls, name, _create_wrapped_method(cls, name))
            for name in (*_ASKING_MODULES, "ingot"):
                self._patch_asking(patcher, importlib.import_module(name), sys.modules.get("torch" + name[5:]))
            self._autowrap_check(patcher, fn_globals)
            for module in self._autowrap_search:
                self._autowrap_check(patcher, module.__dict__)
            yield

    def _patch_asking(self, patcher: _Patcher, module: Any, alias: Any) -> None:
        """The functions of a module and of its alias, which keeps a name once somebody has asked for it: it must not
        keep what stands in for a function while this capture runs."""
        for scope in (alias, module):
            for key, value in list(vars(scope).items()) if scope is not None else ():
                if not _asks(value):
                    continue
                asking = _asking(value)
                patcher.patch(vars(scope), key, asking)
                if alias is not None and scope is module and key not in vars(alias):
                    patcher.patch(vars(alias), key, asking)

    def _autowrap_check(self, patcher: _Patcher, scope: dict[str, Any]) -> None:
        """Functions that are wrapped by identity, in a namespace that the trace comes to."""
        if not patcher.visit_once(scope):
            return
        for name, value in list(scope.items()):
            if not name.startswith("_") and callable(value) and id(value) in self._autowrap_function_ids:
                patcher.patch(scope, name, _create_wrapped_func(value))


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A GraphModule of what root does, found by running it once on proxies."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
