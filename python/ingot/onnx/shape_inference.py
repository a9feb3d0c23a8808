# SPDX-License-Identifier: Apache-2.0
"""Shapes of the values of an ONNX model; the work is done by the engine."""
from __future__ import annotations

import os
from typing import Any

from ingot import _C

__all__ = ["infer_shapes"]


def infer_shapes(model: Any) -> Any:
    """The model with the inferred types of its values: bytes for bytes and paths, an onnx.ModelProto for one.

    Sizes are numbers, or expressions of the inputs' dim_params that hold for all values. What is not known stays
    unknown; no well-formed model is rejected.
    """
    if isinstance(model, (str, os.PathLike)):
        with open(model, "rb") as f:
            return _C.infer_onnx(f.read())
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _C.infer_onnx(model)
    out = type(model)()
    out.ParseFromString(_C.infer_onnx(model.SerializeToString()))
    return out
