# SPDX-License-Identifier: Apache-2.0
"""Older entry points of export."""
from __future__ import annotations

import re
from typing import Any

from ingot import _C, nn
from ingot._dynamo.exc import UserError, UserErrorType
from ingot.export import _trace
from ingot.export._errors import carry_issues
from ingot.fx.node import Node, map_arg

__all__ = ["capture_pre_autograd_graph"]


def capture_pre_autograd_graph(
    f: nn.Module, args: tuple, kwargs: dict[str, Any] | None = None, dynamic_shapes: Any = None
) -> nn.Module:
    """The module of a program of training level, called as `f` is: inputs have numbers instead of names, weights have
    underscores where their names had dots and are read where they are used, violated dims are not a UserError."""
    if not isinstance(f, nn.Module):
        raise AssertionError("Expected an nn.Module instance.")
    try:
        module = _trace.capture_training(f, args, kwargs, dynamic_shapes)
    except UserError as error:
        violated = hasattr(error, "issues") or isinstance(error.__cause__, _C.ConstraintViolationError)
        if error.error_type is not UserErrorType.CONSTRAINT_VIOLATION or not violated:
            raise
        plain = _C.ConstraintViolationError(str(error))
        carry_issues(error, plain)
        raise plain from error
    module = _trace.flat_state(module)
    _number_inputs(module.graph)
    _read_where_used(module)
    output = module.graph.output_node()
    output.args = (list(output.args[0]),)
    module.recompile()
    return module


def _number_inputs(graph: Any) -> None:
    """Used inputs are numbered, the others have the number of their position."""
    inputs = list(enumerate(graph.find_nodes(op="placeholder")))
    read = {node: number for number, (_, node) in enumerate(p for p in inputs if p[1].users)}
    for i, node in inputs:
        node.target = f"arg{i}"
        node.name = f"arg{read[node]}_1" if node in read else f"arg{i}"


def _read_where_used(module: Any) -> None:
    """Every user of a weight has its own attribute node before it, named after the weight's number. A weight with
    several names is read by the first."""
    graph = module.graph
    weights = {n: getattr(module, n.target) for n in graph.find_nodes(op="get_attr")}
    weights = {n: value for n, value in weights.items() if isinstance(value, _C.Tensor)}
    known: dict[int, tuple[str, str]] = {}  # by weight: name of nodes, attribute
    counts = {"_param_constant": 0, "_tensor_constant": 0}

    def describe(target: str, value: Any) -> tuple[str, str]:
        kind = "_param_constant" if isinstance(value, nn.Parameter) else "_tensor_constant"
        name = f"{kind}{counts[kind]}"
        counts[kind] += 1
        if not re.fullmatch(r"(?:\w+_)?lifted_tensor_\d+", target):
            return name, target
        delattr(module, target)  # a literal has no name but its number
        module.register_buffer(name, value, persistent=False)
        return name, name

    for node in list(graph.nodes):

        def read(operand: Node) -> Node:
            if operand not in weights:
                return operand
            value = weights[operand]
            if id(value) not in known:
                known[id(value)] = describe(operand.target, value)
            name, target = known[id(value)]
            with graph.inserting_before(node):  # noqa: B023  called at once
                copy = graph.create_node("get_attr", target, name=name)
            copy.meta = operand.meta
            return copy

        node.args = map_arg(node.args, read)
        node.kwargs = map_arg(node.kwargs, read)
    for node in weights:
        graph.erase_node(node)
