# SPDX-License-Identifier: Apache-2.0
"""Checking ONNX models against the standard; the work is done by the engine."""
from __future__ import annotations

import os
from typing import Any

from ingot import _C
from ingot._explain import reworded
from ingot.onnx.errors import CheckerError

__all__ = ["check_model"]


def check_model(model: Any, full_check: bool = False) -> None:
    """CheckerError lists all problems of a model: bytes, a path, or an onnx.ModelProto.

    With full_check, shapes too: incompatible operands, declared sizes that differ from the inferred ones.
    """
    try:
        if isinstance(model, (str, os.PathLike)):
            _C.check_onnx_file(model, full_check)
        else:
            data = model if isinstance(model, (bytes, bytearray)) else model.SerializeToString()
            _C._check_onnx_proto(data, full_check)
    except RuntimeError as error:
        raise reworded(error, CheckerError) from None
