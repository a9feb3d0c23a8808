# SPDX-License-Identifier: Apache-2.0
"""The levels of export: training, inference, before dispatch; and the older functions for them."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from ingot import fx, nn
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


def _run(
    mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None, dynamic_shapes: Any, strict: bool, **flags: Any
) -> Any:
    for path in flags.get("preserve", ()):
        _check_path(mod, path, strict)
    options = Options(strict=strict, allow_rnn=not strict or DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn, **flags)
    return capture(mod, args, kwargs, dynamic_shapes, options)


def _check_path(mod: nn.Module, path: str, strict: bool) -> None:
    """RuntimeError: the module has no such sub-module; other captures than strict ones wrap it as _export_root."""
    try:
        mod.get_submodule(path)
    except AttributeError:
        root = "" if strict else "_export_root."
        raise RuntimeError(f"Couldn't find submodule at path {root}{path}") from None


def refuse_scripts(mod: Any) -> None:
    """ValueError: the module is compiled already."""
    scripts = sys.modules.get("ingot.jit._script")  # without it there is no such module
    if scripts is not None and isinstance(mod, scripts.ScriptModule):
        raise ValueError(
            "Exporting a ScriptModule is not supported. Maybe try converting your ScriptModule to an ExportedProgram "
            "using `TS2EPConverter(mod, args, kwargs).convert()` instead."
        )


def capture_module(mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None, dynamic_shapes: Any) -> Any:
    """A capture whose placeholders have numbers instead of names, without changes of the grad mode."""
    return capture(mod, args, kwargs, dynamic_shapes, Options(strict=False, level="captured"))


def capture_training(mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None, dynamic_shapes: Any) -> Any:
    """The module of a training program that reads sizes where they are needed."""
    return program_of(_run(mod, args, kwargs, dynamic_shapes, True, level="training", late_sizes=True)).module()


def program_of(run: Any) -> ExportedProgram:
    out = ExportedProgram(run.result, (run.in_spec, run.out_spec), (run.args, run.kwargs), run.arg_names)
    if run.shape_constraints is not None:
        out._graph_meta["input_shape_constraints"] = run.shape_constraints
    if isinstance(run.mod, fx.GraphModule) and "custom" in run.mod.meta:
        out._graph_meta["custom"] = run.mod.meta["custom"]  # what a user noted of a program that is captured again
    return out


def _export_for_training(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """A program of training level: composite operators not decomposed, in-place operators kept."""
    preserve = preserve_module_call_signature
    return program_of(_run(mod, args, kwargs, dynamic_shapes, strict, level="training", preserve=preserve))


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
    free_conversions: bool = False,
) -> ExportedProgram:
    """A program of inference level: functional, composite operators kept before dispatch and decomposed after it."""
    run = _run(
        mod, args, kwargs, dynamic_shapes, strict,
        disable_forced_specializations=_disable_forced_specializations,
        allow_complex_guards=_allow_complex_guards_as_runtime_asserts or allow_complex_guards_as_runtime_asserts,
        level="inference" if pre_dispatch else "dispatched", preserve=preserve_module_call_signature,
        free_conversions=free_conversions,
    )  # fmt: skip
    return program_of(run)


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
    return flat_state(_export_for_training(f, args, kwargs, dynamic_shapes).module())


def flat_state(module: Any) -> Any:
    """The module of a program with its weights under names without dots."""
    flat = {
        name: name.replace(".", "_") for name in [*module.state_dict(keep_vars=True), *dict(module.named_buffers())]
    }
    values = {flat[name]: _attribute(module, name) for name in flat}
    for node in module.graph._list("get_attr", None):
        if node.target in flat:
            node.target = flat[node.target]
    for name in [name for name, child in module.named_children() if not isinstance(child, fx.GraphModule)]:
        delattr(module, name)
    for name, value in values.items():
        if isinstance(value, nn.Parameter):
            module.register_parameter(name, value)
        else:
            module._buffers.pop(name, None)
            module.register_buffer(name, value)
    module.recompile()
    return module


def _attribute(module: nn.Module, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _convert_ts_to_export_experimental(traced_callable: Any, args: Any, kwargs: dict[str, Any] | None = None) -> Any:
    """The module of the program that a traced or scripted callable becomes."""
    from ingot._export import converter

    return converter.TS2EPConverter(traced_callable, args, kwargs).convert().module()
