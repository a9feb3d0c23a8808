# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="ingot") in the real PyTorch.

The real aot_autograd makes functional ATen graphs of the forward and, in training, the backward. Each becomes one
Python function: a node that Ingot has runs in Ingot, any other in PyTorch, and a value changes sides by sharing its
memory where a node of the other side needs it. Sizes are plain numbers when the function runs, so dynamic ones need
nothing.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

import ingot
from ingot._bridge import _dtype_to, tensor_from, to_torch

__all__ = ["compile_graph", "ingot_backend"]


def ingot_backend(gm: torch.fx.GraphModule, example_inputs: list, **options: Any) -> Any:
    """The backend that the entry point names."""
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph)(gm, example_inputs)


# ---- which nodes Ingot has ----

_FORMATS = {
    torch.contiguous_format: ingot.contiguous_format,
    torch.preserve_format: ingot.preserve_format,
    torch.channels_last: ingot.channels_last,
    torch.channels_last_3d: ingot.channels_last_3d,
}


def _operator_of(target: Any) -> Any:
    """Ingot's operator with the same schema; None: it has none, or must not run it."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    if any(a.alias_info is not None and a.alias_info.is_write for a in target._schema.arguments):
        return None
    name = target._schema.name.partition("::")[2]
    try:
        return getattr(getattr(getattr(ingot.ops, target.namespace), name), target._overloadname)
    except AttributeError:
        return None


def _is_split(node: torch.fx.Node) -> bool:
    """Would a gradient in PyTorch read what Ingot computed for its own? Such results (a workspace, a reserve) mean
    something to one implementation only; it counts if anything but the first one is used."""
    backward = getattr(torch.ops.aten, node.target._schema.name.partition("::")[2] + "_backward", None)
    if backward is None or len(node.target._schema.returns) < 2:
        return False
    if all(user.target is operator.getitem and user.args[1] == 0 for user in node.users):
        return False
    return any(_operator_of(getattr(backward, name)) is None for name in backward.overloads())


def _draws(node: torch.fx.Node) -> bool:
    """Does a node need random numbers? They come from PyTorch's generators. Without dropout there are none."""
    if torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    for i, argument in enumerate(node.target._schema.arguments):
        if argument.name == "dropout_p":
            given = node.args[i] if i < len(node.args) else node.kwargs.get("dropout_p", argument.default_value)
            return given != 0
    return True


def _is_taken(value: Any) -> bool:
    """Can Ingot have such a value? Tensors by their description in the graph, everything else as a constant."""
    if isinstance(value, torch.Tensor):
        dense = value.layout == torch.strided and not value.is_quantized
        return dense and value.device.type == "cpu" and isinstance(_dtype_to(value.dtype), ingot.dtype)
    if isinstance(value, (list, tuple)):
        return all(map(_is_taken, value))
    if isinstance(value, torch.device):
        return value.type == "cpu"
    if isinstance(value, torch.layout):
        return value == torch.strided
    if isinstance(value, torch.dtype):
        return isinstance(_dtype_to(value), ingot.dtype)
    plain = (int, float, bool, complex, str, torch.SymInt, torch.SymFloat, torch.SymBool, torch.memory_format)
    return value is None or isinstance(value, plain)


def _constant(value: Any) -> Any:
    """An argument that is no node, for Ingot."""
    if isinstance(value, torch.dtype):
        return _dtype_to(value)
    if isinstance(value, torch.device):
        return ingot.device(value.type)
    if isinstance(value, torch.layout):
        return ingot.strided
    if isinstance(value, torch.memory_format):
        return _FORMATS[value]
    if isinstance(value, torch.Tensor):
        return tensor_from(value)
    return value


def _has_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensors, value))
    return isinstance(value, torch.Tensor)


def _side_of(node: torch.fx.Node, ours: set) -> Any:
    """Ingot's operator for a node that runs there; None: it runs in PyTorch."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        return operator.getitem if node.args[0] in ours else None
    found = _operator_of(node.target)
    if found is None or _draws(node) or _is_split(node):
        return None
    values = [n.meta.get("val") for n in node.all_input_nodes]
    constants: list = []
    torch.fx.node.map_aggregate((node.args, node.kwargs), lambda a: constants.append(a) or a)
    constants = [c for c in constants if not isinstance(c, torch.fx.Node)]
    result = node.meta.get("val")
    if result is None:
        return None
    known = all(v is not None for v in values)
    return found if known and all(map(_is_taken, [*values, *constants, result])) else None


# ---- a function of a graph ----


class _Shared:
    """An input on Ingot's side. Parameters stay the same objects: their views are kept."""

    def __init__(self) -> None:
        self.tensor: Any = None
        self.place: Any = None
        self.view: Any = None

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if not isinstance(value, torch.nn.Parameter):
            return tensor_from(value)
        place = (value.data_ptr(), value.shape, value.stride())
        if value is not self.tensor or place != self.place:
            self.tensor, self.place, self.view = value, place, tensor_from(value)
        return self.view


class _Writer:
    """Writes the function, one line per call; `t3` is a value in PyTorch, `i3` the same value in Ingot."""

    def __init__(self, gm: torch.fx.GraphModule) -> None:
        self.gm = gm
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"take": tensor_from, "give": to_torch}
        self.number: dict[torch.fx.Node, int] = {}
        self.has: dict[torch.fx.Node, set[str]] = {}  # the sides on which a value is
        self.ours: set[torch.fx.Node] = set()
        self.taken = 0  # nodes that run in Ingot
        self.left: list[str] = []  # targets of those that do not

    def bind(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    def new(self, node: torch.fx.Node, side: str) -> str:
        self.number[node] = len(self.number)
        self.has[node] = {side}
        return f"{side}{self.number[node]}"

    def on(self, node: torch.fx.Node, side: str) -> str:
        """The name of a value on a side; it is brought there first."""
        number = self.number[node]
        if not _has_tensors(node.meta.get("val", node.meta.get("tensor"))) and node not in self.constants:
            return f"{next(iter(self.has[node]))}{number}"  # a number is the same on both
        if side not in self.has[node]:
            how = self.inputs.get(node) if side == "i" else None
            call = how or ("take" if side == "i" else "give")
            self.lines.append(f"{side}{number} = {call}({'t' if side == 'i' else 'i'}{number})")
            self.has[node].add(side)
        return f"{side}{number}"

    def text(self, value: Any, side: str) -> str:
        if isinstance(value, torch.fx.Node):
            return self.on(value, side)
        if isinstance(value, (list, tuple)):
            inside = ", ".join(self.text(v, side) for v in value)
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
        if isinstance(value, slice):
            return (
                f"slice({self.text(value.start, side)}, {self.text(value.stop, side)}, {self.text(value.step, side)})"
            )
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.text(v, side)}" for k, v in value.items()) + "}"
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        return self.bind("c", _constant(value) if side == "i" else value)

    def call(self, node: torch.fx.Node) -> None:
        found = _side_of(node, self.ours)
        side = "t" if found is None else "i"
        if found is None:
            self.left.append(str(node.target))
            target = self.bind("f", node.target)
        else:
            self.ours.add(node)
            self.taken += found is not operator.getitem
            target = self.bind("f", found)
        args = [self.text(a, side) for a in node.args]
        args += [f"{k}={self.text(v, side)}" for k, v in node.kwargs.items()]
        self.lines.append(f"{self.new(node, side)} = {target}({', '.join(args)})")

    def write(self) -> Any:
        self.inputs: dict[torch.fx.Node, str] = {}
        self.constants: set[torch.fx.Node] = set()
        parameters = []
        results = ""
        last = _last_uses(self.gm.graph)
        for node in self.gm.graph.nodes:
            if node.op == "placeholder":
                parameters.append(self.new(node, "t"))
                self.inputs[node] = self.bind("s", _Shared())
            elif node.op == "get_attr":
                value = operator.attrgetter(node.target)(self.gm)
                self.constants.add(node)
                self.names[self.new(node, "t")] = value
                if isinstance(value, torch.Tensor):
                    self.names[f"i{self.number[node]}"] = tensor_from(value)
                    self.has[node].add("i")
            elif node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                results = self.text(list(node.args[0]), "t")
            else:
                raise NotImplementedError(f"ingot: a node {node.op} in a graph of aot_autograd")
            for dead in last.get(node, ()):
                if dead not in self.constants and node.op != "output":
                    self.lines += [f"del {side}{self.number[dead]}" for side in sorted(self.has[dead])]
        body = [f"{', '.join(parameters)}{',' if parameters else ''} = args" if parameters else "pass", "args.clear()"]
        source = "def run(args):\n" + "".join(f"    {line}\n" for line in [*body, *self.lines, f"return {results}"])
        exec(compile(source, "<ingot backend>", "exec"), self.names)
        return self.names["run"]


def _last_uses(graph: torch.fx.Graph) -> dict:
    """node: the values that nobody reads behind it."""
    last: dict = {}
    for node in graph.nodes:
        for used in node.all_input_nodes:
            last[used] = node
        last.setdefault(node, node)
    dead: dict = {}
    for value, node in last.items():
        dead.setdefault(node, []).append(value)
    return dead


def compile_graph(gm: torch.fx.GraphModule, example_inputs: list) -> Any:
    """The function of a functional ATen graph, for aot_autograd: it takes a list, and empties it."""
    writer = _Writer(gm)
    inner = writer.write()

    def run(args: list) -> Any:
        with ingot.no_grad():
            return inner(args)

    run._boxed_call = True
    run.taken, run.left = writer.taken, writer.left
    return run
