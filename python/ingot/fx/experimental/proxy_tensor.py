# SPDX-License-Identifier: Apache-2.0
"""make_fx: the calls of operators that a function makes, as a GraphModule."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ingot import _C, fx, nn
from ingot._C import Tensor
from ingot.utils import _pytree as pytree

__all__ = ["is_sym_node", "make_fx"]

_PLAIN = (int, float, bool, str, type(None))


def _names(f: Callable, args: tuple) -> list[str]:
    """One name per leaf: x_1, x_2 for the leaves of x."""
    try:
        written = not isinstance(f, nn.Module) and hasattr(inspect.unwrap(f), "__code__")
        parameters = list(inspect.signature(f).parameters.values()) if written else []
    except (TypeError, ValueError):
        parameters = []
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        parameters = []
    names: list[str] = []
    for i, arg in enumerate(args):
        name = parameters[i].name if i < len(parameters) else f"arg{i}"
        count = len(pytree.tree_leaves(arg))
        first = sum(n.rpartition("_")[0] == name for n in names)
        names.extend(f"{name}_{first + k + 1}" for k in range(count))
    return names


def _input(name: str, value: Any, mode: str) -> Any:
    if isinstance(value, Tensor):
        dims = tuple(True for _ in value.shape) if mode == "symbolic" and value.ndim else None
        return _C.capture_input(name, value) if dims is None else _C.capture_input(name, value, None, dims)
    if isinstance(value, _PLAIN):
        return _C.capture_input(name, value)
    kind = type(value).__name__
    raise TypeError(f"make_fx: the argument {name} is a {kind}; expected tensors, numbers, strings, None")


def _attributes(graph: Any) -> dict[str, Any]:
    """Constants that the graph reads, by name."""
    values = {n.target: n._attr() for n in graph.nodes if n.op == "get_attr"}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def _capture(f: Callable, args: tuple, mode: str, composite: bool) -> Any:
    leaves, spec = pytree.tree_flatten(args)
    names = _names(f, args)
    env = next((e for e in map(_C.env_of, leaves) if e is not None), None)
    _C.capture_begin(env=env)
    try:
        fakes = [_input(name, value, mode) for name, value in zip(names, leaves, strict=True)]
        result = f(*pytree.tree_unflatten(fakes, spec))
        graph = _C.capture_end_graph(result, composite)
    except BaseException:
        _C.capture_abort()
        raise
    return graph


def _env(node: Any) -> Any:
    """The environment of the symbolic sizes of a node's value."""
    for leaf in pytree.tree_leaves(node.meta.get("val")):
        for size in leaf.shape if isinstance(leaf, Tensor) else (leaf,):
            if is_sym_node(size):
                return size.node.shape_env
    return None


def _inner(f: Callable, args: tuple) -> Any:
    """A trace inside a trace: the outer one records the operators, and what is returned runs the function."""

    class Inner(nn.Module):
        def forward(self, *again: Any) -> Any:
            return f(*again)

    return Inner()


def make_fx(
    f: Callable,
    decomposition_table: dict[Any, Callable] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable:
    """make_fx(f)(*args): a GraphModule of the operators that f(*args) calls.

    tracing_mode: "real" and "fake" keep sizes as numbers, "symbolic" makes them symbols. pre_dispatch: composite
    operators are kept; otherwise they are decomposed.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError('Expected tracing_mode to be one of "real", "fake", "symbolic"')

    @functools.wraps(f.forward if isinstance(f, nn.Module) else f)
    def wrapped(*args: Any) -> fx.GraphModule:
        if _C.capture_is_open():
            return _inner(f, args)
        try:
            graph = _capture(f, args, tracing_mode, not pre_dispatch)
        except _C.GuardOnDataDependentSymNode as error:
            if tracing_mode != "real":
                raise
            raise RuntimeError(
                "It appears that you're trying to get value out of a tracing tensor with "
                "aten._local_scalar_dense.default - erroring out! It's likely that this is caused by data-dependent "
                "control flow or similar.  It may be possible to trace this with dynamic shapes; try setting "
                "tracing_mode='symbolic' in your make_fx call."
            ) from error
        if decomposition_table:
            bare = graph.output_node()._bare
            graph = _C.decompose_graph(graph, dict(decomposition_table))
            output = graph.output_node()
            if bare and not output._bare:
                output.args = (output.args[0][0],)
        made = fx.GraphModule(_attributes(graph), graph, getattr(f, "__name__", type(f).__name__))
        made.shape_env = next((e for e in (_env(n) for n in graph.nodes) if e is not None), None)
        return made

    return wrapped


def is_sym_node(value: Any) -> bool:
    return isinstance(value, (_C.SymInt, _C.SymFloat, _C.SymBool))


def maybe_disable_fake_tensor_mode() -> Any:
    from ingot._subclasses.fake_tensor import unset_fake_temporarily

    return unset_fake_temporarily()


def get_isolated_graphmodule(
    func: Callable, args: tuple, kwargs: dict[str, Any], tracing_mode: str = "real", decomposition_table: Any = None
) -> fx.GraphModule:
    """The graph of a call, flat arguments in one list, whatever else is being traced."""
    flat, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(flat_args: list[Any]) -> Any:
        own_args, own_kwargs = pytree.tree_unflatten(flat_args, spec)
        return func(*own_args, **own_kwargs)

    return make_fx(wrapped, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(flat)


class DecompositionInterpreter(fx.Interpreter):
    """Runs a graph and records what it calls in another one, with replacements."""

    def __init__(self, module: fx.GraphModule, new_graph: fx.Graph, decomposition_table: Any = None,
                 **kwargs: Any) -> None:  # fmt: skip
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.decomposition_table = dict(decomposition_table or {})

    def run(self, *args: Any, **unused: Any) -> Any:
        made = make_fx(lambda *a: self.module(*a), decomposition_table=self.decomposition_table)(*args)
        values: dict[Any, Any] = {}
        result = self.new_graph.graph_copy(made.graph, values)
        self.new_graph.output(result)
        return self.module(*args)


class ProxyTorchDispatchMode:
    """Stands for the capture that is open."""


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The capture that is open, None if there is none."""
    return ProxyTorchDispatchMode() if _C.capture_is_open() else None


get_innermost_proxy_mode = get_proxy_mode
