# SPDX-License-Identifier: Apache-2.0
"""Tracing a module by running it on proxies: operators, functions, methods and modules become nodes."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ingot import _C, nn
from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_wrapped: list[tuple[dict[str, Any], str]] = []


def wrap(fn_or_name: Any) -> Any:
    """Marks a function of the calling module: a trace records calls of it instead of looking inside."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((caller.f_globals, name))
    return fn_or_name


class Tracer(TracerBase):
    """Runs a module on proxies. is_leaf_module decides which calls of modules are nodes and which are entered."""

    def __init__(
        self,
        autowrap_modules: tuple = (),
        autowrap_functions: tuple = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._paths: dict[nn.Module, str] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Any = None

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return m.__module__.startswith("ingot.nn") and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        if mod in self._paths:
            return self._paths[mod]
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: nn.Module, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        return forward(*args, **kwargs)

    def _leaf(self, a: Any) -> Any:
        if isinstance(a, _C.Tensor):
            name = self.tensor_attrs.get(a)
            if name is None:
                name = self._constant(a)
            return self.create_node("get_attr", name, (), {})
        return super()._leaf(a)

    def _constant(self, a: Any) -> str:
        """A tensor that is not an attribute of a module becomes an attribute of the root."""
        i = 0
        while hasattr(self.root, f"_tensor_constant{i}"):
            i += 1
        name = f"_tensor_constant{i}"
        setattr(self.root, name, a)
        self.tensor_attrs[a] = name
        return name

    def _collect(self, root: nn.Module) -> None:
        self._paths = {m: name for name, m in root.named_modules()}
        for name, p in root.named_parameters():
            self.tensor_attrs[p] = name
        for name, b in root.named_buffers():
            self.tensor_attrs[b] = name
        for prefix, module in root.named_modules():
            for key, value in vars(module).items():
                if isinstance(value, _C.Tensor):
                    self.tensor_attrs.setdefault(value, f"{prefix}.{key}" if prefix else key)

    def _arguments(self, fn: Callable, concrete: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, p in inspect.signature(fn).parameters.items():
            if name in concrete:
                value = concrete[name]
            else:
                star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
                default = () if p.default is p.empty else (p.default,)
                value = self.create_proxy("placeholder", star + name, default, {}, name=name)
                if star:
                    raise NotImplementedError(f"a trace of {fn} with {star}{name}: give it plain parameters")
            if p.kind is p.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of root called on proxies."""
        if isinstance(root, nn.Module):
            self.root, fn = root, root.forward
        else:
            self.root, fn = nn.Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        self._collect(self.root)
        args, kwargs = self._arguments(fn, concrete_args or {})
        with _Patched(self):
            result = fn(*args, **kwargs)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph


class _Patched:
    """While a trace runs: calls of modules go to the tracer, wrapped functions record when they meet a proxy."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._undo: list[tuple[dict[str, Any], str, Any]] = []

    def __enter__(self) -> None:
        tracer = self._tracer
        self._call = call = nn.Module.__call__

        def module_call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        nn.Module.__call__ = module_call  # type: ignore[method-assign]
        for scope, name in _wrapped:
            import builtins

            original = scope.get(name, getattr(builtins, name, None))
            self._undo.append((scope, name, scope.get(name, _wrapped)))
            scope[name] = _recording(original)

    def __exit__(self, *unused: object) -> None:
        nn.Module.__call__ = self._call  # type: ignore[method-assign]
        for scope, name, before in self._undo:
            if before is _wrapped:
                del scope[name]
            else:
                scope[name] = before


def _recording(original: Any) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        for a in [*args, *kwargs.values()]:
            if isinstance(a, Proxy):
                return a.tracer.create_proxy("call_function", original, args, kwargs)
        return original(*args, **kwargs)

    return call


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A GraphModule of what root does, found by running it once on proxies."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


