# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.export(dynamo=False): the options of PyTorch's TorchScript exporter. A model is captured as for
torch.export and written with the same translations; this file fits arguments and axes to it."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ingot
from ingot import export as ingot_export
from ingot import nn
from ingot._C import Tensor
from ingot._explain import carry_code, reworded
from ingot.export import Dim, ExportedProgram, _trace
from ingot.jit import _trace as jit_trace
from ingot.onnx import _constants, errors
from ingot.onnx._enums import OperatorExportTypes, TrainingMode
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal import packed, python_op, quantized, refusals, registration, scripted, symbolic, traced
from ingot.utils import _pytree as pytree

# ---- the model's mode ----


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Iterator[None]:
    """The model in the mode that the export asks for; afterwards as it was."""
    if not isinstance(mode, TrainingMode):
        raise TypeError(f"'mode' should be a torch.onnx.TrainingMode enum, but got '{type(mode)}'.")
    was = getattr(model, "training", None)
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modules = [module for module in modules if hasattr(module, "training")]  # frozen scripts have no mode
    before = [module.training for module in modules]
    if was is not None:
        if mode == TrainingMode.EVAL or (mode == TrainingMode.PRESERVE and not was):
            GLOBALS.export_training = False
            GLOBALS.training_mode = TrainingMode.EVAL
        else:
            GLOBALS.export_training = True
            GLOBALS.training_mode = TrainingMode.TRAINING
        if mode != TrainingMode.PRESERVE:
            model.train(mode == TrainingMode.TRAINING)
    try:
        yield
    finally:
        GLOBALS.export_training = False
        GLOBALS.training_mode = TrainingMode.EVAL
        for module, training in zip(modules, before, strict=True):
            module.training = training


@contextlib.contextmanager
def setup(opset: int, operator_export_type: OperatorExportTypes, autograd_inlining: bool) -> Iterator[None]:
    """The settings of one export; exports do not nest."""
    assert GLOBALS.in_onnx_export is False
    before = GLOBALS.export_onnx_opset_version, GLOBALS.operator_export_type, GLOBALS.autograd_inlining
    GLOBALS.in_onnx_export = True
    try:
        GLOBALS.export_onnx_opset_version = opset
        GLOBALS.operator_export_type = operator_export_type
        GLOBALS.autograd_inlining = autograd_inlining
        yield
    finally:
        GLOBALS.in_onnx_export = False
        GLOBALS.export_onnx_opset_version, GLOBALS.operator_export_type, GLOBALS.autograd_inlining = before


# ---- arguments ----


def _signature(model: Any) -> inspect.Signature:
    callee = getattr(model, "forward", model)
    if callable(callee):
        return inspect.signature(callee)
    raise ValueError("model has no forward method and is not callable")


def decide_input_format(model: Any, args: Any) -> Any:
    """The arguments by position: a dictionary at the end gives keyword arguments, and defaults fill what is missing."""
    try:
        parameters = _signature(model).parameters
    except ValueError as error:
        warnings.warn(f"{error}, skipping _decide_input_format", stacklevel=3)
        return args
    if not parameters or (isinstance(args, (list, tuple)) and not args):
        warnings.warn("No input args, skipping _decide_input_format", stacklevel=3)
        return args
    listed = list(args) if isinstance(args, (list, tuple)) else [args]
    given: dict = {}
    if isinstance(listed[-1], dict):
        given = listed.pop()
    for name in list(parameters)[len(listed) :]:
        parameter = parameters[name]
        if name in given:
            listed.append(given[name])
        elif parameter.default is not parameter.empty:
            listed.append(parameter.default)
    return listed if isinstance(args, list) else tuple(listed)


def _as_tensor(value: Any) -> Any:
    """Numbers are inputs of a traced model too."""
    if isinstance(value, bool):
        return ingot.tensor(value)
    if isinstance(value, int):
        return ingot.tensor(value, dtype=ingot.int64)
    return ingot.tensor(value, dtype=ingot.float64) if isinstance(value, float) else value


@contextlib.contextmanager
def _deciding(module: nn.Module, args: tuple, graph: traced.Graph) -> Iterator[None]:
    """Numbers among the arguments are inputs; those that no node of the trace reads have only decided something, and
    decide the same while a capture runs the module."""
    leaves = pytree.tree_leaves(args)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (Tensor, int, float))]
    unread = []
    if graph.result is not None and len(places) == graph.user_inputs:
        values = zip(places, graph.arguments(), strict=False)
        unread = [i for i, value in values if not isinstance(leaves[i], Tensor) and not list(value.uses())]

    def give_numbers(_: nn.Module, given: tuple) -> tuple:
        found, spec = pytree.tree_flatten(given)
        for i in unread:
            found[i] = leaves[i]
        return pytree.tree_unflatten(found, spec)

    hook = module.register_forward_pre_hook(give_numbers) if unread else None
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()


def _flat_names(args: tuple, input_names: Sequence[str], parameters: Sequence[str]) -> list[str | None]:
    """For every leaf of the arguments the name of the model's input that it is; None: it is not one."""
    names: list[str | None] = []
    leaves = pytree.tree_leaves(args)
    k = 0
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            names.append(None)
            continue
        names.append(input_names[k] if k < len(input_names) else None)
        k += 1
    # Without names the arguments of forward have their own.
    if not input_names and len(leaves) == len(args):
        return [p if isinstance(leaf, Tensor) else None for p, leaf in zip(parameters, leaves, strict=False)]
    return names


# ---- axes ----


def validate_dynamic_axes(axes: Mapping[str, Any], model: Any, input_names: Any, output_names: Any) -> None:
    """Warns of keys that are no inputs or outputs; axes without names get some, in the dictionary itself."""
    if not axes:
        return
    known = set(input_names or ()) | set(output_names or ())
    for key, value in list(axes.items()):
        if key not in known:
            warnings.warn(f"Provided key {key} for dynamic axes is not a valid input/output name", stacklevel=4)
        if isinstance(value, list):
            warnings.warn(
                "No names were found for specified dynamic axes of provided input."
                f"Automatically generated names will be applied to each dynamic axes of input {key}",
                stacklevel=4,
            )
            named = {}
            for i, axis in enumerate(value):
                if not isinstance(axis, int):
                    raise ValueError("The type of axis index is expected to be an integer")
                if axis in named:
                    warnings.warn(f"Duplicate dynamic axis index {axis} was provided for input {key}.", stacklevel=4)
                else:
                    named[axis] = f"{key}_dynamic_axes_{i + 1}"
            axes[key] = named  # type: ignore[index]


def _is_axes(axes: Any) -> bool:
    """Whether dynamic_axes is what the passes take: names -> (axis -> name)."""
    return isinstance(axes, Mapping) and all(
        isinstance(key, str)
        and isinstance(named, Mapping)
        and all(isinstance(axis, int) and isinstance(text, str) for axis, text in named.items())
        for key, named in axes.items()
    )


def _is_texts(names: Any) -> bool:
    return isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)


def _incompatible(function: str, signature: str, *given: Any) -> TypeError:
    """The words for arguments of a wrong type inside an export."""
    return TypeError(
        f"{function}(): incompatible function arguments. The following argument types are supported:\n"
        f"    1. {signature}\n\nInvoked with: {', '.join(map(str, given))}"
    )


def _check_axes(graph: traced.Graph, axes: Any, names: Any) -> None:
    if not _is_axes(axes) or not _is_texts(names):
        raise _incompatible(
            "_jit_pass_onnx_set_dynamic_input_shape",
            "(arg0: torch::jit::Graph, arg1: dict[str, dict[int, str]], arg2: list[str]) -> None",
            graph.graph, axes, names,
        )  # fmt: skip
    graph.set_axes(axes, names)


def _check_opset(graph: traced.Graph, opset: Any) -> None:
    if isinstance(opset, int):
        return
    node = next((n for n in refusals.calls(graph) if n.kind().startswith("aten::")), None)
    if node is None:
        return
    error = _incompatible(
        "_jit_pass_onnx_node_shape_type_inference",
        "(arg0: torch::jit::Node, arg1: dict[str, IValue], arg2: int) -> None",
        node, {}, opset,
    )  # fmt: skip
    raise TypeError(f"{error} \n(Occurred when translating {node.kind().partition('::')[2]}).")


def _check_custom_opsets(graph: traced.Graph, opsets: Any) -> None:
    if opsets is None:
        return
    known = isinstance(opsets, Mapping)
    if known and all(isinstance(key, str) and isinstance(value, int) for key, value in opsets.items()):
        return
    raise _incompatible(
        "_export_onnx",
        "(self: torch._C.Graph, initializers: dict[str, torch.Tensor], onnx_opset_version: int = 0, dynamic_axes: "
        "dict[str, dict[int, str]], defer_weight_export: bool = False, operator_export_type: "
        "torch._C._onnx.OperatorExportTypes = <OperatorExportTypes.ONNX: 0>, strip_doc_string: bool = True, "
        "keep_initializers_as_inputs: bool = True, custom_opsets: dict[str, int], add_node_names: bool = True, "
        "onnx_file_path: str = '', node_attr_to_name: dict[torch::jit::Node, dict[str, str]] = {}) -> tuple[bytes, "
        "dict[str, bytes], bool, dict[torch::jit::Node, str]]",
        graph.graph, opsets,
    )  # fmt: skip


# The types of elements that the original's files have no number for.
_NO_ONNX_TYPE = ("ComplexHalf", "ComplexFloat", "ComplexDouble", "UInt16", "UInt32", "UInt64")


def _check_types(graph: traced.Graph) -> None:
    for value in [*graph.inputs(), *graph.graph.outputs()]:
        kind = value.type()
        name = kind.scalarType() if kind.kind() == "TensorType" else None
        if name in _NO_ONNX_TYPE and (list(value.uses())):
            raise RuntimeError(f"ScalarType {name} is an unexpected tensor scalar type")


class _Axes:
    """How the named axes of the inputs are captured."""

    def __init__(self, args: tuple, names: Sequence[str | None], axes: Mapping[str, Mapping[int, str]]) -> None:
        self.args = args
        self.leaves, self.spec = pytree.tree_flatten(args)
        self.named: list[dict[int, str]] = []
        for leaf, name in zip(self.leaves, [*names, *[None] * len(self.leaves)], strict=False):
            given = axes.get(name, {}) if name is not None and isinstance(leaf, Tensor) else {}
            self.named.append({axis % max(leaf.dim(), 1): text for axis, text in given.items() if leaf.dim()})

    def __bool__(self) -> bool:
        return any(self.named)

    def larger(self) -> tuple:
        """The arguments with sizes of 0 and 1 along named axes made larger: a capture fixes such sizes."""

        def grow(leaf: Any, named: dict[int, str]) -> Any:
            if not named or all(leaf.shape[axis] > 1 for axis in named):
                return leaf
            sizes = [2 if axis in named and n < 2 else n for axis, n in enumerate(leaf.shape)]
            if leaf.numel():
                return leaf.detach().expand(sizes).clone().requires_grad_(leaf.requires_grad)
            return ingot.zeros(sizes, dtype=leaf.dtype, device=leaf.device)

        grown = [grow(leaf, named) for leaf, named in zip(self.leaves, self.named, strict=True)]
        return pytree.tree_unflatten(grown, self.spec)

    def shapes(self, how: str, args: tuple) -> Any:
        """dynamic_shapes: every axis with a name is a Dim of it ("dims"), or is free ("auto"); a size of 1 in the
        arguments is fixed."""
        dims: dict[str, Any] = {}

        def one(leaf: Any, named: dict[int, str]) -> Any:
            if not isinstance(leaf, Tensor):
                return None
            out: dict[int, Any] = {}
            for axis, text in named.items():
                if leaf.shape[axis] < 2:
                    continue
                plain = how == "dims" and text.isidentifier()
                out[axis] = dims.setdefault(text, Dim(text)) if plain else Dim.AUTO
            return out or None

        leaves = pytree.tree_leaves(args)
        shapes = [one(leaf, named) for leaf, named in zip(leaves, self.named, strict=True)]
        return pytree.tree_unflatten(shapes, self.spec)


def _by_parameters(model: nn.Module, shapes: Any) -> Any:
    """Shapes of a *args parameter are one tuple."""
    parameters = list(inspect.signature(model.forward).parameters.values())
    star = [i for i, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL]
    return (*shapes[: star[0]], tuple(shapes[star[0] :])) if star and shapes is not None else shapes


# ---- capture ----


def _is_data_dependent(error: BaseException | None) -> bool:
    from ingot.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    while error is not None:
        if isinstance(error, GuardOnDataDependentSymNode):
            return True
        error = error.__cause__
    return False


def _capture_once(model: nn.Module, args: tuple, shapes: Any, choices: bool, drafts: bool) -> ExportedProgram:
    """A trace decides by the data of the examples what depends on data. choices: a script does not decide by the
    examples what depends on dynamic sizes. drafts: the examples decide what a capture cannot."""
    if choices:
        hook = model.register_forward_pre_hook(lambda *_: ingot._C.record_choices())
        try:
            return _captured(model, args, shapes, True, drafts)
        finally:
            hook.remove()
    return _captured(model, args, shapes, False, drafts)


def _captured(model: nn.Module, args: tuple, shapes: Any, choices: bool, drafts: bool) -> ExportedProgram:
    shapes = _by_parameters(model, shapes)
    # Composite operators stay as they are called, as in a trace; in training the statistics of layers are written.
    level = "inference" if GLOBALS.export_training else "training"
    try:
        run = _trace._run(model, args, {}, shapes, False, level=level, allow_complex_guards=shapes is not None)
        return _trace.program_of(run)
    except Exception as error:
        # Decisions by data, results whose sizes depend on data, operators without a rule for sizes: all of them are
        # known when the model also runs on the examples themselves.
        if not (_is_data_dependent(error) or isinstance(error, NotImplementedError)):
            raise
        if not drafts:
            raise
        try:
            found = ingot_export.draft_export(model, args, {}, dynamic_shapes=shapes)
        except Exception:
            raise error from None
        if not choices and any(node.target is ingot.ops.higher_order.while_loop for node in found.graph.nodes):
            raise  # what a draft decides in a loop holds for its first round only
        return found


def capture(model: nn.Module, args: tuple, axes: _Axes, scripts: bool, result: Any) -> ExportedProgram:
    """The program of a model. A named axis stays symbolic; where the model fixes its size, as reshaping to numbers
    does, the model is captured with that size. scripts: it has scripts, whose loops stay loops. result: of the trace;
    None: it was not traced."""
    attempts: list[tuple[tuple, Any, bool]] = []
    if axes:
        grown = axes.larger()
        named, free = axes.shapes("dims", grown), axes.shapes("auto", grown)
        attempts += [(grown, named, True), (grown, free, True)]
        if not scripts:
            attempts += [(grown, named, False), (grown, free, False)]
        attempts += [(args, axes.shapes("auto", args), scripts)]
    # The sizes of a script are values: with a dynamic axis it is right for all of them, or it is refused.
    if not scripts:
        attempts += [(args, None, False)]
    elif not axes:
        attempts += [(args, None, True), (args, None, False)]
    first: Exception | None = None
    for given, shapes, choices in attempts:
        try:
            # A script repeats what depends on dynamic sizes: with those of the examples it may never end.
            drafts = not scripts or shapes is None
            found = _capture_once(model, given, shapes, choices, drafts)
        except Exception as error:
            first = first or error
            continue
        changed = any(a is not b for a, b in zip(pytree.tree_leaves(given), axes.leaves, strict=True))
        if not changed or _ranks(found) == _example_ranks(model, args, result):
            return found
    assert first is not None
    raise first


def _ranks(ep: ExportedProgram) -> list[int]:
    """How many dims the results have."""
    users = set(ep.graph_signature.user_outputs)
    output = next(node for node in ep.graph.nodes if node.op == "output")
    values = [node.meta["val"] for node in output.args[0] if getattr(node, "name", None) in users]
    return [value.dim() for value in values if isinstance(value, Tensor)]


def _example_ranks(model: nn.Module, args: tuple, result: Any) -> list[int]:
    """The same of the model itself on the examples: where a size of 1 decides it (squeeze), a capture with a larger
    size is that of another model. A quantized result of the trace is several of the model."""
    found = pytree.tree_leaves(result)
    if result is None or any(map(quantized.is_quantized, found)):
        copies = pytree.tree_map(lambda v: v.clone() if isinstance(v, Tensor) else v, args)
        with ingot.no_grad():
            found = pytree.tree_leaves(copy.deepcopy(model)(*copies))
    return [value.dim() for value in found if isinstance(value, Tensor)]


# ---- writing ----


def default_opset(opset_version: int | None) -> int:
    if opset_version is None:
        return _constants.ONNX_DEFAULT_OPSET
    if opset_version > _constants.ONNX_TORCHSCRIPT_EXPORTER_MAX_OPSET:
        warnings.warn(
            f"Exporting to ONNX opset version {opset_version} is not supported. by 'torch.onnx.export()'. The highest "
            f"opset version supported is {_constants.ONNX_TORCHSCRIPT_EXPORTER_MAX_OPSET}. To use a newer opset "
            "version, consider 'torch.onnx.export(..., dynamo=True)'. ",
            errors.OnnxExporterWarning,
            stacklevel=4,
        )
    if not _constants.ONNX_MIN_OPSET <= opset_version <= _constants.ONNX_MAX_OPSET:
        raise ValueError(f"Unsupported ONNX opset version: {opset_version}")
    return opset_version


def _keep_initializers(keep: bool | None, mode: OperatorExportTypes, opset: int) -> bool:
    if opset < 9:
        if keep is False:
            warnings.warn(
                "Setting 'keep_initializers_as_inputs=False' for opset version"
                "8 or lower would lead to an invalid ONNX graph. Therefore, "
                "'keep_initializers_as_inputs=False' is ignored during export."
                "Exported model will have initializers as graph inputs (compliant  to ONNX IR v3).",
                stacklevel=5,
            )
        return True
    return mode != OperatorExportTypes.ONNX if keep is None else keep


def _folds(folding: bool, training: TrainingMode | None) -> bool:
    if folding and training is not None and training is not TrainingMode.EVAL:
        warnings.warn(
            "It is recommended that constant folding be turned off ('do_constant_folding=False') "
            "when exporting the model in training-amenable mode, i.e. with 'training=TrainingMode.TRAIN' "
            "or 'training=TrainingMode.PRESERVE' (when model is in training mode). Otherwise, some "
            "learnable model parameters may not translate correctly in the exported ONNX model "
            "because constant folding mutates model parameters. Please consider "
            "turning off constant folding or setting the training=TrainingMode.EVAL.",
            stacklevel=5,
        )
    return folding


def _too_many(kind: str, names: Sequence[str], count: int) -> None:
    if len(names) > count:
        raise RuntimeError(f"number of {kind} names provided ({len(names)}) exceeded number of {kind}s ({count})")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{kind}_names: names are texts, found {type(name).__name__}")
        if name.isdigit():
            raise RuntimeError(f"Invalid name: '{name}'")


class Exported:
    """A captured model and how it is written."""

    def __init__(self, program: ExportedProgram, options: dict[str, Any]) -> None:
        self.program = program
        self.options = options

    def bytes(self) -> bytes:
        return self._write()

    def write(self, f: str | io.BytesIO) -> None:
        """Into a file or a buffer in memory, without another copy of the weights."""
        self._write(f) if isinstance(f, str) else self._write(write=f.write)

    def _write(self, *args: Any, **options: Any) -> Any:
        self.program._sync()
        try:
            return self.program._program.write_onnx(*args, **self.options, **options)
        except NotImplementedError as error:
            raise _unsupported(error, self.options["opset"]) from error


def issue_target(issue: Any) -> str | None:
    """The operator of a refused call, "aten.foo.default"."""
    target = issue.get("op") if isinstance(issue, dict) else getattr(issue, "op", None)
    return target if isinstance(target, str) and target.count(".") == 2 else None


def _unsupported(error: Exception, opset: int) -> errors.UnsupportedOperatorError:
    """The original's words for the first operator, then the writer's about all of them."""
    for issue in getattr(error, "issues", ()):
        target = issue_target(issue)
        if target is not None:
            name = symbolic.packet(target)
            group = registration.registry.get_function_group(name)
            later = group.get_min_supported() if group is not None else None
            first = errors.UnsupportedOperatorError(name, opset, later if later is not None and later > opset else None)
            return carry_code(error, errors.UnsupportedOperatorError(f"{first}\n{error}"))
    return reworded(error, errors.UnsupportedOperatorError)


def _model_inputs(ep: ExportedProgram) -> int:
    fed = (Tensor, ingot.SymInt, ingot.SymFloat, ingot.SymBool)
    return sum(spec[0] == "USER_INPUT" and isinstance(spec[4], fed) for spec in ep._program.input_specs)


def _as_module(model: Any, args: tuple) -> nn.Module:
    return scripted.as_module(model, args) if scripted.is_script(model) else model


def _named_inputs(given: Sequence[str] | None, graph: traced.Graph) -> list[str]:
    """The names of the inputs: the user's, then those of tracing or of the script; "": none."""
    given = list(given or ())
    found = graph.input_names()[len(given) :]
    while found and not found[-1]:
        found.pop()
    taken = set(given)
    return [*given, *["" if name in taken else name for name in found]]


def _settled(names: Sequence[str], own: set[str]) -> list[str]:
    """One name per value: of several that have the same, the last keeps it and the others get numbers, 1, 3 and so on
    as PyTorch counts them."""
    out = list(names)
    numbers: dict[str, int] = {}
    for i, name in enumerate(names):
        if name and name in names[i + 1 :]:
            number = numbers.get(name, 1)
            while f"{name}.{number}" in out or f"{name}.{number}" in own:
                number += 1
            out[i] = f"{name}.{number}"
            numbers[name] = number + 2
    return out


def build(
    model: Any,
    args: Any,
    *,
    opset: int,
    export_params: bool = True,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool = False,
    custom_opsets: Mapping[str, int] | None = None,
    add_node_names: bool = True,
    functions: bool = False,
    python_ops: python_op.PythonOps | None = None,
    refuse: bool = True,
) -> Exported:
    """Captures a model; the arguments are in the order of forward. Errors come in the order of the original's passes:
    of tracing, of the axes, of operators, of names, of writing. refuse: what the original does not translate."""
    args = args if isinstance(args, tuple) else (args,)
    axes = {} if dynamic_axes is None else dynamic_axes
    from ingot.onnx import utils

    part_names: list[str] = []
    if any(map(quantized.is_quantized, args)) and isinstance(model, nn.Module) and not scripted.is_script(model):
        model, args, part_names = quantized.taking_parts(model, args)
    model = utils._pre_trace_quant_model(model, args)
    graph = traced.trace(model, args)
    graph.name_inputs(part_names)
    refusals.warn_of_writes(graph)
    _check_axes(graph, axes, input_names or [])
    if refuse and operator_export_type == OperatorExportTypes.ONNX:
        refusals.check(graph, opset)
    _check_opset(graph, opset)
    _check_types(graph)
    if scripted.is_script(model):
        scripted.check(model, opset)
    module = quantized.giving_parts(_as_module(model, args), graph.result)
    fed = pytree.tree_map(_as_tensor, args)  # numbers are inputs too
    parameters = [p for p in inspect.signature(module.forward).parameters]
    names = _flat_names(fed, input_names or (), parameters)
    given = _Axes(fed, names, axes)
    scripts = scripted.has_scripts(model)
    try:
        with jit_trace.captured_as_trace(), _deciding(module, args, graph):
            program = capture(module, fed, given, scripts, graph.result)
    except Exception:
        if all(a is b for a, b in zip(given.leaves, pytree.tree_leaves(args), strict=True)):
            raise
        with jit_trace.captured_as_trace():
            as_given = _Axes(args, names, axes)  # numbers decide something: as they are
            program = capture(module, args, as_given, scripts, graph.result)
    inputs = _model_inputs(program)
    weights = sum(spec[0] not in ("USER_INPUT", "TOKEN") for spec in program._program.input_specs)
    _too_many("input", input_names or (), inputs + weights)
    outputs = sum(spec[0] == "USER_OUTPUT" for spec in program._program.output_specs)
    _too_many("output", output_names or (), outputs)
    _check_custom_opsets(graph, custom_opsets)
    named = _named_inputs(input_names, graph)
    settled = _settled([*named, *(output_names or ())], set(module.state_dict()))
    options: dict[str, Any] = {
        "opset": opset, "user_outputs": True, "metadata": False, "torchscript": True,
        "training": GLOBALS.export_training,
        "input_names": settled[: len(named)], "output_names": settled[len(named) :],
        "axes": [(value, axis, text) for value, row in axes.items() for axis, text in row.items()],
        "folding": do_constant_folding, "node_names": add_node_names, "functions": functions,
        "opsets": dict(custom_opsets or {}), "initializers_as_inputs": keep_initializers_as_inputs,
        "weights_as_inputs": not export_params, "sequences": list(getattr(type(module), "sequences", ())),
        "none_outputs": scripted.is_script(model), "measured_inputs": graph.measured_inputs(),
    }  # fmt: skip
    table = symbolic.translations(program, opset, operator_export_type)
    if python_ops is not None:
        table.update(python_ops.translations())
    if table:
        options["translations"] = table
    return Exported(program, options)


def warn_of_options(training: Any, operator_export_type: Any) -> None:
    """Options that PyTorch 2.5 is about to remove."""
    if operator_export_type not in (None, OperatorExportTypes.ONNX):
        warnings.warn(
            "Setting `operator_export_type` to something other than default is deprecated. The option will be removed "
            "in a future release.",
            FutureWarning,
            stacklevel=3,
        )
    if training not in (None, TrainingMode.EVAL):
        warnings.warn(
            "Setting `training` to something other than default is deprecated. The option will be removed in a future "
            "release. Please set the training mode before exporting the model.",
            FutureWarning,
            stacklevel=3,
        )


def export(
    model: Any,
    args: Any,
    f: Any,
    export_params: bool = True,
    verbose: bool | None = False,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    export_type: Any = None,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    fixed_batch_size: bool = False,
    custom_opsets: Mapping[str, int] | None = None,
    add_node_names: bool = True,
    onnx_shape_inference: bool = True,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> None:
    """Writes a model as PyTorch's TorchScript exporter does."""
    if isinstance(f, (str, os.PathLike)):
        f = os.fspath(f)
    elif type(f) is not io.BytesIO:
        f.flush  # noqa: B018  # what cannot be written to is an error before anything is written
    # Other files get the model as one piece.
    direct = isinstance(f, str) or type(f) is io.BytesIO
    start = f.tell() if type(f) is io.BytesIO else 0
    data = export_bytes(
        model, args, sink=f if direct else None, verbose=verbose, training=training,
        input_names=input_names, output_names=output_names,
        operator_export_type=operator_export_type, opset_version=opset_version, export_params=export_params,
        do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
        keep_initializers_as_inputs=keep_initializers_as_inputs, custom_opsets=custom_opsets,
        add_node_names=add_node_names, export_modules_as_functions=export_modules_as_functions,
        autograd_inlining=autograd_inlining,
    )  # fmt: skip
    if not direct:
        f.write(data)
        f.flush()
    if operator_export_type != OperatorExportTypes.ONNX:
        return
    if type(f) is io.BytesIO:
        with f.getbuffer() as whole, whole[start:] as own:
            check(own)
    elif direct:
        check_file(f)
    else:
        check(data)


def check(data: bytes | memoryview) -> None:
    """The bytes are written whether or not the standard allows the model."""
    try:
        ingot._C._check_onnx_proto(data)
    except RuntimeError as error:
        raise reworded(error, errors.CheckerError) from error


def check_file(path: str) -> None:
    try:
        ingot._C.check_onnx_file(path)
    except RuntimeError as error:
        raise reworded(error, errors.CheckerError) from error


def export_bytes(
    model: Any,
    args: Any,
    *,
    export_params: bool = True,
    verbose: bool | None = False,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
    metadata: bool = False,
    sink: str | io.BytesIO | None = None,
    **options: Any,
) -> bytes:
    """The model's bytes. metadata: with the source lines of the nodes. sink: where they are written to; then there are
    none."""
    training = training or TrainingMode.EVAL
    if isinstance(model, nn.DataParallel):
        raise ValueError(
            "torch.nn.DataParallel is not supported by ONNX exporter, please use 'attribute' module to "
            "unwrap model from torch.nn.DataParallel. Try torch.onnx.export(model.module, ...)"
        )
    opset = default_opset(opset_version)
    if export_modules_as_functions and opset < 15:
        raise ValueError(
            "`export_modules_as_functions` is not supported for `opset_version` < 15."
            "This is because `opset_version` < 15 implies IR version < 8, which means "
            "no local function support. "
        )
    with (
        setup(opset, operator_export_type, autograd_inlining),
        select_model_mode_for_export(model, training),
        python_op.collected() as python_ops,
        packed.kept_padded(),
    ):
        if not scripted.is_script(model) and not isinstance(model, nn.Module):
            model.modules  # noqa: B018  # what is no module has none: AttributeError
        keep = _keep_initializers(keep_initializers_as_inputs, operator_export_type, opset)
        folds = _folds(do_constant_folding, training)
        args = decide_input_format(model, args)
        axes = {} if dynamic_axes is None else dynamic_axes
        validate_dynamic_axes(axes, model, options.get("input_names"), options.get("output_names"))
        exported = build(
            model, args, opset=opset, export_params=export_params, operator_export_type=operator_export_type,
            do_constant_folding=folds, dynamic_axes=axes, keep_initializers_as_inputs=keep,
            functions=bool(export_modules_as_functions), python_ops=python_ops, **options,
        )  # fmt: skip
        exported.options["metadata"] = metadata
        if sink is not None and not verbose:
            exported.write(sink)
            return b""
        data = exported.bytes()
        if verbose:
            print(f"Exported graph: {graph_of(data)[0]}")
        if isinstance(sink, str):
            ingot._C.write_file(sink, data)
        elif sink is not None:
            sink.write(data)
        return data


def graph_of(data: bytes) -> tuple[Any, dict[str, Any]]:
    """A model as a graph of ONNX nodes, and its weights."""
    return ingot._C.onnx_graph(data)
