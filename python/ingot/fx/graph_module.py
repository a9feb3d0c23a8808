# SPDX-License-Identifier: Apache-2.0
"""GraphModule: a module whose forward is a graph. It owns the parameters, buffers and sub-modules that the graph names;
the engine runs the graph where every target is an operator, an Interpreter does otherwise."""
from __future__ import annotations

import copy
import inspect
from typing import Any

from ingot import _C, nn
from ingot.fx.graph import Graph, PythonCode, _PyTreeCodeGen
from ingot.fx.node import Node

__all__ = ["GraphModule", "reduce_graph_module"]


def _copy_attr(source: nn.Module, target: nn.Module, path: str) -> None:
    """Gives `target` the attribute that `source` has at `path`, with empty modules on the way."""
    *prefix, name = path.split(".")
    for part in prefix:
        below = getattr(source, part)
        if getattr(target, part, None) is below:
            return  # the whole sub-module is shared
        if getattr(target, part, None) is None:
            setattr(target, part, nn.Module())
        source, target = below, getattr(target, part)
    value = getattr(source, name)
    if isinstance(value, _C.Tensor) and not isinstance(value, nn.Parameter):
        persistent = name not in source._non_persistent_buffers_set if isinstance(source, nn.Module) else True
        target.register_buffer(name, value, persistent=persistent)
    else:
        setattr(target, name, value)


def _assign_attr(value: Any, target: nn.Module, path: str) -> None:
    """Puts `value` at `path` below `target`, with empty modules on the way."""
    *prefix, name = path.split(".")
    for part in prefix:
        if getattr(target, part, None) is None:
            setattr(target, part, nn.Module())
        target = getattr(target, part)
    if isinstance(value, _C.Tensor) and not isinstance(value, nn.Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


class GraphModule(nn.Module):
    """A module made from a graph. `root` gives the attributes that the graph names: a module, or a dict from paths to
    values."""

    _shared: tuple[str, ...] = ()  # attributes that copies have in common

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A separate class for each module, so that changes of the class only affect this module.
        for base in cls.__mro__:
            if base.__qualname__ != "GraphModuleImpl":
                break
        made = type("GraphModuleImpl", (base,), {"__module__": base.__module__, "__qualname__": "GraphModuleImpl"})
        return super().__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.__dict__["meta"] = {}
        named = [n.target for op in ("get_attr", "call_module") for n in graph._list(op, None)]
        if isinstance(root, nn.Module):
            if isinstance(getattr(root, "meta", None), dict):
                self.meta.update(root.meta)
            if hasattr(root, "training"):
                self.training = root.training
            for path in named:
                if path not in graph._subs():
                    _copy_attr(root, self, path)
                elif _has(root, path):
                    _copy_attr(root, self, path)
        elif isinstance(root, dict):
            missing = [p for p in named if p not in root and p not in graph._subs()]
            if missing:
                raise RuntimeError(f"Node target {missing[0]} is not in the dict that GraphModule was given as root")
            for path in sorted((p for p in named if p in root), key=lambda p: p.count(".")):
                _assign_attr(root[path], self, path)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":  # a property; nn.Module would take it for an attribute
            self._set_graph(value)
        else:
            super().__setattr__(name, value)

    @property
    def graph(self) -> Graph:
        return self._graph

    def _set_graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        for name, sub in graph._subs().items():
            if not _has(self, name):
                _assign_attr(GraphModule({}, sub), self, name)
        self.recompile()

    def recompile(self) -> PythonCode:
        """Looks up the graph's attributes again. The graph itself is interpreted; nothing is compiled."""
        graph = self._graph
        if isinstance(graph._codegen, _PyTreeCodeGen):
            info = graph._codegen.pytree_info
            self.__dict__["_in_spec"] = info.in_spec
            self.__dict__["_out_spec"] = info.out_spec
        for node in graph._list("get_attr", None):
            graph._bind(node)
        self._set_signature()
        return PythonCode(graph)

    def _set_signature(self) -> None:
        """The forward of this module's own class has the parameters that the printed code has."""
        cls = type(self)
        base = super(cls, cls).forward

        def forward(self: GraphModule, *args: Any, **kwargs: Any) -> Any:
            return base(self, *args, **kwargs)

        forward.__signature__ = _signature(self._graph)  # type: ignore[attr-defined]
        cls.forward = forward  # type: ignore[method-assign]

    @property
    def code(self) -> str:
        return self._graph._source()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        graph = self._graph
        codegen = graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            return codegen.process_outputs(self._run(tuple(self._flatten(args, kwargs))))
        if codegen._is_own():
            return codegen.process_outputs(self._run(tuple(codegen.process_inputs(*args, **kwargs))))
        return self._run(_bind_arguments(graph, args, kwargs))

    def _flatten(self, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        names, npos, keys = self._graph._codegen._tree()
        given = list(args[:npos])
        rest = dict(zip(keys, args[npos:], strict=False)) | kwargs
        given += [rest.pop(n) for n in names[len(given) : npos] if n in rest]
        codegen = self._graph._codegen
        spec = codegen.pytree_info.in_spec
        tree = (tuple(given), {k: rest[k] for k in keys if k in rest}) if codegen._has_keywords() else given
        from ingot.fx._pytree import tree_flatten_spec

        return tree_flatten_spec(tree, spec)

    def _run(self, flat: tuple) -> Any:
        graph = self._graph
        for node in graph._list("get_attr", None):
            graph._bind(node)
        if graph._native:
            return graph._run(flat)
        from ingot.fx.interpreter import Interpreter

        return Interpreter(self).run(*flat, enable_io_processing=False)

    # ---- sub-modules ----

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Installs a sub-module at a path, with empty modules on the way; False: something else is in the way."""
        *prefix, name = target.split(".")
        at: nn.Module = self
        for part in prefix:
            below = getattr(at, part, None)
            if below is None:
                below = nn.Module()
                setattr(at, part, below)
            if not isinstance(below, nn.Module):
                return False
            at = below
        at.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        *prefix, name = target.split(".")
        at: Any = self
        for part in prefix:
            at = getattr(at, part, None)
        if not isinstance(getattr(at, name, None), nn.Module):
            return False
        delattr(at, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Deletes sub-modules that no node calls or reads from."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    used.update(f"{node.target}.{n}" for n, _ in self.get_submodule(node.target).named_modules() if n)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and texts ----

    def __deepcopy__(self, memo: dict) -> GraphModule:
        fresh = GraphModule.__new__(type(self))
        memo[id(self)] = fresh
        nn.Module.__init__(fresh)
        type(fresh).__name__ = type(self).__name__
        for key, value in self.__dict__.items():
            if key != "_graph":
                fresh.__dict__[key] = value if key in self._shared else copy.deepcopy(value, memo)
        fresh._set_graph(copy.deepcopy(self._graph, memo))
        return fresh

    def __copy__(self) -> GraphModule:
        fresh = GraphModule(self, copy.copy(self._graph))
        fresh.meta = dict(self.meta)
        return fresh

    def __reduce__(self) -> tuple:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_in_spec", "_out_spec")}
        return reduce_graph_module, (state, self._graph, type(self).__name__)

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False) -> str:  # fmt: skip
        """The annotated code: types of values, lines of the model, sub-graphs."""
        self._graph._sync()
        text = self._graph._code(type(self).__name__, *self._graph._codegen._tree())
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self.code, reminder])


def _signature(graph: Graph) -> inspect.Signature:
    kinds = inspect.Parameter
    names, _, _ = graph._codegen._tree()
    if names is not None:
        found = [kinds(n, kinds.POSITIONAL_OR_KEYWORD) for n in names]
    else:
        found = []
        for node in graph._list("placeholder", None):
            name = node.target.lstrip("*")
            star = len(node.target) - len(name)
            kind = (kinds.POSITIONAL_OR_KEYWORD, kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)[star]
            default = node.args[0] if node.args and not star else kinds.empty
            found.append(kinds(name, kind, default=default))
    try:
        return inspect.Signature([kinds("self", kinds.POSITIONAL_OR_KEYWORD), *found])
    except ValueError:  # invalid identifiers, or a default before a parameter without one: anything may be passed
        return inspect.Signature([kinds("self", kinds.POSITIONAL_OR_KEYWORD), kinds("args", kinds.VAR_POSITIONAL)])


def _has(root: Any, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(root, part):
            return False
        root = getattr(root, part)
    return True


def _bind_arguments(graph: Graph, args: tuple, kwargs: dict[str, Any]) -> tuple:
    """One value per placeholder: by place, by name, by default; *args and **kwargs take the rest."""
    holders: list[Node] = graph._list("placeholder", None)
    plain = len(args) == len(holders) and not kwargs and not any(n.target.startswith("*") for n in holders)
    if plain:
        return args
    rest = list(args)
    named = dict(kwargs)
    out: list[Any] = []
    for node in holders:
        name = node.target
        if name.startswith("**"):
            out.append(named)
            named = {}
        elif name.startswith("*"):
            out.append(tuple(rest))
            rest = []
        elif rest:
            out.append(rest.pop(0))
        elif name in named:
            out.append(named.pop(name))
        elif node.args:
            out.append(node.args[0])
        else:
            raise TypeError(f"forward() missing 1 required positional argument: '{name}'")
    if rest:
        raise TypeError(f"forward() takes {len(holders) + 1} positional arguments but {len(args) + 1} were given")
    if named:
        raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(named))}'")
    return tuple(out)


def reduce_graph_module(state: dict[str, Any], graph: Graph, class_name: str) -> GraphModule:
    """Makes a GraphModule again from what was pickled."""
    made = GraphModule.__new__(GraphModule)
    nn.Module.__init__(made)
    type(made).__name__ = class_name
    made.__dict__.update(state)
    made._set_graph(graph)
    return made


def _of_graph(graph: Graph, attributes: dict[str, Any], class_name: str = "GraphModule",
              codegen: Any | None = None) -> GraphModule:  # fmt: skip
    """A GraphModule over a graph of the engine: attributes by path, sub-graphs from the graph itself."""
    if codegen is not None:
        graph.set_codegen(codegen)
    return GraphModule(attributes, graph, class_name)
