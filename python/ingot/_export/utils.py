# SPDX-License-Identifier: Apache-2.0
"""Queries about the nodes of programs."""
from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ingot._C import Tensor
from ingot.export.exported_program import ExportedProgram
from ingot.export.graph_signature import InputKind
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node
from ingot.utils._pytree import register_dataclass_as_pytree_node

__all__ = [
    "get_buffer", "get_lifted_tensor_constant", "get_param", "is_buffer", "is_lifted_tensor_constant", "is_param",
    "node_inline_", "node_replace_", "nodes_count", "nodes_filter", "nodes_first", "nodes_map",
    "register_dataclass_as_pytree_node", "sequential_split",
]  # fmt: skip


def _target(program: ExportedProgram, node: Any, kind: InputKind) -> str | None:
    for spec in program.graph_signature.input_specs:
        if spec.kind is kind and spec.arg.name == node.name:
            return spec.target
    return None


def is_param(program: ExportedProgram, node: Any) -> bool:
    """Whether a node is the placeholder of a parameter."""
    return _target(program, node, InputKind.PARAMETER) is not None


def get_param(program: ExportedProgram, node: Any) -> Tensor | None:
    """The parameter of a placeholder, None if it is something else."""
    name = _target(program, node, InputKind.PARAMETER)
    return None if name is None else program.state_dict[name]


def is_buffer(program: ExportedProgram, node: Any) -> bool:
    return _target(program, node, InputKind.BUFFER) is not None


def get_buffer(program: ExportedProgram, node: Any) -> Tensor | None:
    name = _target(program, node, InputKind.BUFFER)
    if name is None:
        return None
    return program.state_dict[name] if name in program.state_dict else program.constants[name]


def is_lifted_tensor_constant(program: ExportedProgram, node: Any) -> bool:
    return _target(program, node, InputKind.CONSTANT_TENSOR) is not None


def get_lifted_tensor_constant(program: ExportedProgram, node: Any) -> Tensor | None:
    name = _target(program, node, InputKind.CONSTANT_TENSOR)
    return None if name is None else program.constants[name]


def nodes_filter(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> list[Node]:
    """The nodes that a function accepts."""
    return [node for node in nodes if node_call_back(node)]


def nodes_first(nodes: Iterable[Node], node_call_back: Callable[[Node], bool] | None = None) -> Node | None:
    """The first node that a function accepts."""
    return next((n for n in nodes if node_call_back is None or node_call_back(n)), None)


def nodes_count(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> int:
    return len(nodes_filter(nodes, node_call_back))


def nodes_map(nodes: list[Node], node_call_back: Callable[[Node], Any]) -> list[Node]:
    """Calls a function on each node; returns the nodes."""
    for node in nodes:
        node_call_back(node)
    return nodes


def node_replace_(old_node: Node, new_node: Node) -> None:
    """A new node takes the place of an old one."""
    old_node.replace_all_uses_with(new_node)
    old_node.users.clear()
    old_node.graph.erase_node(old_node)


def replace_call(node: Node, results: Node | Sequence[Node]) -> None:
    """Other nodes take the place of a call: one for the call itself, or one for each of its items."""
    graph = node.graph
    if isinstance(results, Node):
        node.replace_all_uses_with(results)
    else:
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
    graph.erase_node(node)


def node_inline_(call_mod_node: Node) -> None:
    """The graph of a module takes the place of its call; inputs become operands."""
    if call_mod_node.op != "call_module":
        raise AssertionError(f"{call_mod_node} is no call of a module")
    gm = call_mod_node.graph.owning_module
    sub = gm.get_submodule(call_mod_node.target)
    graph = gm.graph
    values: dict[Node, Any] = dict(
        zip([n for n in sub.graph.nodes if n.op == "placeholder"], call_mod_node.args, strict=True)
    )
    with graph.inserting_before(call_mod_node):
        results = graph.graph_copy(sub.graph, values)
    replace_call(call_mod_node, results)
    gm.delete_all_unused_submodules()
    gm.recompile()


def sequential_split(gm: GraphModule, node_call_back: Callable[[Node], bool]) -> GraphModule:
    """The module cut in front of every node that the function accepts: calls of sub-modules, one after the other."""
    from ingot.fx.passes.split_module import split_module

    number = 0
    parts: dict[Node, int] = {}
    for node in gm.graph.nodes:
        if node_call_back(node):
            number += 1
        parts[node] = number
    new = split_module(gm, gm, lambda n: parts[n], keep_original_order=True, keep_original_node_name=True)
    new.graph._codegen = copy.copy(gm.graph._codegen)
    new.recompile()
    return new


def _rename_without_collisions(
    name_map: dict[str, str], orig_name: str, name: str, is_placeholder: bool = False
) -> str:
    """Gives `orig_name` a new name: `name`, with the next free number if that is taken. A placeholder is numbered by
    the names that begin as it does, other nodes count on from the number that they have."""
    match = re.match(r"(.*)_(\d+)$", name)
    if match and not is_placeholder:
        prefix, number = match[1], int(match[2])
    else:
        prefix, number = name, 0
    taken = set(name_map.values())
    new_name = name
    while new_name in taken:
        number += 1
        new_name = f"{prefix}_{number}"
    name_map[orig_name] = new_name
    return name_map[orig_name]


def remove_proxy_from_state_dict(state_dict: dict[str, Any], in_place: bool) -> dict[str, Any]:
    """The weights themselves, where a wrapper stands for one."""
    found = state_dict if in_place else {}
    for name, value in list(state_dict.items()):
        found[name] = value.data if hasattr(value, "proxy") else value
    return found


def _check_input_constraints_for_graph(
    input_placeholders: list[Node], flat_args_with_path: Any, range_constraints: Any
) -> None:
    """RuntimeError: an input does not have the sizes of its placeholder, or a number is not the captured one."""
    from ingot.utils._pytree import keystr

    if len(flat_args_with_path) != len(input_placeholders):
        raise RuntimeError(
            f"Unexpected number of inputs (expected {len(input_placeholders)}, got {len(flat_args_with_path)})"
        )
    symbols: dict[str, Any] = {}
    for (path, arg), node in zip(flat_args_with_path, input_placeholders, strict=True):
        known, where = node.meta.get("val"), f"*args{keystr(path[1:])}"
        if isinstance(known, Tensor):
            _check_sizes(known, arg, where, range_constraints, symbols)
        elif isinstance(known, (int, float, str)) and (type(arg) is not type(known) or arg != known):
            raise RuntimeError(f"Expected input at {where} to be equal to {known}, but got {arg}")


def _check_sizes(known: Tensor, arg: Any, where: str, ranges: Any, symbols: dict[str, Any]) -> None:
    if not isinstance(arg, Tensor):
        raise RuntimeError(f"Expected input at {where} to be a tensor, but got {type(arg)}")
    if len(known.shape) != len(arg.shape):
        raise RuntimeError(
            f"Unexpected number of dimensions in input at {where}.shape (expected {known.shape}, got {arg.shape})"
        )
    bounds = {str(symbol): values for symbol, values in (ranges or {}).items()}
    for i, (want, got) in enumerate(zip(known.shape, arg.shape, strict=True)):
        at = f"{where}.shape[{i}]"
        if isinstance(want, int):
            if want != got:
                raise RuntimeError(f"Expected input at {at} to be equal to {want}, but got {got}")
            continue
        seen = symbols.setdefault(str(want), got)
        if seen != got:
            raise RuntimeError(f"Expected input at {at} to be equal to {seen}, but got {got}")
        limits = bounds.get(str(want))
        if limits is not None and got < limits.lower:
            raise RuntimeError(f"Expected input at {at} to be >= {limits.lower}, but got {got}")
        if limits is not None and got > limits.upper:
            raise RuntimeError(f"Expected input at {at} to be <= {limits.upper}, but got {got}")


def _get_torch_jit_trace_forward_signature(mod: Any) -> inspect.Signature:
    """The signature of the forward of a traced module, by the code that it shows."""
    function = next(n for n in ast.parse(mod.code).body if isinstance(n, ast.FunctionDef))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(a.arg, kind) for a in function.args.args if a.arg != "self"])


def placeholder_naming_pass(
    gm: GraphModule,
    export_graph_signature: Any,
    mod: Any,
    fake_args: tuple,
    fake_kwargs: dict[str, Any],
    fake_params_buffers: dict[str, Any],
    constants: dict[str, Any],
) -> None:
    """Names placeholders after what they are: p_ parameters, b_ buffers, c_ constants, obj_ objects, and the user's
    inputs by their parameters. Nodes of these names get others, and the signature follows."""
    from ingot.export._binding import bind, pieces

    prefixes = {
        InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_",
        InputKind.CUSTOM_OBJ: "obj_", InputKind.TOKEN: "token",
    }  # fmt: skip
    inputs = iter([i.name for i in bind(pieces(mod, fake_args, fake_kwargs))])
    names: dict[str, str] = {}
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    specs = export_graph_signature.input_specs
    for user in (True, False):  # the user's inputs keep their names first
        for node, spec in zip(placeholders, specs, strict=True):
            if (spec.kind is InputKind.USER_INPUT) == user:
                wanted = next(inputs) if user else prefixes[spec.kind] + re.sub(r"[^a-zA-Z0-9]", "_", spec.target or "")
                _rename_without_collisions(names, node.name, wanted.lower(), is_placeholder=True)
    for node in gm.graph.nodes:
        if node.op != "placeholder" and node.op != "output":
            _rename_without_collisions(names, node.name, node.name)
    for node in gm.graph.nodes:
        if node.name in names and names[node.name] != node.name:
            old, node.name = node.name, names[node.name]
            if node.op == "placeholder":
                node.target = node.name
            names[old] = node.name
    for spec in (*specs, *export_graph_signature.output_specs):
        spec.arg.name = names.get(spec.arg.name, spec.arg.name)
    gm.recompile()
