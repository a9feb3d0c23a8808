# SPDX-License-Identifier: Apache-2.0
"""aot_export_module: a module as one graph of functional operators, its state as inputs, with or without the backward
of its loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ingot import nn
from ingot.export._trace import capture_module
from ingot.export.exported_program import ExportedProgram
from ingot.export.graph_signature import InputKind, OutputKind

__all__ = ["BackwardSignature", "GraphSignature", "aot_export_module"]


@dataclasses.dataclass
class BackwardSignature:
    """Which outputs are gradients, and of what."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class GraphSignature:
    """The roles of the placeholders and outputs of such a graph."""

    parameters: list[str]
    buffers: list[str]
    user_inputs: list[str]
    user_outputs: list[str]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]
    buffers_to_mutate: dict[str, str]
    user_inputs_to_mutate: dict[str, str]
    in_spec: Any
    out_spec: Any
    backward_signature: BackwardSignature | None
    input_tokens: list[str] = dataclasses.field(default_factory=list)
    output_tokens: list[str] = dataclasses.field(default_factory=list)


def _signature(program: ExportedProgram) -> GraphSignature:
    signature = program.graph_signature

    def inputs(kind: InputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in signature.input_specs if s.kind is kind}

    def outputs(kind: OutputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in signature.output_specs if s.kind is kind}

    loss = outputs(OutputKind.LOSS_OUTPUT)
    backward = None
    if loss:
        backward = BackwardSignature(
            outputs(OutputKind.GRADIENT_TO_PARAMETER), outputs(OutputKind.GRADIENT_TO_USER_INPUT), next(iter(loss))
        )
    user = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
    parameters, buffers = inputs(InputKind.PARAMETER), inputs(InputKind.BUFFER)
    return GraphSignature(
        parameters=list(parameters.values()),
        buffers=list(buffers.values()),
        user_inputs=[s.arg.name for s in signature.input_specs if s.kind is InputKind.USER_INPUT],
        user_outputs=[getattr(s.arg, "name", None) for s in signature.output_specs if s.kind in user],
        inputs_to_parameters=parameters,
        inputs_to_buffers=buffers,
        buffers_to_mutate=outputs(OutputKind.BUFFER_MUTATION),
        user_inputs_to_mutate=outputs(OutputKind.USER_INPUT_MUTATION),
        in_spec=program.call_spec.in_spec,
        out_spec=program.call_spec.out_spec,
        backward_signature=backward,
    )


def aot_export_module(
    mod: nn.Module,
    args: Any,
    *,
    decompositions: dict[Any, Callable] | None = None,
    trace_joint: bool,
    output_loss_index: int | None = None,
    pre_dispatch: bool = False,
    dynamic_shapes: Any = None,
    kwargs: dict[str, Any] | None = None,
) -> tuple[Any, GraphSignature]:
    """(graph module, signature) of `mod` called with `args`: parameters, buffers and inputs are arg0_1, arg1_1, ....

    trace_joint: behind the outputs of the forward come the gradients of the output with number `output_loss_index` by
    everything that requires one. pre_dispatch: composite operators are not decomposed.
    """
    if pre_dispatch and trace_joint:
        raise RuntimeError("pre_dispatch is not supported when trace_joint is True.")
    if trace_joint and output_loss_index is None:
        raise RuntimeError(
            "If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss.\n"
            "You must specify the which (index) output is the loss with output_loss_index."
        )
    run = capture_module(mod, tuple(args), kwargs, dynamic_shapes)
    table = dict(decompositions or {})
    program = run.result.functionalize()
    if trace_joint:
        program = program.joint(output_loss_index)
    if not pre_dispatch or table:
        program = program.decompose(table=table)
    whole = ExportedProgram(program, (run.in_spec, run.out_spec), (run.args, run.kwargs), run.arg_names)
    return whole.graph_module, _signature(whole)
