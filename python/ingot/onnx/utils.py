# SPDX-License-Identifier: Apache-2.0
"""The functions around the TorchScript exporter."""

from __future__ import annotations

import contextlib
import copy
import inspect
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ingot
from ingot.onnx import _legacy, errors
from ingot.onnx._enums import OperatorExportTypes, TrainingMode
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal import jit_utils, quantized, refusals, registration, symbolic, traced
from ingot.onnx._legacy import select_model_mode_for_export
from ingot.utils import _pytree as pytree

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
    _legacy.warn_of_options(training, operator_export_type)
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
    """The TorchScript graph of a model and the operators in it that have no translation."""
    opset = _legacy.default_opset(opset_version)
    with select_model_mode_for_export(model, training), _legacy.setup(opset, OperatorExportTypes.ONNX, True):
        args = decide_args(model, args)
        found = traced.trace(model, args)
        return found.graph, list(dict.fromkeys(refusals.unsupported(found, opset)))


def decide_args(model: Any, args: Any) -> tuple:
    """The arguments by position, as a tuple."""
    given = _legacy.decide_input_format(model, args)
    return given if isinstance(given, tuple) else (given,)


def model_signature(model: Any) -> inspect.Signature:
    return inspect.signature(model.forward if isinstance(model, ingot.nn.Module) else model)


def _is_constant_tensor_list(node: Any) -> bool:
    return node.kind() == "prim::Constant" and node.output().type().kind() == "ListType"


def warn_on_static_input_change(input_states: Any) -> None:
    """Warns of dictionaries and strings among the inputs that the model changed: a model in ONNX does not see that."""
    for given, after in zip(input_states[0], input_states[1], strict=False):
        if isinstance(given, dict) and list(given.keys()) != list(after.keys()):
            warnings.warn(
                "We detected that you are modifying a dictionary that is an input to your model. Note that "
                "dictionaries are allowed as inputs in ONNX but they should be handled with care. Usages of "
                "dictionaries is not recommended, and should not be used except for configuration use. Also note that "
                "the order and values of the keys must remain the same. ",
                stacklevel=2,
            )
        elif isinstance(given, str) and given != after:
            warnings.warn(
                "The model seems to have string inputs/outputs. Note that strings will not appear as inputs/outputs of "
                "the ONNX model. ",
                stacklevel=2,
            )


def unpack_quantized_tensor(value: Any, cast_onnx_accepted: bool = True) -> tuple:
    """A quantized tensor as its integers, scale and zero point; another one as itself."""
    return quantized.unpack(value, wide=cast_onnx_accepted)


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


def _optimize_graph(
    graph: Any,
    operator_export_type: OperatorExportTypes,
    _disable_torch_constant_prop: bool = False,
    fixed_batch_size: bool = False,
    params_dict: dict | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    module: Any = None,
) -> Any:
    """A TorchScript graph as a graph of ONNX nodes. Its inputs have the types of their tensors; a graph whose inputs
    have none is returned as it is."""
    sizes = [value.type().sizes() if value.type().kind() == "TensorType" else None for value in graph.inputs()]
    if any(size is None for size in sizes):
        return graph
    given = tuple(ingot.zeros(v.type().sizes(), dtype=v.type().dtype()) for v in graph.inputs())
    copied = graph.copy()
    for i, value in enumerate(copied.inputs()):
        if not value.debugName().isidentifier():
            value.setDebugName(f"input_{i}")
    function = ingot._C._create_function_from_graph("forward", copied)
    data = _legacy.export_bytes(
        function, given, operator_export_type=operator_export_type, dynamic_axes=dynamic_axes, input_names=input_names,
        opset_version=GLOBALS.export_onnx_opset_version,
    )  # fmt: skip
    return _legacy.graph_of(data)[0]


# ---- parts of an export, under the names that tools call ----

_params_dict: dict[str, Any] = {}
_signature = _legacy._signature
_validate_dynamic_axes = _legacy.validate_dynamic_axes
_need_symbolic_context = symbolic._takes_context
_qtype_vtype_map = {
    getattr(ingot, quantized): plain
    for quantized, plain in (
        ("quint8", ingot.uint8), ("qint8", ingot.int8), ("qint32", ingot.int32), ("quint4x2", ingot.int8),
    )
    if hasattr(ingot, quantized)
}  # fmt: skip


def _trace_and_get_graph_from_model(model: Any, args: Any) -> tuple[Any, Any]:
    """The graph of a trace, and what the model returned."""
    found = traced.trace(model, args if isinstance(args, tuple) else (args,))
    return found.graph, found.result


def _create_jit_graph(model: Any, args: Sequence[Any]) -> tuple[Any, list[Any], Any, Any]:
    """The graph of a model, its parameters in the order of the graph's inputs, what it returned, and the module."""
    found = traced.trace(model, tuple(args))
    state = traced.unique_state(model) if isinstance(model, ingot.nn.Module) else {}
    return found.graph, list(state.values()), found.result, None


def _get_named_param_dict(graph: Any, params: Sequence[Any]) -> dict[str, Any]:
    names = [value.debugName() for value in graph.inputs()]
    return dict(zip(names[len(names) - len(params) :], params, strict=True))


def _get_example_outputs(model: Any, args: Any) -> list[Any]:
    """What a script returns for copies of the arguments."""
    found = model(*copy.deepcopy(args))
    return [found] if isinstance(found, (ingot.Tensor, int, float, bool)) else list(found)


def _pre_trace_quant_model(model: Any, args: Any) -> Any:
    """A model of quantized modules as a trace."""
    if isinstance(model, ingot.jit.ScriptModule):
        return model
    quantized = any(
        hasattr(module, "_weight_bias") or hasattr(module, "_packed_params") for module in model.modules()
    ) if hasattr(model, "modules") else False  # fmt: skip
    return ingot.jit.trace(model, args) if quantized else model


def _trace(func: Any, args: Any, operator_export_type: OperatorExportTypes, return_outs: bool = False) -> Any:
    args = args if isinstance(args, tuple) else (args,)
    graph, _, out = ingot.jit._get_trace_graph(func, args, strict=False, _return_inputs_states=True)
    graph = _optimize_graph(graph, operator_export_type)
    return (graph, out) if return_outs else graph


def _setup_trace_module_map(model: Any, export_modules_as_functions: Any) -> set[str]:
    """The names of the classes whose modules become functions."""
    model.modules  # noqa: B018  # what is no module has none
    if isinstance(export_modules_as_functions, bool):
        every = {type(module) for module in model.modules()} if export_modules_as_functions else set()
    else:
        every = set(export_modules_as_functions)
        strange = [cls for cls in every if not (isinstance(cls, type) and issubclass(cls, ingot.nn.Module))]
        if strange:
            raise RuntimeError(
                "Only type of the `nn.Module` should be passed in the set for argument `export_modules_as_functions`. "
                f"Got `{type(strange[0]).__name__}`."
            )
    return {f"{cls.__module__}.{cls.__qualname__}" for cls in every}


def _reset_trace_module_map() -> None:
    """Undoes _setup_trace_module_map, which keeps nothing."""


def _resolve_args_by_export_type(arg_name: str, arg_value: Any, operator_export_type: OperatorExportTypes) -> Any:
    return arg_value


def _decide_add_node_names(add_node_names: bool, operator_export_type: OperatorExportTypes) -> bool:
    return add_node_names


def _decide_keep_init_as_input(
    keep_initializers_as_inputs: bool | None, operator_export_type: OperatorExportTypes, opset_version: int
) -> bool:
    return _legacy._keep_initializers(keep_initializers_as_inputs, operator_export_type, opset_version)


def _decide_constant_folding(
    do_constant_folding: bool, operator_export_type: OperatorExportTypes, training: TrainingMode
) -> bool:
    return _legacy._folds(do_constant_folding, training)


def _should_aten_fallback(name: str, opset_version: int, operator_export_type: OperatorExportTypes) -> bool:
    """Whether an operator becomes an ATen node."""
    if operator_export_type == OperatorExportTypes.ONNX_ATEN:
        return True
    known = registration.registry.is_registered_op(name, opset_version)
    return operator_export_type == OperatorExportTypes.ONNX_ATEN_FALLBACK and not known


def _get_aten_op_overload_name(n: Any) -> str:
    """The overload of an ATen node; "" is the default."""
    schema = n.schema()
    return "" if not schema.startswith("aten::") else ingot._C.parse_schema(schema).overload_name


def _run_symbolic_method(g: Any, op_name: str, symbolic_fn: Callable, args: Sequence[Any]) -> Any:
    """Calls a translation; a TypeError says which."""
    try:
        context = g if isinstance(g, jit_utils.GraphContext) else jit_utils.GraphContext(g, g.block(), opset=_opset())
        return symbolic_fn(context, *args)
    except TypeError as error:
        error.args = (f"{error.args[0]} (occurred when translating {op_name})",)
        raise


def _opset() -> int:
    return GLOBALS.export_onnx_opset_version


def _run_symbolic_function(
    graph: Any,
    block: Any,
    node: Any,
    inputs: Any,
    env: dict,
    values_in_env: set,
    new_nodes: list,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
) -> Any:
    """The translation of a node, added to a graph; the values of its results."""
    kind = node.kind()
    name = kind[:-1] if kind.endswith("_") else kind
    context = jit_utils.GraphContext(
        graph, block, opset=_opset(), original_node=node, params_dict=_params_dict, env=env,
        values_in_env=values_in_env, new_nodes=new_nodes,
    )  # fmt: skip
    group = registration.registry.get_function_group(name)
    fn = group.get(_opset()) if group is not None else None
    operator = name.partition("::")[2]
    if _should_aten_fallback(name, _opset(), operator_export_type):
        return context.aten_op(operator, *inputs, overload_name=_get_aten_op_overload_name(node))
    if fn is None:
        later = group.get_min_supported() if group is not None else None
        raise errors.UnsupportedOperatorError(name, _opset(), later)
    attributes = {f"{key}_{node.kindOf(key)[0]}": value for key, value in jit_utils.to_attributes(node).items()}
    try:
        return fn(context, *inputs, **attributes)
    except TypeError as error:
        error.args = (f"{error.args[0]} \n(Occurred when translating {operator}).",)
        raise


def _add_block(node: Any) -> Any:
    return node.addBlock()


def _add_input_to_block(block: Any) -> Any:
    return block.addInputToBlock()


def _add_output_to_block(block: Any, value: Any) -> int:
    return block.registerOutput(value)


def _set_input_and_output_names(
    graph: Any, input_names: Sequence[str] | None, output_names: Sequence[str] | None
) -> None:
    """Names the inputs and outputs of a graph."""
    for what, values, names in (
        ("input", list(graph.inputs()), input_names), ("output", list(graph.outputs()), output_names),
    ):  # fmt: skip
        if names is None:
            continue
        if len(names) > len(values):
            raise RuntimeError(
                f"number of {what} names provided ({len(names)}) exceeded number of {what}s ({len(values)})"
            )
        for value, name in zip(values, names, strict=False):
            value.setDebugName(name)


def _apply_friendly_debug_names(graph: Any, params: dict) -> None:
    """Values that have numbers are named by the node that reads them."""
    for node in graph.nodes():
        for value in node.inputs():
            old = value.debugName()
            if old.isdigit():
                value.setDebugName(f"{node.kind()}_{old}")
                if old in params:
                    params[value.debugName()] = params.pop(old)


def _check_flatten_did_not_remove(original: Any, jit_flattened: Any) -> None:
    """Values that are None vanish when the arguments of a script are flattened."""
    lost = sum(leaf is None for leaf in pytree.tree_leaves(original))
    if lost:
        raise ValueError(
            f"args contained {lost} None's after flattening. When exporting a ScriptModule or ScriptFunction, no args "
            "may be None because that breaks type propagation."
        )


def _get_module_attributes(module: Any) -> dict[str, Any]:
    """The annotated attributes of a module that nn.Module does not have."""
    own = set(typing.get_type_hints(type(module))) - set(typing.get_type_hints(ingot.nn.Module))
    return {name: getattr(module, name) for name in own if hasattr(module, name)}


def _get_torch_export_args(args: tuple, kwargs: dict[str, Any] | None) -> tuple[tuple, dict[str, Any] | None]:
    """Arguments by position and by name: a dictionary at the end of args is the latter."""
    if not kwargs and args and isinstance(args[-1], dict):
        return args[:-1], args[-1]
    return args, kwargs


def _split_tensor_list_constants(g: Any, block: Any) -> None:
    """Constants that are lists of tensors become lists of constants."""
    for node in list(block.nodes()):
        for inner in node.blocks():
            _split_tensor_list_constants(g, inner)
        if not _is_constant_tensor_list(node) or not isinstance(node.output().toIValue(), list):
            continue
        items = []
        for value in node.output().toIValue():
            item = g.insertConstant(value)
            item.node().moveBefore(node)
            items.append(item)
        made = g.create("prim::ListConstruct", items)
        made.insertBefore(node)
        made.output().setType(node.output().type())
        node.output().replaceAllUsesWith(made.output())
