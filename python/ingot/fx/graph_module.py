# SPDX-License-Identifier: Apache-2.0
"""GraphModule: a module whose forward is a graph. It owns the parameters, buffers and sub-modules that the graph names;
the engine runs the graph where every target is an operator, the printed code is compiled and run otherwise."""
from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import linecache
import os
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ingot import _C, nn
from ingot.fx.graph import Graph, PythonCode, _PyTreeCodeGen
from ingot.fx.node import Node, _get_qualified_name, base_types

__all__ = ["GraphModule", "function_of", "reduce_graph_module"]


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
            if not base.__qualname__.endswith("GraphModuleImpl"):
                break
        qualname = f"{base.__qualname__}.__new__.<locals>.GraphModuleImpl"
        made = type("GraphModuleImpl", (base,), {"__module__": base.__module__, "__qualname__": qualname})
        return super().__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.__dict__["meta"] = {}
        self.__dict__["_tracer_cls"] = None
        tracer = graph._tracer_cls
        if tracer is not None and "<locals>" not in tracer.__qualname__:
            self.__dict__["_tracer_cls"] = tracer
        self.__dict__["_replace_hook"] = None
        self.__dict__["_create_node_hooks"] = []
        self.__dict__["_erase_node_hooks"] = []
        named = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
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
            for node in graph._list("get_attr", None) + graph._list("call_module", None):
                if node.target not in root and node.target not in graph._subs():
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
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
        """Looks up the graph's attributes again. Code is compiled when it first runs."""
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
        """The forward of this module's own class: the compiled code, or what runs the graph in the engine and has the
        parameters of the printed code."""
        cls = type(self)
        base = super(cls, cls).forward
        self.__dict__.pop("_compiled_forward", None)
        self.__dict__["_code_on_recompile"] = None
        if self._graph.__dict__.get("_on_code") is not None:
            self.__dict__["_code_on_recompile"] = self._graph._source()  # the transformer may be gone later
        if base is GraphModule.forward and not self._runs_in_engine():
            cls.forward = _OnDemand(self)  # type: ignore[method-assign, assignment]
            return

        def forward(self: GraphModule, *args: Any, **kwargs: Any) -> Any:
            return base(self, *args, **kwargs)

        forward.__signature__ = _signature(self._graph)  # type: ignore[attr-defined]
        forward.__annotations__ = _annotations(self._graph)
        cls.forward = forward  # type: ignore[method-assign]

    def _runs_in_engine(self) -> bool:
        graph = self._graph
        return graph._native and not self._code_on_recompile and not graph._codegen._is_own()

    def _compiled(self) -> Callable:
        """The printed code as a function; of code that cannot be printed (objects without a text that makes them), a
        function that interprets the graph."""
        found = self.__dict__.get("_compiled_forward")
        if found is None:
            found = self.__dict__["_compiled_forward"] = _compile(self._graph, self.code) or _interpreting(self._graph)
        return found

    @property
    def code(self) -> str:
        return self.__dict__.get("_code_on_recompile") or self._graph._source()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            if not where.filename.startswith(_FILE):
                raise
            print(_marked_line(where), file=sys.stderr)
            raise error.with_traceback(None)  # noqa: B904 (the printed frames are what is known)

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
        keys = keys or ()
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
        if graph._native and not any(_is_proxy(a) for a in flat):
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
                try:
                    called = self.get_submodule(node.target) if node.op == "call_module" else None
                except AttributeError:  # a module that is no longer there: lint() says so
                    called = None
                if called is not None:
                    used.update(f"{node.target}.{n}" for n, _ in called.named_modules() if n)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and texts ----

    # What a copy takes over besides the attributes that the graph names.
    _COPIED = (
        "meta", "training", "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
        "_replace_hook", "_create_node_hooks", "_erase_node_hooks", "_tracer_cls",
    )  # fmt: skip

    def __deepcopy__(self, memo: dict) -> GraphModule:
        fresh = GraphModule.__new__(type(self))
        memo[id(self)] = fresh
        nn.Module.__init__(fresh)
        plain = type(self).__mro__[1] is GraphModule
        type(fresh).__name__ = "GraphModule" if plain else type(self).__name__
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_compiled_forward")}
        if plain:
            preserved = self.meta.get("_user_preserved_attributes", ())
            named = {n.target.partition(".")[0] for op in ("get_attr", "call_module")
                     for n in self._graph._list(op, None)}  # fmt: skip
            for key in ("_parameters", "_buffers", "_modules"):
                used = {k: v for k, v in state[key].items() if k in named or k in preserved}
                fresh.__dict__[key].update(copy.deepcopy(used, memo))
            fresh._non_persistent_buffers_set = set(self._non_persistent_buffers_set)
            state = {k: v for k, v in state.items() if k in (*self._COPIED, *self._shared, *named, *preserved)}
        for key, value in state.items():
            fresh.__dict__[key] = value if key in self._shared else copy.deepcopy(value, memo)
        fresh._set_graph(copy.deepcopy(self._graph, memo))
        return fresh

    def __copy__(self) -> GraphModule:
        fresh = GraphModule(self, self._graph)
        fresh.meta = self.meta
        return fresh

    def __reduce__(self) -> tuple:
        left_out = ("_graph", "_in_spec", "_out_spec", "_compiled_forward")
        state = {k: v for k, v in self.__dict__.items() if k not in left_out}
        return reduce_graph_module, (state, self._graph, "GraphModule")

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False) -> str:  # fmt: skip
        """The annotated code: types of values, lines of the model, sub-graphs."""
        return print_readable(self, self._graph, print_output)

    # ---- hooks ----

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable) -> Iterator[None]:
        """While it lasts, f(old, new, user) is called for each use that is replaced."""
        if not callable(f):
            raise AssertionError("Replace hook must be a callable.")
        before = self._replace_hook
        self.__dict__["_replace_hook"] = f
        try:
            yield
        finally:
            self.__dict__["_replace_hook"] = before

    def _register_create_node_hook(self, f: Callable) -> None:
        """f(node) is called for each new node of the graph."""
        if not callable(f):
            raise AssertionError("create_node hook must be a callable.")
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable) -> None:
        if f not in self._create_node_hooks:
            raise AssertionError("create_node hook was not registered.")
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable) -> None:
        """f(node) is called for each node that is erased."""
        if not callable(f):
            raise AssertionError("erase_node hook must be a callable.")
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable) -> None:
        if f not in self._erase_node_hooks:
            raise AssertionError("erase_node hook was not registered.")
        self._erase_node_hooks.remove(f)

    # ---- folders ----

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes the module as a Python package: module.py with a class, the state, and what has no source."""
        from ingot.fx._folder import write

        write(self, folder, module_name)

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self.code, reminder])


def print_readable(module: nn.Module, graph: Graph, print_output: bool = True) -> str:
    """The annotated code of a module that a graph describes, and of those inside of it."""
    graph._sync()
    text = graph._code(type(module).__name__, *graph._codegen._tree())
    known = graph._subs()
    for name, child in module.named_children():  # sub-graphs are part of the graph's own text
        if name not in known and hasattr(child, "print_readable"):
            below = child.print_readable(print_output=False).rstrip()
            below = below.replace(f"class {type(child).__name__}(", f"class {name}(", 1)
            text = text + "\n" + "\n".join(f"    {line}" for line in below.split("\n")) + "\n"
    if print_output:
        print(text)
    return text


# ---- printed code that runs ----

_FILE = "<eval_with_key>"


class _OnDemand:
    """The forward of a class until somebody asks for it: then the code is compiled and takes its place."""

    def __init__(self, module: GraphModule) -> None:
        self._module = weakref.ref(module)

    def __get__(self, obj: Any, owner: type) -> Any:
        module = self._module()
        if module is None:
            raise AttributeError("forward")
        owner.forward = module._compiled()  # type: ignore[attr-defined]
        return owner.forward if obj is None else getattr(obj, "forward")  # type: ignore[attr-defined]  # noqa: B009


def _is_proxy(a: Any) -> bool:
    from ingot.fx.proxy import Proxy

    return isinstance(a, Proxy)


def _resolves(path: str, fn: Any) -> bool:
    """Whether printed code that calls torch.… finds the function."""
    import ingot

    found: Any = ingot
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    return found is fn


def _has_text(value: Any) -> bool:
    """Whether code can name an argument."""
    known = (*base_types, type(None), type(...), type)
    if isinstance(value, (list, tuple)):
        return all(_has_text(v) for v in value) and (not hasattr(value, "_fields"))
    if isinstance(value, dict):
        return all(_has_text(v) for v in value.values())
    if isinstance(value, slice):
        return all(_has_text(v) for v in (value.start, value.stop, value.step))
    if isinstance(value, (_C.Tensor, _C.SymInt, _C.SymBool, _C.SymFloat)):
        return False
    return isinstance(value, (Node, *known))


def _compile(graph: Graph, source: str) -> Callable | None:
    for node in graph.nodes:
        if not _has_text(node.args) or not _has_text(dict(node.kwargs)):
            return None
        if node.op == "call_function" and not isinstance(node.target, (_C.OpOverload, _C.OpOverloadPacket)):
            path = _get_qualified_name(node.target)
            by_path = path.startswith("torch.") and not path.startswith("torch.Tensor.")
            if by_path and not _resolves(path, node.target):
                return None
    file = f"{_FILE}.{hashlib.sha256(source.encode()).hexdigest()[:12]}"
    space = graph.python_code("self").globals
    try:
        code = compile(source, file, "exec", dont_inherit=True)
    except SyntaxError:  # names of parameters that are not identifiers
        return None
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(code, space)  # the text of our own printer
    return space["forward"]


def _interpreting(graph: Graph) -> Callable:
    def forward(self: GraphModule, *args: Any, **kwargs: Any) -> Any:
        return GraphModule.forward(self, *args, **kwargs)

    forward.__signature__ = _signature(graph)  # type: ignore[attr-defined]
    forward.__annotations__ = _annotations(graph)
    return forward


def _marked_line(where: traceback.FrameSummary) -> str:
    """The traceback of the current exception, and the line of the code that raised it among its neighbours."""
    lines = linecache.getlines(where.filename)
    at = where.lineno or 1
    raised = lines[at - 1].strip() if at <= len(lines) else ""
    marker = "~" * len(raised) + "~~~ <--- HERE"
    said = f"Call using an FX-traced Module, line {at} of the traced Module's generated forward function:"
    return "\n".join(
        [traceback.format_exc(), said, "".join(lines[max(at - 2, 0) : at]), marker, "\n".join(lines[at : at + 2])]
    )


def _annotations(graph: Graph) -> dict[str, Any]:
    """The types of the parameters and of the result, as printed code has them."""
    found = {n.target.lstrip("*"): n.type for n in graph._list("placeholder", None) if n.type is not None}
    last = graph._last
    if last is not None and last.op == "output" and last.type is not None:
        found["return"] = last.type
    return found


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


def function_of(compiled: Callable) -> Callable:
    """What a compiler returned. If that is a graph, without the hooks of all modules: they are meant for the program's
    modules, whose calls the graph stands for."""
    own = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    if not isinstance(compiled, GraphModule) or any(getattr(compiled, hooks) for hooks in own):
        return compiled
    return compiled.forward


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
