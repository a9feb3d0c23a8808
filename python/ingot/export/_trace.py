# SPDX-License-Identifier: Apache-2.0
"""The levels of export: training, inference, before dispatch; and the older ways to ask for them."""
from __future__ import annotations

import dataclasses
from typing import Any

from ingot import _C, nn
from ingot._dynamo import config
from ingot.export._capture import Options, capture
from ingot.export.exported_program import ExportedProgram

__all__ = ["DEFAULT_EXPORT_DYNAMO_CONFIG", "ExportDynamoConfig"]


@dataclasses.dataclass
class ExportDynamoConfig:
    """What strict capture allows."""

    allow_rnn: bool = True
    reorderable_logging_functions: set = dataclasses.field(default_factory=set)
    do_not_emit_runtime_asserts: bool = True


DEFAULT_EXPORT_DYNAMO_CONFIG = ExportDynamoConfig()


def _capture(
    mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None, dynamic_shapes: Any, strict: bool, **flags: bool
) -> Any:
    options = Options(strict=strict, allow_rnn=not strict or DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn, **flags)
    return capture(mod, args, kwargs, dynamic_shapes, options)


def _export_for_training(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """A program of training level: composite operators whole, writes in place."""
    run = _capture(mod, args, kwargs, dynamic_shapes, strict)
    run.result.set_training(True)
    return ExportedProgram(run.result, (run.in_spec, run.out_spec), (args, kwargs or {}), run.arg_names)


def _export(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    pre_dispatch: bool = False,
    _disable_forced_specializations: bool = False,
    _allow_complex_guards_as_runtime_asserts: bool = False,
    allow_complex_guards_as_runtime_asserts: bool = False,
) -> ExportedProgram:
    """A program of inference level: no writes, composite operators whole."""
    run = _capture(
        mod, args, kwargs, dynamic_shapes, strict,
        disable_forced_specializations=_disable_forced_specializations,
        allow_complex_guards=_allow_complex_guards_as_runtime_asserts or allow_complex_guards_as_runtime_asserts,
        grad_modes=True,
    )  # fmt: skip
    program = run.result.functionalize().wrap_grad_regions()
    return ExportedProgram(program, (run.in_spec, run.out_spec), (args, kwargs or {}), run.arg_names)


def _export_to_torch_ir(
    f: Any,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    constraints: Any = None,
    *,
    preserve_module_call_signature: tuple[str, ...] = (),
    disable_constraint_solver: bool = False,
    restore_fqn: bool = True,
    dynamic_shapes: Any = None,
    **unused: Any,
) -> Any:
    """The program before lowering, as a module whose state has underscores where names have dots."""
    return _export_for_training(f, args, kwargs, dynamic_shapes).module()


_ = config
