# SPDX-License-Identifier: Apache-2.0
"""From a function and its flat arguments to functional graphs: what AOT autograd compiles."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import ingot
from ingot import _C, fx
from ingot._C import Tensor

__all__ = ["MutationType", "OutputType", "Traced", "ViewAndMutationMeta", "trace"]


class OutputType(enum.Enum):
    """How an output relates to memory that the caller has or gets."""

    non_alias = 1
    alias_of_input = 2
    is_input = 3
    alias_of_intermediate_save_as_output = 4
    alias_of_intermediate = 5
    alias_of_intermediate_base_is_user_output = 6
    unsafe_view_alias = 7
    custom_function_view = 8


class MutationType(enum.Enum):
    NOT_MUTATED = 1
    MUTATED_IN_GRAPH = 2
    MUTATED_OUT_GRAPH = 3


@dataclasses.dataclass
class InputAliasInfo:
    is_leaf: bool
    mutates_data: bool
    mutates_metadata: bool
    requires_grad: bool

    @property
    def mutation_type(self) -> MutationType:
        written = self.mutates_data or self.mutates_metadata
        return MutationType.MUTATED_OUT_GRAPH if written else MutationType.NOT_MUTATED


@dataclasses.dataclass
class OutputAliasInfo:
    output_type: OutputType
    raw_type: type
    base_idx: int | None
    requires_grad: bool
    view: fx.GraphModule | None  # makes the output from its base and the symbolic inputs

    @property
    def has_tangent(self) -> bool:
        return self.requires_grad and self.output_type in (OutputType.non_alias, OutputType.unsafe_view_alias)


@dataclasses.dataclass
class ViewAndMutationMeta:
    """What happens to the inputs, and what the outputs are."""

    input_info: list[InputAliasInfo]
    output_info: list[OutputAliasInfo]
    num_intermediate_bases: int
    num_symints_saved_for_bw: int | None = None

    @property
    def mutated_inp_runtime_indices(self) -> list[int]:
        return [i for i, info in enumerate(self.input_info) if info.mutation_type is MutationType.MUTATED_OUT_GRAPH]

    num_mutated_inp_runtime_indices = property(lambda self: len(self.mutated_inp_runtime_indices))
    num_outputs = property(lambda self: len(self.output_info))

    @property
    def num_forward(self) -> int:
        return self.num_mutated_inp_runtime_indices + self.num_outputs + self.num_intermediate_bases


@dataclasses.dataclass
class Traced:
    graph_module: fx.GraphModule  # functional; with gradients if `joint`
    joint: bool
    meta: ViewAndMutationMeta
    tangents: list[bool]  # per tangent: the graph assumes that it is contiguous


def module_of(graph: Any, name: str = "GraphModule") -> fx.GraphModule:
    """A GraphModule with the constants that the graph reads."""
    values = {n.target: n._attr() for n in graph.nodes if n.op == "get_attr"}
    return fx.GraphModule({k: v for k, v in values.items() if v is not None}, graph, name)


def _input(name: str, value: Any, fake: Any, dynamic: bool) -> Any:
    if isinstance(fake, Tensor) and _C.env_of(fake) is not None:
        return _C.capture_input(name, fake, None, None, value)
    if isinstance(value, Tensor):
        fresh = dynamic and _C.env_of(value) is None and value.ndim and not isinstance(value, ingot.nn.Parameter)
        return _C.capture_input(name, value, None, (True,) * value.ndim) if fresh else _C.capture_input(name, value)
    if value is None or isinstance(value, (int, float, bool, str, _C.SymInt, _C.SymFloat)):
        return _C.capture_input(name, value)
    kind = type(value).__name__
    raise TypeError(f"AOT autograd: argument {name} is a {kind}; expected tensors, numbers, strings, None")


def capture(fn: Callable, args: Sequence[Any], dynamic: bool = False, fakes: Sequence[Any] | None = None) -> Any:
    """The graph of fn(*args), whose result is a flat tuple; composite operators, writes and views are kept.

    fakes: what describes the arguments, where it is known; sizes may be symbolic.
    """
    if _C.capture_is_open():
        raise RuntimeError("AOT autograd: a capture is open already")
    described = [*(fakes or ()), *args]
    env = next((e for e in (_C.env_of(a) for a in described if isinstance(a, Tensor)) if e is not None), None)
    given = fakes or [None] * len(args)
    enabled = ingot.is_grad_enabled()
    _C.capture_begin(env=env, aot=True)
    try:
        inputs = [_input(f"primals_{i + 1}", a, f, dynamic) for i, (a, f) in enumerate(zip(args, given, strict=True))]
        if not enabled:  # a part may enable gradients
            _C._set_grad_enabled(False)
        return _C.capture_end_graph(tuple(fn(*inputs)), False)
    except BaseException:
        _C.capture_abort()
        raise
    finally:
        _C._set_grad_enabled(enabled)


def trace(
    fn: Callable,
    args: Sequence[Any],
    *,
    decompositions: dict[Any, Callable] | None = None,
    dynamic: bool = False,
    fakes: Sequence[Any] | None = None,
) -> Traced | None:
    """fn(*args), a function from flat arguments to a flat tuple, as one functional graph; None: autograd refuses it."""
    graph = capture(fn, args, dynamic, fakes)
    enabled = ingot.is_grad_enabled() or any(n.target is _C._set_grad_enabled and n.args[0] for n in graph.nodes)
    wanted = enabled and any(isinstance(a, Tensor) and a.requires_grad for a in args)
    found = _C.aot_trace(graph, wanted)
    if found is None:
        return None
    graph, joint, inputs, outputs, bases, tangents = found
    if decompositions:
        graph = _C.decompose_graph(graph, decompositions)
    infos = [
        InputAliasInfo(not isinstance(a, Tensor) or a.is_leaf, written and not reshaped, reshaped, requires_grad)
        for a, (written, reshaped, requires_grad) in zip(args, inputs, strict=True)
    ]
    first = sum(written for written, _, _ in inputs)
    returned = next(n for n in graph.nodes if n.op == "output").args[0]
    kinds = []
    for i, (alias, base, requires_grad, view) in enumerate(outputs):
        value = returned[first + i]
        raw = type(value.meta["val"]) if isinstance(value, fx.Node) else type(value)
        kind = OutputType[alias]
        known = None if kind in (OutputType.non_alias, OutputType.unsafe_view_alias) else base
        kinds.append(OutputAliasInfo(kind, raw, known, requires_grad, view and module_of(view)))
    meta = ViewAndMutationMeta(infos, kinds, bases)
    return Traced(module_of(graph), joint, meta, tangents)
