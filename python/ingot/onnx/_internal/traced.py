# SPDX-License-Identifier: Apache-2.0
"""The TorchScript graph of a model: what the original exporter starts from. Ingot writes models from a capture; the
graph gives what users see of the other way: the names of unnamed inputs, the tracer's errors and warnings, the
operators in the order in which they would be translated, and the values that refusals name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ingot
from ingot import nn
from ingot.autograd import function
from ingot.jit import _trace
from ingot.nn.utils import rnn
from ingot.onnx._internal import scripted
from ingot.utils import _pytree as pytree


def nodes_of(block: Any) -> Iterator[Any]:
    """All nodes, those of inner blocks after their owner."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes_of(inner)


def _copied(value: Any) -> Any:
    if not isinstance(value, ingot.Tensor) or value.is_sparse:
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def unique_state(model: nn.Module) -> dict[str, Any]:
    """The state of a module; a tensor under several names has the first."""
    out: dict[str, Any] = {}
    seen: set[int] = set()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            out[name] = value.detach()
    return out


# Calls that are no nodes in ONNX.
_COPIES = frozenset({
    "aten::clone", "aten::detach", "aten::contiguous", "aten::alias", "aten::lift_fresh", "aten::Int",
    "aten::ScalarImplicit", "prim::NumToTensor",
})  # fmt: skip
# The types of Python's numbers as tensors.
_NUMBER_TYPES = {"IntType": "Long(device=cpu)", "FloatType": "Double(device=cpu)", "BoolType": "Bool(device=cpu)"}


class Graph:
    """A model's graph: its first inputs are those of the user, the others its state. That of a script has the module
    before them."""

    def __init__(self, graph: Any, user_inputs: int, result: Any = None) -> None:
        self.graph = graph
        self.user_inputs = user_inputs
        self.result = result
        self.first_input = sum(value.type().kind() == "ClassType" for value in self.inputs()[:1])
        self.dynamic: dict[int, dict[int, str]] = {}  # by the number of an input: its named axes

    def inputs(self) -> list[Any]:
        return list(self.graph.inputs())

    def arguments(self) -> list[Any]:
        """The inputs without a script's module."""
        return self.inputs()[self.first_input :]

    def input_names(self) -> list[str]:
        """What tracing or the script calls the user's inputs; "": they have numbers only."""
        names: list[str] = []
        for value in self.arguments()[: self.user_inputs]:
            kind = value.type()
            if kind.kind() == "TupleType":  # its elements are the inputs of the model
                names += [""] * len(kind.elements())
            else:
                names.append("" if value.debugName().isdigit() else value.debugName())
        return names

    def name_inputs(self, names: Sequence[str]) -> None:
        """Names for the user's inputs; "": as it is."""
        for value, name in zip(self.arguments(), names, strict=False):
            if name:
                value.setDebugName(name)

    def set_axes(self, axes: Mapping[str, Mapping[int, str]], input_names: Sequence[str]) -> None:
        """The named axes of the inputs. Those without a name of the user's have that of the graph."""
        for k, value in enumerate(self.arguments()):
            name = input_names[k] if k < len(input_names) else value.debugName()
            named = axes.get(name, {})
            rank = value.type().dim() if value.type().kind() == "TensorType" else None
            for axis, text in named.items():
                if rank is not None and axis >= rank:
                    raise RuntimeError(f"Dynamic shape axis should be no more than the shape dimension for {text}")
            if rank and named:
                self.dynamic[value.unique()] = {axis % rank: text for axis, text in named.items()}

    def sizes(self, value: Any) -> list[int | None] | None:
        """The sizes of a value as far as they are the same for all inputs; None: not even their number is known."""
        kind = value.type()
        sizes = kind.sizes() if kind.kind() == "TensorType" else None
        named = self.dynamic.get(value.unique(), {})
        return None if sizes is None else [None if axis in named else size for axis, size in enumerate(sizes)]

    def measured_inputs(self) -> list[int]:
        """The user's inputs, by number, whose sizes the model asks for while they are not known ahead. What is computed
        from an input counts as well."""
        varying = [k for k, value in enumerate(self.inputs()) if value.unique() in self.dynamic]
        if not varying:
            return []
        found = [k - self.first_input for k in ingot._C._size_reads(self.graph, varying)]
        return [k for k in found if 0 <= k < self.user_inputs]

    def is_param(self, value: Any) -> bool:
        return value.node().kind() == "prim::Param"

    def declaration(self, value: Any) -> str:
        """An input as the list of inputs shows it."""
        text = _NUMBER_TYPES.get(value.type().kind(), value.type().str())
        named = self.dynamic.get(value.unique())
        if named:
            sizes = value.type().sizes()
            before = ", ".join(map(str, sizes))
            after = ", ".join("*" if axis in named else str(size) for axis, size in enumerate(sizes))
            text = text.replace(f"({before}", f"({after}", 1)
        return f"%{value.debugName()} : {text}"

    def original(self, value: Any) -> Any:
        """The value that a copy or a slice of everything is made of: in ONNX they are the same."""
        node = value.node()
        args = list(node.inputs())
        if node.kind() in _COPIES:
            return self.original(args[0])
        if node.kind() == "aten::slice" and len(args) == 5:
            start, end, step = (a.toIValue() if a.node().kind() == "prim::Constant" else 1 for a in args[2:])
            if start in (0, None) and end in (None, 2**63 - 1) and step == 1:
                return self.original(args[0])
        return value

    def text(self, value: Any) -> str:
        """A value as errors name it."""
        if not self.is_param(value):
            return str(value)
        return f"{value.debugName()} defined in ({', '.join(map(self.declaration, self.inputs()))} = prim::Param()\n)"


def _script_graph(script: Any, args: tuple) -> Graph:
    try:
        fn = script.forward if isinstance(script, nn.Module) else script
        graph = fn.inlined_graph.copy()
    except AttributeError as error:
        raise RuntimeError("'forward' method must be a script method") from error
    leaves = pytree.tree_leaves(args)
    missing = sum(leaf is None for leaf in leaves)
    if missing:
        raise ValueError(
            f"args contained {missing} None's after flattening. When exporting a ScriptModule or ScriptFunction, no "
            "args may be None because that breaks type propagation."
        )
    if isinstance(script, nn.Module):
        first = next(iter(graph.inputs()), None)
        if first is not None and not list(first.uses()):
            graph.eraseInput(0)
    own = [value for value in graph.inputs() if value.type().kind() != "ClassType"]
    if len(own) == len(leaves):
        for value, leaf in zip(own, leaves, strict=True):
            if isinstance(leaf, ingot.Tensor) and value.type().kind() == "TensorType":
                value.inferTypeFrom(leaf)
    return Graph(graph, len(own))


def _run(model: nn.Module, args: tuple) -> tuple[Any, Any, Any]:
    with rnn.packing(None), function.handler(None):
        return _trace._get_trace_graph(model, args, strict=False, _return_inputs_states=True)


def _run_on_sizes(model: nn.Module, args: tuple) -> tuple[Any, Any, Any] | None:
    """A run that computes nothing from the arguments, of which only sizes and types count: the graph has no values.
    None: the model needs them, because it decides by data or has results whose sizes depend on data; or it has
    something to say, which it says when it runs."""
    if any(module.training for module in model.modules() if hasattr(module, "training")):
        return None
    if not all(type(leaf) is ingot.Tensor for leaf in pytree.tree_leaves(args) if isinstance(leaf, ingot.Tensor)):
        return None
    buffers = [(value, value._version, value.detach().clone()) for value in model.buffers()]
    env = ingot._C.ShapeEnv()
    found = None
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fakes = pytree.tree_map_only(ingot.Tensor, lambda t: ingot._C.fake_from_tensor(env, t, None), args)
            found = _run(model, fakes)
    except Exception:  # the run on the arguments themselves raises it again, if it is an error of the model
        pass
    if found is not None and not said and not env._reads_data:
        return found
    for value, version, copy in buffers:
        if value._version != version:
            with ingot.no_grad():
                value.copy_(copy)
    return None


def trace(model: Any, args: tuple) -> Graph:
    """Runs a module on copies of the arguments under the tracer, or takes the graph of a script."""
    if scripted.is_script(model):
        return _script_graph(model, args)
    before = unique_state(model)
    changed = "state_dict changed after running the tracer; something weird is happening in your model!"
    try:
        graph, result, states = _run_on_sizes(model, args) or _run(model, pytree.tree_map(_copied, args))
    except RuntimeError as error:
        if list(before) != list(unique_state(model)):
            raise RuntimeError(changed) from error
        raise
    from ingot.onnx import utils

    utils.warn_on_static_input_change(states)
    state = unique_state(model)
    if list(before) != list(state):
        raise RuntimeError(changed)
    found = Graph(graph, len(list(graph.inputs())) - len(state), result)
    for value, name in zip(found.inputs()[found.user_inputs :], state, strict=True):
        value.setDebugName(name)
    return found
