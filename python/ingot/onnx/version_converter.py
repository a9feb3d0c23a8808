# SPDX-License-Identifier: Apache-2.0
"""Conversion of ONNX models between opsets, node by node; the work is done by the engine."""
from __future__ import annotations

import os
from typing import Any

from ingot import _C
from ingot._explain import reworded
from ingot.onnx.errors import ConversionError

__all__ = ["convert_file", "convert_version"]


def convert_version(model: Any, target_version: int) -> Any:
    """The model at an opset of the default domain, 7 to the newest: bytes for bytes, an onnx.ModelProto for one.

    ConversionError lists every node that the opset cannot express.
    """
    plain = isinstance(model, (bytes, bytearray, memoryview))
    try:
        data = _C.convert_onnx(model if plain else model.SerializeToString(), target_version)
    except RuntimeError as error:
        raise reworded(error, ConversionError) from None
    if plain:
        return data
    out = type(model)()
    out.ParseFromString(data)
    return out


def convert_file(path: str | os.PathLike[str], to: str | os.PathLike[str], target_version: int) -> None:
    """The same from file to file, external data included."""
    try:
        _C.convert_onnx_file(path, to, target_version)
    except RuntimeError as error:
        raise reworded(error, ConversionError) from None
