# SPDX-License-Identifier: Apache-2.0
"""Whether a model in ONNX computes what the module does: torch.onnx.verification."""

from __future__ import annotations

import copy
import dataclasses
import enum
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ingot
from ingot.onnx import _legacy, utils
from ingot.onnx._enums import TrainingMode
from ingot.onnx._internal import scripted, traced
from ingot.utils import _pytree as pytree

__all__ = ["GraphInfo", "OnnxBackend", "VerificationOptions", "find_mismatch", "verify"]


class OnnxBackend(enum.Enum):
    """Who runs the model."""

    REFERENCE = "ONNXReferenceEvaluator"
    ONNX_RUNTIME_CPU = "CPUExecutionProvider"
    ONNX_RUNTIME_CUDA = "CUDAExecutionProvider"


@dataclasses.dataclass
class VerificationOptions:
    """How outputs are compared, and by which engine the model runs."""

    flatten: bool = True
    ignore_none: bool = True
    check_shape: bool = True
    check_dtype: bool = True
    backend: OnnxBackend = OnnxBackend.ONNX_RUNTIME_CPU
    rtol: float = 1e-3
    atol: float = 1e-7
    remained_onnx_input_idx: Sequence[int] | None = None
    acceptable_error_percentage: float | None = None


def _arrays(values: Any, options: VerificationOptions) -> list[Any]:
    out = []
    for leaf in pytree.tree_leaves(values):
        if leaf is None and options.ignore_none:
            continue
        if isinstance(leaf, ingot.Tensor):
            parts = utils.unpack_quantized_tensor(leaf, cast_onnx_accepted=False)
            out += [part.detach().cpu().numpy() for part in parts]
        elif isinstance(leaf, (bool, int, float)):
            out.append(ingot.tensor(leaf).numpy())
        elif not isinstance(leaf, str):
            out.append(leaf)
    return out


class _Session:
    """A model that is ready to run: by onnxruntime where it is installed, otherwise by Ingot."""

    def __init__(self, model: bytes | str, backend: OnnxBackend) -> None:
        try:
            import onnxruntime
        except ImportError:
            onnxruntime = None
        self.session = None
        if onnxruntime is not None and backend is not OnnxBackend.REFERENCE:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self.names = [i.name for i in self.session.get_inputs()]
        else:
            self.model = ingot._C.onnx_open(model) if isinstance(model, str) else ingot._C.onnx_parse(model, "model")
            self.names = [row[0] for row in self.model.inputs]

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        if self.session is not None:
            return self.session.run(None, dict(zip(self.names, arrays, strict=False)))
        found = self.model.run([ingot.as_tensor(np.ascontiguousarray(a)) for a in arrays])
        return [v.numpy() if isinstance(v, ingot.Tensor) else np.asarray(v) for v in found]


def _flat(values: Sequence[Any]) -> list[Any]:
    """Results with the elements of sequences in their places."""
    return [leaf for value in values for leaf in (_flat(value) if isinstance(value, (list, tuple)) else [value])]


def _compare(found: Sequence[Any], expected: Sequence[Any], options: VerificationOptions) -> None:
    found, expected = _flat(found), _flat(expected)
    assert len(found) == len(expected), (
        f"Number of outputs differ ONNX runtime: ({len(found)}) PyTorch: ({len(expected)})"
    )
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if not options.check_shape and a.shape != b.shape:
            a, b = np.broadcast_arrays(a, b)
        if b.dtype == np.dtype("O") or a.dtype == np.dtype("O"):
            continue
        try:
            np.testing.assert_allclose(a, b, rtol=options.rtol, atol=options.atol)
        except AssertionError:
            share = options.acceptable_error_percentage
            if share is None:
                raise
            with np.errstate(all="ignore"):
                wrong = np.abs(a.astype(np.float64) - b) > options.atol + options.rtol * np.abs(b)
            if wrong.mean() > share:
                raise
        if options.check_dtype and a.dtype != b.dtype:
            raise AssertionError(f"Dtype differs: ONNX {a.dtype}, PyTorch {b.dtype}")


def _inputs(args: tuple, kwargs: Mapping[str, Any], model: Any, options: VerificationOptions) -> list[Any]:
    given = _legacy.decide_input_format(model, (*args, dict(kwargs)) if kwargs else args)
    arrays = [array for leaf in pytree.tree_leaves(given) for array in _leaf_arrays(leaf)]
    if options.remained_onnx_input_idx is not None:
        arrays = [arrays[i] for i in options.remained_onnx_input_idx]
    return arrays


def _leaf_arrays(leaf: Any) -> list[Any]:
    if isinstance(leaf, (bool, int, float)):
        leaf = _legacy._as_tensor(leaf)
    return [
        part.detach().cpu().numpy() for part in utils.unpack_quantized_tensor(leaf) if isinstance(part, ingot.Tensor)
    ]


def _compare_onnx_pytorch_model(
    pt_model: Any,
    onnx_model_f: str | io.BytesIO,
    input_args: tuple,
    input_kwargs: Mapping[str, Any] | None,
    additional_test_inputs: Sequence[Any] | None,
    options: VerificationOptions,
) -> None:
    model = onnx_model_f if isinstance(onnx_model_f, str) else onnx_model_f.getvalue()
    session = _Session(model, options.backend)

    def compare(args: Any, kwargs: Mapping[str, Any]) -> None:
        args = args if isinstance(args, tuple) else (args,)
        if args and isinstance(args[-1], Mapping) and not kwargs:
            args, kwargs = args[:-1], args[-1]
        module = _copied(pt_model)
        with ingot.no_grad():
            expected = module(*_clone(args), **_clone(dict(kwargs)))
        arrays = _inputs(_clone(args), kwargs, pt_model, options)
        _compare(session.run(arrays), _arrays(expected, options), options)

    compare(input_args, input_kwargs or {})
    for other in additional_test_inputs or ():
        compare(other, {})


def _copied(model: Any) -> Any:
    try:
        return copy.deepcopy(model)
    except Exception:
        return model


def _clone(values: Any) -> Any:
    return pytree.tree_map(lambda v: v.clone() if isinstance(v, ingot.Tensor) else v, values)


def verify(
    model: Any,
    input_args: Any,
    input_kwargs: Mapping[str, Any] | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True,
    verbose: bool = False,
    fixed_batch_size: bool = False,
    use_external_data: bool = False,
    additional_test_inputs: Sequence[Any] | None = None,
    options: VerificationOptions | None = None,
) -> None:
    """Writes a model and compares what it computes with the module. AssertionError: they differ."""
    options = options or VerificationOptions()
    if training == TrainingMode.TRAINING:
        model.train()
    elif training == TrainingMode.EVAL and hasattr(model, "eval"):
        model.eval()
    args = input_args if isinstance(input_args, tuple) else (input_args,)
    sink = io.BytesIO()
    given = (*_clone(args), dict(_clone(dict(input_kwargs)))) if input_kwargs else _clone(args)
    with ingot.no_grad():
        _legacy.export(
            _copied(model), given, sink, do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
            input_names=input_names, output_names=output_names, training=training, opset_version=opset_version,
            keep_initializers_as_inputs=keep_initializers_as_inputs, verbose=verbose,
        )  # fmt: skip
    _compare_onnx_pytorch_model(model, sink, args, input_kwargs, additional_test_inputs, options)


def _is_essential(node: Any) -> bool:
    """Whether a node computes something."""
    return node.kind() not in ("prim::Constant", "onnx::Constant", "prim::ListConstruct", "prim::TupleConstruct")


def _crossing(nodes: Sequence[Any], cut: int, outputs: Sequence[Any]) -> list[Any]:
    """What the nodes before a cut make and those behind it, or the graph, read."""
    made = {value.unique(): value for node in nodes[:cut] for value in node.outputs()}
    read = [value.unique() for node in nodes[cut:] for value in _reads(node)]
    read += [value.unique() for value in outputs]
    constant = {v.unique() for node in nodes if node.kind() == "prim::Constant" for v in node.outputs()}
    return [made[key] for key in dict.fromkeys(read) if key in made and key not in constant]


def _reads(node: Any) -> list[Any]:
    """The operands of a node, with those of its blocks."""
    out = list(node.inputs())
    for block in node.blocks():
        out += [value for inner in block.nodes() for value in _reads(inner)]
        out += list(block.outputs())
    return out


def _is_tensor(value: Any) -> bool:
    return value.type().kind() == "TensorType"


def _middle(graph: Any) -> int | None:
    """Where the nodes of a graph divide into halves with only tensors in between; None: nowhere."""
    nodes = list(graph.nodes())
    count = sum(map(_is_essential, nodes))
    found: tuple[int, int] | None = None
    before = 0
    for cut, node in enumerate(nodes):
        if 0 < before < count and all(map(_is_tensor, _crossing(nodes, cut, list(graph.outputs())))):
            distance = abs(2 * before - count)
            if found is None or distance < found[0]:
                found = distance, cut
        before += _is_essential(node)
    return None if found is None else found[1]


def _upper(graph: Any, cut: int) -> Any:
    """The nodes before a cut; what those behind it read are the results."""
    graph = graph.copy()
    nodes, outputs = list(graph.nodes()), list(graph.outputs())
    results = _crossing(nodes, cut, outputs)
    for _ in outputs:
        graph.eraseOutput(0)
    for value in results:
        graph.registerOutput(value)
    for node in reversed(nodes[cut:]):
        node.destroy()
    ingot._C._jit_pass_dce(graph)
    return graph


def _lower(graph: Any, cut: int) -> tuple[Any, list[int]]:
    """The nodes behind a cut, and the numbers of the inputs of the graph that they read; what the nodes before it make
    are further inputs."""
    graph = graph.copy()
    nodes = list(graph.nodes())
    for value in _crossing(nodes, cut, list(graph.outputs())):
        given = graph.addInput()
        given.setType(value.type())
        value.replaceAllUsesWith(given)
    for node in reversed(nodes[:cut]):
        if node.kind() != "prim::Constant":
            node.destroy()
    ingot._C._jit_pass_dce(graph)
    return graph, _drop_unread(graph)


def _drop_unread(graph: Any) -> list[int]:
    """Removes the inputs that nothing reads; the numbers of the others."""
    kept = [k for k, value in enumerate(graph.inputs()) if list(value.uses())]
    for k in reversed(range(len(list(graph.inputs())))):
        if k not in kept:
            graph.eraseInput(k)
    return kept


@dataclasses.dataclass
class GraphInfo:
    """A part of a model and whether its results differ. The parts of a graph whose results differ are the two halves of
    its nodes, as far as it divides."""

    graph: Any
    input_args: tuple = ()
    params_dict: dict[str, Any] = dataclasses.field(default_factory=dict)
    export_options: Any = None
    mismatch_error: AssertionError | None = None
    pt_outs: Sequence[Any] | None = None
    upper_graph_info: GraphInfo | None = None
    lower_graph_info: GraphInfo | None = None
    id: str = ""

    def clear(self) -> None:
        """Forgets what was found."""
        self.mismatch_error = None
        self.pt_outs = None
        self.upper_graph_info = None
        self.lower_graph_info = None

    def has_mismatch(self) -> bool:
        return self.mismatch_error is not None

    def essential_node_count(self) -> int:
        return sum(map(_is_essential, self.graph.nodes()))

    def essential_node_kinds(self) -> set[str]:
        return {n.kind() for n in self.graph.nodes() if _is_essential(n)}

    def find_partition(self, id: str) -> GraphInfo | None:
        """The part with an id: one digit per division, 0 for the upper half."""
        if id == self.id:
            return self
        if not id.startswith(self.id):
            return None
        part = self.upper_graph_info if id[len(self.id)] == "0" else self.lower_graph_info
        return None if part is None else part.find_partition(id)

    def all_mismatch_leaf_graph_info(self) -> list[GraphInfo]:
        if not self.has_mismatch():
            return []
        below = [part for part in (self.upper_graph_info, self.lower_graph_info) if part is not None]
        found = [leaf for part in below for leaf in part.all_mismatch_leaf_graph_info()]
        return found or [self]

    def find_mismatch(self, options: VerificationOptions | None = None) -> None:
        """Compares the results of the graph, and where they differ those of its halves."""
        options = options or VerificationOptions()
        self.clear()
        inputs = [*self.input_args, *self.params_dict.values()]
        function = ingot._C._create_function_from_graph("forward", self.graph.copy())
        with ingot.no_grad():
            found = function(*_clone(inputs))
        values = list(found) if isinstance(found, (tuple, list)) else [found]
        self.pt_outs = _arrays(values, options)
        self.mismatch_error = self._compared(function, inputs, options)
        cut = _middle(self.graph) if self.mismatch_error is not None else None
        if cut is None:
            return
        upper = _upper(self.graph, cut)
        middle = self._results(upper, inputs)
        kept = _drop_unread(upper)
        self.upper_graph_info = GraphInfo(
            upper, tuple(inputs[k] for k in kept), export_options=self.export_options, id=f"{self.id}0"
        )
        lower, used = _lower(self.graph, cut)
        every = [*inputs, *middle]
        self.lower_graph_info = GraphInfo(
            lower, tuple(every[k] for k in used), export_options=self.export_options, id=f"{self.id}1"
        )
        for part in (self.upper_graph_info, self.lower_graph_info):
            part.find_mismatch(options)

    def _results(self, graph: Any, inputs: list[Any]) -> list[Any]:
        function = ingot._C._create_function_from_graph("forward", graph.copy())
        with ingot.no_grad():
            found = function(*_clone(inputs))
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def _compared(self, function: Any, inputs: list[Any], options: VerificationOptions) -> AssertionError | None:
        """What differs between the function of the graph and its model."""
        names = [f"input_{k}" for k in range(len(inputs))]
        sink = io.BytesIO()
        given = dict(self.export_options or {})
        try:
            _legacy.export(function, tuple(_clone(inputs)), sink, input_names=names, **given)
            session = _Session(sink.getvalue(), options.backend)
            arrays = dict(zip(names, [array for leaf in inputs for array in _leaf_arrays(leaf)], strict=True))
            result = session.run([arrays[name] for name in session.names])
            _compare(result, self.pt_outs or [], options)
        except AssertionError as error:
            return error
        return None

    def _tree(self) -> list[str]:
        state = "X" if self.has_mismatch() else "\u2713"
        kinds = ", ".join(sorted(self.essential_node_kinds())) if self.essential_node_count() == 1 else ""
        lines = [f"{self.essential_node_count()} {state} {kinds}".rstrip() + (f"  id: {self.id}" if self.id else "")]
        for part in (self.upper_graph_info, self.lower_graph_info):
            if part is not None:
                lines += [f"  {line}" for line in part._tree()]
        return lines

    def pretty_print_tree(self) -> None:
        print("\n".join(self._tree()))

    def pretty_print_mismatch(self, graph: bool = False) -> None:
        if self.mismatch_error is not None:
            print(f"Mismatch found in graph {self.id or 'root'}: {self.mismatch_error}")
        if graph:
            print(self.graph)


def find_mismatch(
    model: Any,
    input_args: Any,
    do_constant_folding: bool = True,
    training: TrainingMode = TrainingMode.EVAL,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True,
    verbose: bool = False,
    options: VerificationOptions | None = None,
) -> GraphInfo:
    """Finds the parts of a model whose results in ONNX differ from those of the module: its graph is divided until a
    part has one node, or does not divide."""
    args = input_args if isinstance(input_args, tuple) else (input_args,)
    exported = {
        "do_constant_folding": do_constant_folding, "training": training, "opset_version": opset_version,
        "keep_initializers_as_inputs": keep_initializers_as_inputs, "verbose": verbose,
    }  # fmt: skip
    with _legacy.select_model_mode_for_export(model, training), ingot.no_grad():
        graph = traced.trace(model, _clone(args)).graph
        state = {} if scripted.is_script(model) else traced.unique_state(model)
    ingot._C._jit_pass_lower_all_tuples(graph)
    leaves = tuple(leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, ingot.Tensor))
    info = GraphInfo(graph, leaves, dict(state), export_options=exported)
    info.find_mismatch(options)
    return info
