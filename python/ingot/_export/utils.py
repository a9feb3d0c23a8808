# SPDX-License-Identifier: Apache-2.0
"""Queries about the nodes of programs."""
from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.export.exported_program import ExportedProgram
from ingot.export.graph_signature import InputKind
from ingot.utils._pytree import register_dataclass_as_pytree_node

__all__ = [
    "get_buffer", "get_lifted_tensor_constant", "get_param", "is_buffer", "is_lifted_tensor_constant", "is_param",
    "register_dataclass_as_pytree_node",
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
