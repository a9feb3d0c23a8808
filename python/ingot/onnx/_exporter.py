# SPDX-License-Identifier: Apache-2.0
"""From modules and programs to ONNX."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import ingot
from ingot import export as ingot_export
from ingot import nn
from ingot._bridge import from_torch, is_real
from ingot._C import Tensor
from ingot._explain import carry_code
from ingot.export import Dim, ExportedProgram, _trace
from ingot.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ingot.onnx import _legacy, errors, op
from ingot.onnx._diagnostics import Diagnostic
from ingot.onnx._enums import OperatorExportTypes, TrainingMode
from ingot.onnx._options import ExportOptions, target_of
from ingot.onnx._program import ONNXProgram
from ingot.utils import _pytree as pytree


def _every_dim(model: nn.Module, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """All sizes of all tensors are dynamic, as far as the program allows."""

    def auto(leaf: Any) -> Any:
        return {i: Dim.AUTO for i in range(leaf.dim())} if isinstance(leaf, Tensor) else None

    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    return {name: pytree.tree_map(auto, value) for name, value in bound.items()}


class _Function(nn.Module):
    """A function as a module."""

    def __init__(self, fn: Callable) -> None:
        super().__init__()
        self._fn = fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fn(*args, **kwargs)


def _as_module(model: Any) -> nn.Module:
    if isinstance(model, nn.Module):
        return model
    if callable(model):
        return _Function(model)
    raise TypeError(f"expected a module, a function or an ExportedProgram, found {type(model).__name__}")


def _translations(table: Mapping[Any, Callable]) -> dict[str, Callable]:
    """By the engine's name of an operator."""
    first = {key: fn if callable(fn) else fn[0] for key, fn in table.items()}  # of several, the first is used
    return {target_of(key): op.translation(fn) for key, fn in first.items()}


def _raise(error: Exception, program: ONNXProgram) -> None:
    issues = getattr(error, "issues", ())
    if not issues:
        program.diagnostic_context.add(Diagnostic("FXE0008", "error", str(error)))
    for issue in issues:
        found = Diagnostic("FXE0008", "error", f"{issue['op']}: {issue['reason']}")
        if issue["file"]:
            found.file, found.line = os.path.basename(issue["file"]), issue["line"]
        program.diagnostic_context.add(found)
    other = errors.UnsupportedOperatorError(f"The model cannot be written as ONNX.\n{error}", program)
    program._export_exception = carry_code(error, other)
    raise program._export_exception from error


def _check_examples(program: ONNXProgram, examples: Any, verify: bool | None, verbose: bool) -> None:
    """The self-check, if there are examples. Unless requested, it is not an error if it cannot run: operators of
    other domains, examples without data or that the program itself rejects."""
    if examples is None:
        return
    try:
        _check(program, examples[0], examples[1], verbose)
    except Exception as error:
        if verify:
            raise
        text = f"not checked: {(str(error) or type(error).__name__).splitlines()[0]}"
        program.diagnostic_context.add(Diagnostic("verify", "warning", text))
        print(f"[ingot.onnx] {text}", file=sys.stderr)
    program.release()


def _write(program: ONNXProgram) -> ONNXProgram:
    try:
        program._check_writable()
    except NotImplementedError as error:
        _raise(error, program)
    return program


def dynamo_export(
    model: nn.Module | Callable | ExportedProgram,
    /,
    *model_args: Any,
    export_options: ExportOptions | None = None,
    **model_kwargs: Any,
) -> ONNXProgram:
    """Writes a module (captured with the arguments given) or a program as ONNX.

    The model then runs on the examples; how far each output is from the program's is printed.
    """
    options = export_options or ExportOptions()
    if isinstance(model, ExportedProgram):
        ep = model
    else:
        module = _as_module(model)
        shapes = _every_dim(module, model_args, model_kwargs) if options.dynamic_shapes else None
        ep = ingot_export.export(module, model_args, model_kwargs, dynamic_shapes=shapes)
    writing: dict[str, Any] = {}
    if options.onnx_registry is not None:
        writing["opset"] = options.onnx_registry.opset_version
        writing["translations"] = _translations(options.onnx_registry.functions)
    if options.fake_context is not None:
        writing["weights_as_inputs"] = True
    program = _write(ONNXProgram(ep, writing, fake_context=options.fake_context))
    if options.fake_context is None:
        _check_examples(program, ep.example_inputs, None, True)
    return program


# Arguments of PyTorch's older interface that have no effect here.
_OLDER = (
    "training", "operator_export_type", "autograd_inlining", "example_outputs", "enable_onnx_checker",
    "use_external_data_format", "strip_doc_string",
)  # fmt: skip


def _named_dims(shapes: Any, dims: dict[str, Any]) -> Any:
    """{0: "batch"} for {0: Dim("batch")}; one name is one dim."""
    if isinstance(shapes, str):
        return dims.setdefault(shapes, Dim(shapes))
    if isinstance(shapes, Mapping):
        return {key: _named_dims(value, dims) for key, value in shapes.items()}
    if type(shapes) in (list, tuple):
        return type(shapes)(_named_dims(value, dims) for value in shapes)
    return shapes


def _shapes_of_axes(model: nn.Module, axes: Mapping[str, Any], input_names: Sequence[str], args: tuple) -> Any:
    """dynamic_axes of the older interface: {name: [axis] or {axis: name}} for tensors among the arguments."""
    dims: dict[str, Any] = {}
    shapes: list[Any] = []
    parameters = list(inspect.signature(model.forward).parameters.values())
    input_names = input_names or [p.name for p in parameters]
    for name, arg in zip(input_names, args, strict=False):
        given = axes.get(name)
        if given is None or not isinstance(arg, Tensor):
            shapes.append(None)
            continue
        named = given if isinstance(given, Mapping) else {axis: f"{name}_dim_{axis}" for axis in given}
        shape = {}
        for axis, text in named.items():
            known = dims.setdefault(text, Dim(text)) if str(text).isidentifier() else Dim.AUTO
            shape[axis % arg.dim()] = known
        shapes.append(shape)
    shapes += [None] * (len(args) - len(shapes))
    star = [i for i, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL]
    if star:
        shapes[star[0] :] = [tuple(shapes[star[0] :])]
    return tuple(shapes)


def _larger(arg: Any, shape: Any) -> Any:
    """An example whose sizes of 0 and 1 along dynamic axes are others: such sizes are fixed by a capture."""
    if not isinstance(arg, Tensor) or not shape or all(arg.shape[axis] > 1 for axis in shape):
        return arg
    sizes = [2 if axis in shape and n < 2 else n for axis, n in enumerate(arg.shape)]
    return ingot.empty(sizes, dtype=arg.dtype, device=arg.device, requires_grad=arg.requires_grad)


def _flat_shapes(shapes: Sequence[Any]) -> list[Any]:
    return [one for shape in shapes for one in (shape if isinstance(shape, tuple) else (shape,))]


def _capture(model: nn.Module, args: tuple, kwargs: dict[str, Any], shapes: Any, axes: bool) -> ExportedProgram:
    """The program of a model. Named axes stay symbolic: conditions on them are checked at run time instead of being
    errors. Data-dependent decisions follow the examples."""
    given = args
    if axes:
        given = tuple(_larger(arg, shape) for arg, shape in zip(args, _flat_shapes(shapes), strict=True))
    try:
        ep = _trace._export(
            model, given, kwargs, shapes, pre_dispatch=True, allow_complex_guards_as_runtime_asserts=axes
        )
    except Exception as error:
        if not _is_data_dependent(error):
            raise
        ep = ingot_export.draft_export(model, given, kwargs, dynamic_shapes=shapes)
        print("[ingot.onnx] decided by the examples, since the data of other inputs may differ:", file=sys.stderr)
        print(ep._report, file=sys.stderr)
    ep._example_inputs = (args, kwargs)
    return ep


def _is_data_dependent(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, GuardOnDataDependentSymNode):
            return True
        error = error.__cause__
    return False


def _check(program: ONNXProgram, args: tuple, kwargs: dict[str, Any], verbose: bool) -> None:
    """Runs model and program on the examples and reports how far they differ."""
    ep = program.exported_program
    assert ep is not None
    found = program(*args, **kwargs)
    want = program._run_program(program._fed)
    for i, (a, b) in enumerate(zip(found, want, strict=True)):
        a, b = (v if isinstance(v, Tensor) else ingot.tensor(v) for v in (a, b))
        if not a.numel():
            continue
        exact = a.to(ingot.float64) if a.dtype != ingot.bool else a.to(ingot.int64).to(ingot.float64)
        other = b.to(ingot.float64) if b.dtype != ingot.bool else b.to(ingot.int64).to(ingot.float64)
        distance = (exact - other).abs()
        absolute = distance.max().item()
        relative = (distance / (other.abs() + 1e-12)).max().item()
        level = "none" if absolute <= 1e-3 + 1e-3 * other.abs().max().item() else "warning"
        text = f"output {i}: max abs error {absolute:.3g}, max rel error {relative:.3g}"
        program.diagnostic_context.add(Diagnostic("verify", level, text))
        if verbose or level != "none":
            print(f"[ingot.onnx] {text}", file=sys.stderr)


# What only the newer exporter has: naming one of them chooses it.
_NEWER = (
    "external_data", "dynamic_shapes", "custom_translation_table", "report", "optimize", "verify", "profile",
    "dump_exported_program", "fallback", "runtime",
)  # fmt: skip


def _is_newer(model: Any, f: Any, options: Mapping[str, Any]) -> bool:
    """Without `dynamo`: a program, an export without a file and the options of the newer exporter need it."""
    return isinstance(model, ExportedProgram) or f is None or any(options.get(name) is not None for name in _NEWER)


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike | Any | None = None,
    export_params: bool = True,
    verbose: bool | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type] = False,
    autograd_inlining: bool = True,
    dynamo: bool | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    **newer: Any,
) -> ONNXProgram | None:
    """Writes a module or a program as ONNX, into the file `f` if one is given.

    dynamo=True is the newer exporter of PyTorch, dynamo=False the one that starts from TorchScript; their options and
    the names in the files differ, the translations are the same. None: the older one where there is a file and no
    option that only the newer one has.
    """
    if is_real(model):
        model = _taken(model, args, kwargs, dynamic_axes, newer.pop("dynamic_shapes", None))
        args, kwargs, dynamo = (), None, True
    if dynamo is None:
        dynamo = _is_newer(model, f, newer)
    if dynamo:
        return _export(
            model, args, f, kwargs=kwargs, export_params=export_params, verbose=verbose, input_names=input_names,
            output_names=output_names, opset_version=opset_version, dynamic_axes=dynamic_axes,
            keep_initializers_as_inputs=bool(keep_initializers_as_inputs), custom_opsets=custom_opsets,
            do_constant_folding=do_constant_folding, export_modules_as_functions=bool(export_modules_as_functions),
            **newer,
        )  # fmt: skip
    if newer.get("dynamic_shapes"):
        raise ValueError("The exporter only supports dynamic shapes through parameter dynamic_axes when dynamo=False.")
    if kwargs:
        args = (*(args if isinstance(args, tuple) else (args,)), dict(kwargs))
    _legacy.warn_of_options(training, operator_export_type)
    _legacy.export(
        model, args, f, export_params=export_params, verbose=verbose, training=training, input_names=input_names,
        output_names=output_names, operator_export_type=operator_export_type, opset_version=opset_version,
        do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
        keep_initializers_as_inputs=keep_initializers_as_inputs, custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions, autograd_inlining=autograd_inlining,
        add_node_names=newer.get("add_node_names", True),
    )  # fmt: skip
    return None


def _taken(model: Any, args: Any, kwargs: Any, dynamic_axes: Any, dynamic_shapes: Any) -> Any:
    """The program of a module or program of the real PyTorch."""
    if dynamic_axes:
        raise TypeError("onnx.export: a model of the real torch takes dynamic_shapes, not dynamic_axes")
    return from_torch(model, args if isinstance(args, tuple) else (args,), kwargs, dynamic_shapes=dynamic_shapes)


def _export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike | Any | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    export_params: bool = True,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool = False,
    external_data: bool | None = None,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Any, Callable] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool | None = None,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike = ".",
    fallback: bool = False,
    export_modules_as_functions: bool = False,
    runtime: str | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    do_constant_folding: bool = True,
    add_node_names: bool = True,
    **ignored: Any,
) -> ONNXProgram | None:
    """The newer exporter. Unless verify=False, the model then runs on the examples; how far each output is from the
    program's is printed."""
    strange = [name for name in ignored if name not in _OLDER]
    if strange:
        raise TypeError(f"export() got an unexpected keyword argument {strange[0]!r}")
    args = args if isinstance(args, tuple) else (args,)
    kwargs = kwargs or {}
    if isinstance(model, ExportedProgram):
        ep = model
    else:
        module = _as_module(model)
        dynamic_shapes = _named_dims(dynamic_shapes, {})
        axes = dynamic_shapes is None and bool(dynamic_axes)
        if axes:
            dynamic_shapes = _shapes_of_axes(module, dynamic_axes, input_names or (), args)
        ep = _capture(module, args, kwargs, dynamic_shapes, axes)
    writing: dict[str, Any] = {"opset": opset_version or 0, "external": "auto", "user_outputs": True}
    if input_names:
        writing["input_names"] = list(input_names)
    if output_names:
        writing["output_names"] = list(output_names)
    if not export_params:
        writing["weights_as_inputs"] = True
    if keep_initializers_as_inputs:
        writing["initializers_as_inputs"] = True
    if export_modules_as_functions:
        writing["functions"] = True
    if custom_opsets:
        writing["opsets"] = dict(custom_opsets)
    if not (optimize and do_constant_folding):
        writing["folding"] = False
    if not add_node_names:
        writing["node_names"] = False
    if custom_translation_table:
        writing["translations"] = _translations(custom_translation_table)
    program = _write(ONNXProgram(ep, writing, runtime=runtime, arrays=False))
    if dump_exported_program:
        ingot_export.save(ep, os.path.join(os.fspath(artifacts_dir), "exported_program.pt2"))
    if f is not None:
        program.save(f, external_data=external_data or None)
    if verify is not False and export_params:
        examples = (args, kwargs) if args or kwargs else ep.example_inputs
        program._file = os.path.abspath(f) if isinstance(f, (str, os.PathLike)) else None
        _check_examples(program, examples, verify, verbose is not False)
    if report:
        program.diagnostic_context.dump(os.path.join(os.fspath(artifacts_dir), "onnx_export_report.sarif"))
    return program
