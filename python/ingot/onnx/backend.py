# SPDX-License-Identifier: Apache-2.0
"""Ingot as a backend of the onnx package: `onnx.backend.base.Backend` over the engine's own reader.

    import ingot.onnx.backend as backend
    outputs = backend.run_model(onnx.load("model.onnx"), [array])

Models are interpreted operator by operator. Arrays of types that NumPy lacks are those of the onnx package
(`ml_dtypes` in new versions, float32 in old ones).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

import ingot

_STRING = TensorProto.STRING
# Element types that the engine represents by another dtype.
_CARRIED = {
    "UINT4": np.uint8,
    "UINT2": np.uint8,
    "INT4": np.int8,
    "INT2": np.int8,
    "FLOAT8E4M3FNUZ": np.float32,
    "FLOAT8E5M2FNUZ": np.float32,
    "FLOAT8E8M0": np.float32,
    "FLOAT4E2M1": np.float32,
}
_CARRIER = {getattr(TensorProto, name): kind for name, kind in _CARRIED.items() if hasattr(TensorProto, name)}
# Those that it has and NumPy lacks.
_NATIVE = {
    TensorProto.BFLOAT16: (ingot.bfloat16, np.uint16),
    TensorProto.FLOAT8E4M3FN: (ingot.float8_e4m3fn, np.uint8),
    TensorProto.FLOAT8E5M2: (ingot.float8_e5m2, np.uint8),
}


def _array_type(elem: int) -> np.dtype:
    """The dtype in which the installed onnx package returns arrays of an element type."""
    empty = TensorProto(dims=[0], data_type=elem, raw_data=b"")
    return numpy_helper.to_array(empty).dtype


def _strings(array: np.ndarray) -> tuple[int, tuple[int, ...], list[bytes]]:
    texts = array.reshape(-1).tolist()
    flat = [s if isinstance(s, bytes) else str(s).encode("utf-8", "surrogateescape") for s in texts]
    return (_STRING, tuple(array.shape), flat)


def _to_value(array: Any, elem: int) -> Any:
    """A NumPy array (list of arrays, None) as a value of the engine; elem 0: by the array's own dtype."""
    if array is None:
        return None
    if elem == _STRING and isinstance(array, (str, bytes, list, tuple)):
        return list(array) if isinstance(array, tuple) else array
    if isinstance(array, (list, tuple)):
        return [_to_value(a, elem) for a in array]
    array = np.asarray(array)
    if elem == _STRING or array.dtype.kind in "OUS":
        return _strings(array)
    if not elem:
        elem = helper.np_dtype_to_tensor_dtype(array.dtype)
    array = np.ascontiguousarray(array).reshape(array.shape)
    if elem in _CARRIER:
        if array.dtype.names and _CARRIER[elem] is np.float32:  # old versions of onnx: arrays of codes
            return (elem, ingot._C.onnx_decode(elem, ingot.from_numpy(array.view(np.uint8).copy())))
        return (elem, ingot.from_numpy(array.astype(_CARRIER[elem])))
    if elem in _NATIVE:
        dtype, bits = _NATIVE[elem]
        if array.dtype.itemsize == np.dtype(bits).itemsize:
            return ingot.from_numpy(array.view(bits)).view(dtype)
        return ingot.from_numpy(array.astype(np.float32)).to(dtype)
    if not array.flags.writeable:
        array = array.copy()
    return ingot.as_tensor(array)


def _to_array(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_to_array(v) for v in value]
    if isinstance(value, dict):
        keys_and_values = [_to_array(v) for v in value["map"]]
        return dict(zip(keys_and_values[::2], keys_and_values[1::2], strict=True))
    if isinstance(value, tuple):
        if len(value) == 3:
            texts = [s.decode("utf-8", "surrogateescape") for s in value[2]]
            return np.array(texts, dtype=object).reshape(value[1])
        wanted = _array_type(value[0])
        if wanted.names and value[1].dtype == ingot.float32:
            return ingot._C.onnx_encode(value[0], value[1].contiguous()).numpy().view(wanted)
        return value[1].numpy().astype(wanted)
    for elem, (dtype, bits) in _NATIVE.items():
        if value.dtype == dtype:
            wanted = _array_type(elem)
            if wanted.itemsize == np.dtype(bits).itemsize:
                return value.contiguous().view(getattr(ingot, np.dtype(bits).name)).numpy().view(wanted)
            return value.to(ingot.float32).numpy().astype(wanted)
    return value.numpy()


class IngotRep(BackendRep):
    """A prepared model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Arrays in the order of the inputs (or by name) to a named tuple of arrays."""
        ports = self._model.inputs
        if isinstance(inputs, dict):
            inputs = [inputs[name] for name, _, _ in ports]
        elif isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if len(inputs) > len(ports):
            raise ValueError(f"found {len(inputs)} inputs, expected {len(ports)}")
        values = [_to_value(a, elem) for a, (_, elem, _) in zip(inputs, ports, strict=False)]
        outputs = [_to_array(v) for v in self._model.run(values)]
        return namedtupledict("Outputs", [name for name, _, _ in self._model.outputs])(*outputs)


class IngotBackend(Backend):
    """`onnx.backend.base.Backend`: prepare, run_model, run_node, supports_device."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> IngotRep:
        if not cls.supports_device(device):
            raise ValueError(f"device {device!r} is not supported, only CPU is")
        return IngotRep(ingot._C.onnx_parse(model.SerializeToString(), model.graph.name or "model"))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """One node; `opset` (of the default domain, the newest unless given) is a keyword."""
        arrays = list(inputs)
        infos = []
        names = [n for n in node.input if n]
        for name, array in zip(names, arrays, strict=True):
            elem = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
            infos.append(helper.make_tensor_value_info(name, elem, np.shape(array)))
        outs = [helper.make_empty_tensor_value_info(n) for n in node.output if n]
        graph = helper.make_graph([node], "node", infos, outs)
        opset = kwargs.get("opset", onnx.defs.onnx_opset_version())
        imports = [helper.make_opsetid("", opset)]
        if node.domain:
            imports.append(helper.make_opsetid(node.domain, 1))
        return cls.run_model(helper.make_model(graph, opset_imports=imports), arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return Device(device).type == DeviceType.CPU


is_compatible = IngotBackend.is_compatible
prepare = IngotBackend.prepare
run = IngotBackend.run_model
run_model = IngotBackend.run_model
run_node = IngotBackend.run_node
supports_device = IngotBackend.supports_device
