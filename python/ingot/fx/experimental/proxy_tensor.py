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
    function = f.forward if isinstance(f, nn.Module) else f
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    rest = ""
    for i, arg in enumerate(args):
        if i < len(parameters) and not rest:
            name = parameters[i].name
            rest = name if parameters[i].kind is inspect.Parameter.VAR_POSITIONAL else ""
        else:
            name = rest or f"arg{i}"
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
    if decomposition_table:
        raise NotImplementedError("make_fx takes no decomposition table; ExportedProgram.run_decompositions does")

    @functools.wraps(f.forward if isinstance(f, nn.Module) else f)
    def wrapped(*args: Any) -> fx.GraphModule:
        if _C.capture_is_open():
            raise RuntimeError("make_fx: a capture is open already")
        graph = _capture(f, args, tracing_mode, not pre_dispatch)
        return fx.GraphModule(_attributes(graph), graph, getattr(f, "__name__", type(f).__name__))

    return wrapped


def is_sym_node(value: Any) -> bool:
    return isinstance(value, (_C.SymInt, _C.SymFloat, _C.SymBool))


def maybe_disable_fake_tensor_mode() -> Any:
    from ingot._subclasses.fake_tensor import unset_fake_temporarily

    return unset_fake_temporarily()
