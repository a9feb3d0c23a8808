# SPDX-License-Identifier: Apache-2.0
"""The onnxrt backend of torch.compile: graphs run as ONNX models.

What ONNX can express of a graph becomes models, by partitions; everything else runs as it is. Models run in
onnxruntime where it is installed, and in Ingot's own runtime otherwise. `OrtBackend.runtime` says which, and the
environment variable INGOT_ONNX_RUNTIME ("onnxruntime" or "ingot") chooses.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import ingot
from ingot import _C, fx
from ingot._C import Tensor
from ingot.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from ingot.fx.passes.operator_support import CALLABLE_NODE_OPS, OperatorSupport
from ingot.onnx._options import DEFAULT_OPSET, ExportOptions
from ingot.onnx._program import ENGINE
from ingot.onnx._type_utils import JitScalarType

__all__ = [
    "OrtBackend", "OrtBackendOptions", "OrtExecutionInfoForAllGraphModules", "OrtExecutionInfoPerSession",
    "OrtExecutionProvider", "OrtOperatorSupport", "is_onnxrt_backend_supported", "torch_compile_backend",
]  # fmt: skip

logger = logging.getLogger(__name__)

# The name of a provider, or a pair of it and its options.
OrtExecutionProvider = str | tuple[str, Mapping[str, Any]]

_MOST_INSTANCES = 8
_DEFAULT_PROVIDERS = ("CPUExecutionProvider",)
_dumped: dict[str, int] = {}  # prefix -> number of the last model


def is_onnxrt_backend_supported() -> bool:
    """Whether the backend can run: always, because there is a runtime of our own."""
    return True


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _choose_runtime(wanted: str | None) -> str:
    known = ("onnxruntime", "ingot")
    chosen = wanted or os.environ.get(ENGINE) or (known[0] if _is_installed("onnxruntime") else known[1])
    if chosen not in known:
        raise ValueError(f"runtime {chosen!r}: expected one of {', '.join(known)}")
    if chosen == "onnxruntime" and not _is_installed("onnxruntime"):
        raise ImportError("the runtime 'onnxruntime' was chosen, but the package is not installed")
    return chosen


# ---- devices and providers ----


class _OrtDevice:
    """The part of onnxruntime's class that says where a value is."""

    def __init__(self, kind: int, memory: int, index: int) -> None:
        self._kind, self._memory, self._index = kind, memory, index

    cpu = staticmethod(lambda: 0)
    cuda = staticmethod(lambda: 1)
    npu = staticmethod(lambda: 3)
    default_memory = staticmethod(lambda: 0)

    def device_type(self) -> int:
        return self._kind

    def device_id(self) -> int:
        return self._index


def __getattr__(name: str) -> Any:
    if name == "ORTC":  # looked up when used: onnxruntime takes long to import
        if _is_installed("onnxruntime"):
            return importlib.import_module("onnxruntime.capi._pybind_state")
        return SimpleNamespace(OrtDevice=_OrtDevice)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _get_ort_device_type(device_type: str) -> int:
    """onnxruntime's number of a kind of device."""
    device = __getattr__("ORTC").OrtDevice
    kinds = {"cuda": device.cuda, "cpu": device.cpu, "maia": device.npu}
    if device_type not in kinds:
        raise ValueError("Unsupported device type: " + device_type)
    return kinds[device_type]()


def _get_onnx_devices(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """One device per value; numbers are on the CPU."""
    device = __getattr__("ORTC").OrtDevice

    def place(value: Any) -> Any:
        if isinstance(value, Tensor):
            kind, index = value.device.type, value.device.index or 0
        elif isinstance(value, (_C.SymInt, _C.SymFloat, _C.SymBool, int, float)):
            kind, index = "cpu", 0
        else:
            raise ValueError("Unsupported value type: " + str(type(value)))
        return device(_get_ort_device_type(kind), device.default_memory(), index)

    return tuple(place(value) for value in values or (1,))


def _infer_ep_from_device(*args: Any) -> tuple[str, ...]:
    """The providers of the devices that the arguments are on."""
    names = {"cuda": "CUDAExecutionProvider", "cpu": "CPUExecutionProvider"}
    return tuple(names[a.device.type] for a in args if hasattr(a, "device") and a.device.type in names)


def _returned(graph: Any) -> list[Any]:
    """The values that a graph returns: nodes and constants."""
    values = next(n for n in graph.nodes if n.op == "output").args[0]
    return list(values) if isinstance(values, (tuple, list)) else [values]


def _infer_ep_from_graph_module(graph_module: fx.GraphModule) -> tuple[str, ...]:
    """The providers of the devices that the outputs are on."""
    return _infer_ep_from_device(
        *(n.meta["val"] for n in _returned(graph_module.graph) if "val" in getattr(n, "meta", ()))
    )


def _sort_eps(eps: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, by priority as PyTorch has it: CPU, CUDA, others."""
    rank = {"CPUExecutionProvider": 0, "CUDAExecutionProvider": 1}
    return tuple(sorted(dict.fromkeys(eps), key=lambda ep: rank.get(ep, 2)))


# ---- partitions ----


class OrtOperatorSupport(OperatorSupport):
    """A node is supported if the exporter writes its operator, or by its name in extra_support_dict."""

    def __init__(self, support_dict: set[Any], extra_support_dict: Mapping[str, Any]) -> None:
        super().__init__(extra_support_dict)
        self._onnx_support_dict = support_dict

    def is_node_supported(self, submodules: Mapping[str, Any], node: fx.Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return False
        if node.op == "call_function" and node.target in self._onnx_support_dict:
            return True
        if super().is_node_supported(submodules, node):
            return True
        logger.info("not supported: %s", node.target)
        return False


# What the engine computes with the numbers of a graph.
_EXTRA = dict.fromkeys(f"_operator.{name}" for name in ("getitem", "mul", "add", "sub"))


def _decompositions(supported: set[str]) -> dict[Any, Callable]:
    """Operators that the exporter does not write are taken apart."""
    return {op: fn for op, fn in _C.decomposition_table(False).items() if str(op) not in supported}


# ---- sessions ----


class _Session:
    """A model in Ingot's own runtime, with the part of onnxruntime's interface that is used here."""

    def __init__(self, model: bytes) -> None:
        self._model = _C.onnx_parse(model, "model.onnx")
        self._inputs = [name for name, _, _ in self._model.inputs]
        self._outputs = [name for name, _, _ in self._model.outputs]

    def get_providers(self) -> list[str]:
        return list(_DEFAULT_PROVIDERS)

    def run_tensors(self, output_names: Sequence[str], feed: Mapping[str, Tensor]) -> list[Tensor]:
        found = dict(zip(self._outputs, self._model.run([feed[name] for name in self._inputs])))
        return [found[name] for name in output_names]


def _elements(dtype: Any) -> int:
    return int(JitScalarType.from_dtype(dtype).onnx_type())


def _value_info(name: str, elem: int, dims: Sequence[Any]) -> Any:
    """ValueInfoProto, where the onnx package is missing."""

    def dim(d: Any) -> Any:
        named = isinstance(d, str)
        field = "dim_param" if named else "dim_value"
        return SimpleNamespace(
            dim_param=d if named else "", dim_value=0 if named or d is None else d, HasField=lambda f: f == field
        )

    shape = SimpleNamespace(dim=[dim(d) for d in dims or ()])
    return SimpleNamespace(name=name, type=SimpleNamespace(tensor_type=SimpleNamespace(elem_type=elem, shape=shape)))


class OrtExecutionInfoPerSession:
    """A session and what is needed to call it."""

    def __init__(
        self,
        session: Any,
        input_names: tuple[str, ...],
        input_value_infos: tuple[Any, ...],
        output_names: tuple[str, ...],
        output_value_infos: tuple[Any, ...],
        input_devices: tuple[Any, ...],
        output_devices: tuple[Any, ...],
        example_outputs: Any,
    ) -> None:
        self.session = session
        self.input_names = input_names
        self.input_value_infos = input_value_infos
        self.output_names = output_names
        self.output_value_infos = output_value_infos
        self.input_devices = input_devices
        self.output_devices = output_devices
        self.example_outputs = example_outputs

    def is_supported(self, *args: Any) -> bool:
        """Whether the session takes arguments of these kinds and sizes."""
        return len(args) == len(self.input_value_infos) and all(map(_accepts, self.input_value_infos, args))


def _accepts(info: Any, arg: Any) -> bool:
    kind = info.type.tensor_type
    if isinstance(arg, (bool, int, float)):
        floats = (ingot.float32, ingot.float64)
        numbers = (ingot.bool,) if isinstance(arg, bool) else (ingot.int64,) if isinstance(arg, int) else floats
        return kind.elem_type in map(_elements, numbers) and not kind.shape.dim
    if not isinstance(arg, Tensor) or kind.elem_type != _elements(arg.dtype):
        return False
    if len(kind.shape.dim) != arg.ndim:
        return False
    return all(d.dim_param or (isinstance(n, int) and d.dim_value == n) for n, d in zip(arg.shape, kind.shape.dim))


@dataclasses.dataclass
class OrtExecutionInfoForAllGraphModules:
    """The sessions made for each partition."""

    def __init__(self) -> None:
        self.execution_info_per_graph_module: dict[fx.GraphModule, list[OrtExecutionInfoPerSession]] = {}

    def search_reusable_session_execution_info(
        self, graph_module: fx.GraphModule, *args: Any
    ) -> OrtExecutionInfoPerSession | None:
        known = self.execution_info_per_graph_module.get(graph_module, ())
        return next((info for info in known if info.is_supported(*args)), None)

    def cache_session_execution_info(self, graph_module: fx.GraphModule, info: OrtExecutionInfoPerSession) -> None:
        self.execution_info_per_graph_module.setdefault(graph_module, []).append(info)


def _dump_onnx_model(model_string: bytes, graph_module: fx.GraphModule | None = None) -> str:
    """Writes {ONNXRT_DUMP_PATH}{N}.onnx, and the graph beside it as .txt; N counts from 0 per prefix."""
    prefix = os.environ.get("ONNXRT_DUMP_PATH")
    if not prefix:
        return ""
    _dumped[prefix] = n = _dumped.get(prefix, -1) + 1
    path = f"{prefix}{n}.onnx"
    with open(path, "wb") as f:
        f.write(model_string)
    if graph_module is not None:
        with open(f"{prefix}{n}.txt", "w", encoding="utf-8") as text:
            text.write(str(graph_module.graph))
    return path


def _to_tensor(value: Any, info: Any) -> Tensor:
    """The argument as the input that info describes."""
    if isinstance(value, Tensor):
        return value.detach().contiguous()
    if isinstance(value, float):
        wide = info.type.tensor_type.elem_type == _elements(ingot.float64)
        return ingot.tensor(value, dtype=ingot.float64 if wide else ingot.float32)
    return ingot.tensor(value, dtype=ingot.bool if isinstance(value, bool) else ingot.int64)


# ---- the backend ----


@dataclasses.dataclass(frozen=True)
class OrtBackendOptions:
    """Options of the backend; all are optional."""

    preferred_execution_providers: Sequence[OrtExecutionProvider] | None = None  # before the inferred ones
    infer_execution_providers: bool = True  # from the devices of arguments or outputs
    default_execution_providers: Sequence[OrtExecutionProvider] | None = None  # behind all others
    preallocate_output: bool = False  # outputs of fixed sizes are tensors that the session writes to
    use_aot_autograd: bool = True  # forward and backward are compiled
    export_options: ExportOptions | None = None
    ort_session_options: Any = None  # onnxruntime.SessionOptions
    pre_ort_model_transforms: Sequence[Callable[[Any], None]] | None = None  # change an onnx.ModelProto in place


class OrtBackend:
    """A backend object for torch.compile. execution_count counts runs of models, `runtime` names what runs them."""

    constant_floats = True  # a model per value, as in PyTorch: its nodes have no casts of inputs
    _instances: list[OrtBackend] = []

    def __init__(self, options: OrtBackendOptions | None = None, *, runtime: str | None = None) -> None:
        self._options = OrtBackendOptions() if options is None else options
        self._export_options = self._options.export_options or ExportOptions()
        self.runtime = _choose_runtime(runtime)
        registry = self._export_options.onnx_registry
        translated = set(registry.functions) if registry is not None else set()
        names = set(_C.onnx_targets()) | translated
        self._opset = registry.opset_version if registry is not None else DEFAULT_OPSET
        self._decompositions = _decompositions(names)
        # Models have generators of their own: the program's random numbers are drawn outside of ONNX.
        whole = (names - translated) | set(_C.onnx_lowered())
        written = {op for op in map(_overload, whole) if op is not None and not op._draws}
        self._supported_ops = OrtOperatorSupport(written | {_overload(name) for name in translated} - {None}, _EXTRA)
        self._partitioner_cache: dict[fx.GraphModule, fx.GraphModule] = {}
        self._all_ort_execution_info = OrtExecutionInfoForAllGraphModules()
        self._assert_allclose_to_baseline = False
        self.execution_count = 0

    # ---- compiling

    def __call__(self, graph_module: fx.GraphModule, args: Any) -> Callable:
        if not self._options.use_aot_autograd:
            # ONNX has forms of functional ATen graphs only, which is what AOT autograd makes.
            self._partitioner_cache[graph_module] = graph_module
            return graph_module
        from ingot._dynamo.backends.common import aot_autograd
        from ingot._functorch.partitioners import min_cut_rematerialization_partition

        return aot_autograd(
            fw_compiler=self.compile,
            partition_fn=min_cut_rematerialization_partition,
            decompositions=self._decompositions,
        )(graph_module, args)

    def compile(self, graph_module: fx.GraphModule, args: Any) -> fx.GraphModule:
        """The graph with what ONNX can express of it as modules that run sessions."""
        found = self._partitioner_cache.get(graph_module)
        if found is None:
            divider = CapabilityBasedPartitioner(graph_module, self._supported_ops, allows_single_node_partition=True)
            found = divider.partition_and_fuse()
            for node in found.graph.nodes:
                if node.op == "call_module" and node.target.startswith("fused_"):
                    self._take_over(getattr(found, node.target))
            self._partitioner_cache[graph_module] = found
        return found

    def _take_over(self, part: fx.GraphModule) -> None:
        """Calls of the module run a session; its class is its own."""
        run = self._ort_acclerated_call

        def call(self: fx.GraphModule, *args: Any) -> Any:
            return run(self, args)

        type(part).__call__ = call  # type: ignore[method-assign]

    # ---- running

    def _ort_acclerated_call(self, graph_module: fx.GraphModule, args: tuple, kwargs: Any = None) -> Any:
        info = self._all_ort_execution_info.search_reusable_session_execution_info(graph_module, *args)
        if info is None:
            info = self._make_session(graph_module, args)
            self._all_ort_execution_info.cache_session_execution_info(graph_module, info)
        self.execution_count += 1
        examples = info.example_outputs
        single = not isinstance(examples, tuple)
        outs = self._run(info, args, (examples,) if single else examples)
        if self._assert_allclose_to_baseline:
            self._compare(graph_module, args, outs)
        return outs[0] if single else tuple(outs)

    def _run(self, info: OrtExecutionInfoPerSession, args: tuple, examples: tuple) -> list[Any]:
        feed = {i.name: _to_tensor(a, i) for i, a in zip(info.input_value_infos, args)}
        for value_info in info.input_value_infos:
            tensor = feed[value_info.name]
            if not value_info.type.tensor_type.shape.dim and tensor.ndim:
                feed[value_info.name] = tensor.reshape(())
        fixed = self._options.preallocate_output and not self._export_options.dynamic_shapes
        if isinstance(info.session, _Session):
            outs = info.session.run_tensors(info.output_names, feed)
            if fixed:
                outs = [ingot.empty(o.shape, dtype=o.dtype).copy_(o) for o in outs]
        elif fixed:
            outs = self._run_into(info, feed, examples)
        else:
            arrays = info.session.run(list(info.output_names), {k: v.numpy() for k, v in feed.items()})
            outs = [ingot.from_numpy(a) if a.shape else ingot.tensor(a) for a in arrays]
        return [o if isinstance(e, Tensor) else o.item() for o, e in zip(outs, examples)]

    @staticmethod
    def _run_into(info: OrtExecutionInfoPerSession, feed: dict[str, Tensor], examples: tuple) -> list[Tensor]:
        """onnxruntime writes its results into our tensors."""
        binding = info.session.io_binding()
        for name, tensor in feed.items():
            binding.bind_cpu_input(name, tensor.numpy())
        outs = [ingot.empty([int(n) for n in e.shape], dtype=e.dtype) for e in examples]
        for name, out in zip(info.output_names, outs):
            kind = out.numpy().dtype.type
            binding.bind_output(name, "cpu", 0, kind, list(out.shape), out.data_ptr())
        info.session.run_with_iobinding(binding)
        return outs

    @staticmethod
    def _compare(graph_module: fx.GraphModule, args: tuple, outs: list[Any]) -> None:
        want = graph_module.forward(*args)
        for found, expected in zip(outs, want if isinstance(want, (tuple, list)) else [want]):
            ingot.testing.assert_close(found, expected)

    # ---- sessions

    def _make_session(self, graph_module: fx.GraphModule, args: tuple) -> OrtExecutionInfoPerSession:
        graph = graph_module.graph if self._export_options.dynamic_shapes else _specialize(graph_module, args)
        model, infos = self._export(graph, _output_names(graph_module.graph))
        _dump_onnx_model(model, graph_module)
        values = [n.meta["val"] for n in _returned(graph)]
        single = not isinstance(next(n for n in graph_module.graph.nodes if n.op == "output").args[0], (tuple, list))
        return OrtExecutionInfoPerSession(
            session=self._open(model, graph_module, args),
            input_names=tuple(i.name for i in infos[0]),
            input_value_infos=infos[0],
            output_names=tuple(o.name for o in infos[1]),
            output_value_infos=infos[1],
            input_devices=_get_onnx_devices(args),
            output_devices=_get_onnx_devices(tuple(values)),
            example_outputs=values[0] if single else tuple(values),
        )

    def _export(self, graph: Any, names: list[str]) -> tuple[bytes, tuple[tuple, tuple]]:
        """The bytes of the model, after the user's transforms, and its inputs and outputs."""
        writing: dict[str, Any] = {"opset": self._opset, "user_outputs": True, "external": "never"}
        registry = self._export_options.onnx_registry
        if registry is not None and registry.functions:
            from ingot.onnx._exporter import _translations

            writing["translations"] = _translations(registry.functions)
        writing["output_names"] = names
        model = _C.graph_program(graph).write_onnx(**writing)
        transforms = self._options.pre_ort_model_transforms
        if not transforms and not _is_installed("onnx"):
            parsed = _C.onnx_parse(model, "model.onnx")
            return model, (
                tuple(_value_info(*port) for port in parsed.inputs),
                tuple(_value_info(*port) for port in parsed.outputs),
            )
        onnx = importlib.import_module("onnx")
        proto = onnx.load_model_from_string(model)
        _constants_as_nodes(onnx, proto.graph)
        for transform in transforms or ():
            transform(proto)
        return proto.SerializeToString(), (tuple(proto.graph.input), tuple(proto.graph.output))

    def _open(self, model: bytes, graph_module: fx.GraphModule, args: tuple) -> Any:
        if self.runtime == "ingot":
            return _Session(model)
        onnxruntime = importlib.import_module("onnxruntime")
        return onnxruntime.InferenceSession(
            path_or_bytes=model,
            sess_options=self._options.ort_session_options,
            providers=self._select_eps(graph_module, *args),
        )

    def _select_eps(self, graph_module: fx.GraphModule, *args: Any) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Providers with their options: preferred, inferred, default ones; each once."""
        inferred: tuple[str, ...] = ()
        if self._options.infer_execution_providers:
            inferred = _infer_ep_from_device(*args) or _infer_ep_from_graph_module(graph_module)
        default = self._options.default_execution_providers
        chosen: list[tuple[str, Mapping[str, Any]]] = []
        for provider in (
            *(self._options.preferred_execution_providers or ()),
            *_sort_eps(inferred),
            *(_DEFAULT_PROVIDERS if default is None else default),
        ):
            pair = (provider, {}) if isinstance(provider, str) else provider
            if pair is not None and pair not in chosen:
                chosen.append(pair)
        return chosen

    # ---- instances

    @staticmethod
    def get_cached_instance_for_options(options: OrtBackendOptions | Mapping[str, Any] | None = None) -> OrtBackend:
        """The backend for options like these, made if there is none. A backend with ort_session_options is never
        found again."""
        if not isinstance(options, OrtBackendOptions):
            options = OrtBackendOptions(**(options or {}))
        for backend in OrtBackend._instances:
            if _are_equal(backend._options, options):
                return backend
        if len(OrtBackend._instances) >= _MOST_INSTANCES:
            raise AssertionError(
                f"No more than {_MOST_INSTANCES} instances of {OrtBackend} allowed. Please instantiate "
                f"`{OrtBackend}` explicitly to pass to `torch.compile`. "
                "See https://github.com/pytorch/pytorch/pull/107973#discussion_r1306144795 for discussion."
            )
        made = OrtBackend(options)
        OrtBackend._instances.append(made)
        return made

    @staticmethod
    def clear_cached_instances() -> None:
        OrtBackend._instances.clear()

    @staticmethod
    def get_cached_instances() -> tuple[OrtBackend, ...]:
        return tuple(OrtBackend._instances)


def _output_names(graph: Any) -> list[str]:
    """Outputs are called like the nodes; one that is an input, or a second one of the same node, has its number."""
    names: list[str] = []
    for i, node in enumerate(_returned(graph)):
        taken = node.op == "placeholder" or node.name in names
        names.append(f"{node.name}_{i}" if taken else node.name)
    return names


def _constants_as_nodes(onnx: Any, graph: Any) -> None:
    """Transforms find the constants of a graph among its nodes, in front of the first one that reads them."""
    values = {value.name: value for value in graph.initializer}
    outputs = {value.name for value in graph.output}
    nodes: list[Any] = []
    for node in graph.node:
        source = values.get(node.input[0]) if node.op_type == "Identity" else None
        if source is not None and node.output[0] in outputs:
            constant = onnx.TensorProto()
            constant.CopyFrom(source)
            constant.name = node.output[0]
            nodes.append(onnx.helper.make_node("Constant", [], [node.output[0]], value=constant))
            continue
        for name in node.input:
            if name in values:
                nodes.append(onnx.helper.make_node("Constant", [], [name], value=values.pop(name)))
        nodes.append(node)
    if values and any(attribute.HasField("g") for node in graph.node for attribute in node.attribute):
        nodes[:0] = [onnx.helper.make_node("Constant", [], [name], value=value) for name, value in values.items()]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)


def _overload(name: str) -> Any:
    """torch.ops.aten.add.Tensor of "aten.add.Tensor"; None: there is no such operator."""
    found: Any = ingot.ops
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _fields(options: Any) -> tuple:
    """Export options by value; the registry and the fake context are objects with a state of their own."""
    if options is None:
        return ()
    given = options if isinstance(options, Mapping) else {f.name: getattr(options, f.name) for f in _EXPORT_FIELDS}
    diagnostics = given.get("diagnostic_options")
    if dataclasses.is_dataclass(diagnostics):
        diagnostics = dataclasses.asdict(diagnostics)
    return (
        given.get("dynamic_shapes"),
        given.get("op_level_debug"),
        diagnostics,
        id(given.get("onnx_registry")),
        id(given.get("fake_context")),
    )


_EXPORT_FIELDS = dataclasses.fields(ExportOptions)


def _are_equal(a: OrtBackendOptions, b: OrtBackendOptions) -> bool:
    if a.ort_session_options is not None or b.ort_session_options is not None:
        return False
    names = [f.name for f in dataclasses.fields(OrtBackendOptions) if f.name != "export_options"]
    if any(getattr(a, name) != getattr(b, name) for name in names):
        return False
    return (a.export_options is None) == (b.export_options is None) and _fields(a.export_options) == _fields(
        b.export_options
    )


def _specialize(graph_module: fx.GraphModule, args: tuple) -> Any:
    """The graph for arguments of these sizes."""
    from ingot._functorch._trace import capture

    def flat(*given: Any) -> tuple:
        out = graph_module.forward(*given)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    made = capture(flat, [a.detach() if isinstance(a, Tensor) else a for a in args])
    names = [n.name for n in graph_module.graph.nodes if n.op == "placeholder"]
    for node, name in zip([n for n in made.nodes if n.op == "placeholder"], names):
        node.name = name
    return made


def torch_compile_backend(
    graph_module: fx.GraphModule, args: Any, *, options: OrtBackendOptions | Mapping[str, Any] | None = None
) -> Callable:
    """The backend "onnxrt"; equal options share one OrtBackend."""
    return OrtBackend.get_cached_instance_for_options(options)(graph_module, args)


torch_compile_backend.__module__ = "torch.onnx._internal.onnxruntime"
torch_compile_backend.constant_floats = True


def _register() -> None:
    registry = importlib.import_module("ingot._dynamo.backends.registry")
    registry.register_backend(torch_compile_backend, name="onnxrt")


_register()
