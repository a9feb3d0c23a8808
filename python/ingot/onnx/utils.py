# SPDX-License-Identifier: Apache-2.0
"""The functions around the TorchScript exporter."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ingot
from ingot.onnx import _legacy, errors
from ingot.onnx._enums import OperatorExportTypes, TrainingMode
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal import python_op, registration, symbolic
from ingot.onnx._legacy import select_model_mode_for_export

__all__ = [
    "disable_apex_o2_state_dict_hook", "export", "export_to_pretty_string", "exporter_context", "is_in_onnx_export",
    "model_signature", "register_custom_op_symbolic", "select_model_mode_for_export", "setup_onnx_logging",
    "unconvertible_ops", "unpack_quantized_tensor", "unregister_custom_op_symbolic", "warn_on_static_input_change",
]  # fmt: skip

_decide_input_format = _legacy.decide_input_format
_export = _legacy.export


def is_in_onnx_export() -> bool:
    return GLOBALS.in_onnx_export


@contextlib.contextmanager
def disable_apex_o2_state_dict_hook(model: Any) -> Iterator[None]:
    """For models of NVIDIA's apex, whose state is converted by a hook: there are none here."""
    yield


@contextlib.contextmanager
def setup_onnx_logging(verbose: bool) -> Iterator[None]:
    yield


@contextlib.contextmanager
def exporter_context(model: Any, mode: TrainingMode, verbose: bool) -> Iterator[None]:
    with select_model_mode_for_export(model, mode), setup_onnx_logging(verbose):
        yield


def export(
    model: Any,
    args: Any,
    f: Any,
    export_params: bool = True,
    verbose: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> None:
    """torch.onnx.export with dynamo=False."""
    _legacy.export(
        model, args, f, export_params=export_params, verbose=verbose, training=training, input_names=input_names,
        output_names=output_names, operator_export_type=operator_export_type, opset_version=opset_version,
        do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
        keep_initializers_as_inputs=keep_initializers_as_inputs, custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions, autograd_inlining=autograd_inlining,
    )  # fmt: skip


def export_to_pretty_string(
    model: Any,
    args: Any,
    export_params: bool = True,
    verbose: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    export_type: Any = None,
    google_printer: bool = False,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    add_node_names: bool = True,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
) -> str:
    """The model as text."""
    data = _legacy.export_bytes(
        model, args, export_params=export_params, training=training, input_names=input_names,
        output_names=output_names, operator_export_type=operator_export_type, opset_version=opset_version,
        do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
        keep_initializers_as_inputs=keep_initializers_as_inputs, custom_opsets=custom_opsets,
        add_node_names=add_node_names,
    )  # fmt: skip
    return ingot._C.onnx_text(data)


def unconvertible_ops(
    model: Any, args: Any, training: TrainingMode = TrainingMode.EVAL, opset_version: int | None = None
) -> tuple[Any, list[str]]:
    """The graph of a model and the operators in it that have no translation."""
    opset = _legacy.default_opset(opset_version)
    refused: list[str] = []
    with select_model_mode_for_export(model, training):
        with _legacy.setup(opset, OperatorExportTypes.ONNX, True), python_op.collected() as ops:
            exported = _legacy.build(model, args, opset=opset, python_ops=ops)
            for name in _refused(exported):
                if name not in refused:
                    refused.append(name)
    return exported.program.graph, refused


def _refused(exported: _legacy.Exported) -> list[str]:
    try:
        exported.program._sync()
        exported.program._program.write_onnx(**exported.options, dry=True)
    except NotImplementedError as error:
        targets = [_legacy.issue_target(issue) for issue in getattr(error, "issues", ())]
        return [symbolic.packet(target) for target in targets if target is not None]
    return []


def model_signature(model: Any) -> inspect.Signature:
    return inspect.signature(model.forward if isinstance(model, ingot.nn.Module) else model)


def _is_constant_tensor_list(node: Any) -> bool:
    return node.kind() == "prim::Constant" and node.output().type().kind() == "ListType"


def warn_on_static_input_change(input_states: Any) -> None:
    """Warns of dictionaries and strings among the inputs that the model changed: a model in ONNX does not see that."""
    for given, traced in zip(input_states[0], input_states[1], strict=False):
        if isinstance(given, dict) and list(given.keys()) != list(traced.keys()):
            warnings.warn(
                "We detected that you are modifying a dictionary that is an input to your model. Note that "
                "dictionaries are allowed as inputs in ONNX but they should be handled with care. Usages of "
                "dictionaries is not recommended, and should not be used except for configuration use. Also note that "
                "the order and values of the keys must remain the same. ",
                stacklevel=2,
            )
        elif isinstance(given, str) and given != traced:
            warnings.warn(
                "The model seems to have string inputs/outputs. Note that strings will not appear as inputs/outputs of "
                "the ONNX model. ",
                stacklevel=2,
            )


def unpack_quantized_tensor(value: Any, cast_onnx_accepted: bool = True) -> tuple:
    """A quantized tensor as its integers, scale and zero point; another one as itself."""
    if isinstance(value, ingot.Tensor) and getattr(value, "is_quantized", False):
        scale = ingot.tensor(value.q_scale(), dtype=ingot.double if cast_onnx_accepted else ingot.float32)
        return value.int_repr(), scale, ingot.tensor(value.q_zero_point(), dtype=ingot.int64)
    return (value,)


# ---- the registry ----


def _verify_custom_op_name(symbolic_name: str) -> str:
    parts = symbolic_name.split("::")
    if len(parts) != 2 or not all(c.isalnum() or c == "_" for c in parts[1]) or not parts[1]:
        raise errors.OnnxExporterError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name, and "
            "should start with a letter and contain only alphanumerical characters"
        )
    if parts[0] == "onnx":
        raise ValueError(f"Failed to register operator {symbolic_name}. {parts[0]} domain cannot be modified.")
    return symbolic_name


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable, opset_version: int) -> None:
    """From this opset on, calls of an operator ("my::op", "::add" is PyTorch's) are translated by the function."""
    if symbolic_name.startswith("::"):
        symbolic_name = f"aten{symbolic_name}"
    _verify_custom_op_name(symbolic_name)
    registration.registry.register(symbolic_name, opset_version, symbolic_fn, custom=True)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    if symbolic_name.startswith("::"):
        symbolic_name = f"aten{symbolic_name}"
    _verify_custom_op_name(symbolic_name)
    registration.registry.unregister(symbolic_name, opset_version)


# ---- the graph ----


def _model_to_graph(
    model: Any,
    args: Any,
    verbose: bool = False,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    _disable_torch_constant_prop: bool = False,
    fixed_batch_size: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    dynamic_axes: Mapping[str, Any] | None = None,
) -> tuple[Any, dict[str, Any], Any]:
    """The model as a graph of ONNX nodes, its parameters, and what it returns for the arguments."""
    data = _legacy.export_bytes(
        model, args, input_names=input_names, output_names=output_names, training=training or TrainingMode.EVAL,
        operator_export_type=operator_export_type, do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
        opset_version=GLOBALS.export_onnx_opset_version, metadata=True,
    )  # fmt: skip
    graph, parameters = _legacy.graph_of(data)
    args = args if isinstance(args, tuple) else (args,)
    with ingot.no_grad(), select_model_mode_for_export(model, training or TrainingMode.EVAL):
        found = model(*_legacy.decide_input_format(model, args))
    return graph, parameters, found


def _optimize_graph(graph: Any, operator_export_type: Any, *args: Any, **kwargs: Any) -> Any:
    return graph
