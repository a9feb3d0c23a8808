# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of a program in one graph."""

from __future__ import annotations

from ingot.export.exported_program import ExportedProgram
from ingot.utils import _pytree as pytree

__all__ = ["_export_forward_backward"]


def _export_forward_backward(ep: ExportedProgram, joint_loss_index: int = 0) -> ExportedProgram:
    """The program in Core ATen with the gradients of everything that requires one behind its outputs. The output with
    number `joint_loss_index` is the loss."""
    joint = ep._program.joint(joint_loss_index).decompose()
    leaves = [None] * sum(spec[0] in ("USER_OUTPUT", "LOSS_OUTPUT") for spec in joint.output_specs)
    return ExportedProgram(joint, (ep.call_spec.in_spec, pytree.tree_flatten(tuple(leaves))[1]), ep._example_inputs)
