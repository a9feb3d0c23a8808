# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: torch.onnx."""

from __future__ import annotations

import importlib
from typing import Any

import ingot
from ingot.onnx import (
    checker,
    errors,
    op,
    operators,
    shape_inference,
    symbolic_helper,
    utils,
    verification,
    version_converter,
)
from ingot.onnx._enums import ExportTypes, OperatorExportTypes, TensorProtoDataType, TrainingMode
from ingot.onnx._exporter import dynamo_export, export
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal.symbolic import SymbolicContext
from ingot.onnx._log import disable_log, enable_log, is_onnx_log_enabled, log, set_log_stream
from ingot.onnx._options import (
    DiagnosticOptions,
    ExportOptions,
    ONNXFakeContext,
    OnnxRegistry,
    ONNXRuntimeOptions,
    enable_fake_mode,
)
from ingot.onnx._program import ONNXProgram
from ingot.onnx._type_utils import JitScalarType
from ingot.onnx.errors import (
    CheckerError,
    InvalidExportOptionsError,
    OnnxExporterError,
    UnsupportedOperatorError,
)
from ingot.onnx.utils import (
    _export,
    _optimize_graph,
    _run_symbolic_function,
    _run_symbolic_method,
    export_to_pretty_string,
    register_custom_op_symbolic,
    select_model_mode_for_export,
    unconvertible_ops,
    unregister_custom_op_symbolic,
)

__all__ = [
    "CheckerError", "DiagnosticOptions", "ExportOptions", "ExportTypes", "InvalidExportOptionsError",
    "JitScalarType", "ONNXFakeContext", "ONNXProgram", "ONNXRuntimeOptions", "OnnxExporterError", "OnnxRegistry",
    "OperatorExportTypes", "SymbolicContext", "TensorProtoDataType", "TrainingMode", "UnsupportedOperatorError",
    "_export", "_optimize_graph", "_run_symbolic_function", "_run_symbolic_method", "checker", "disable_log",
    "dynamo_export", "enable_fake_mode", "enable_log", "errors", "export", "export_to_pretty_string",
    "is_in_onnx_export", "is_onnx_log_enabled", "log", "op", "operators", "register_custom_op_symbolic",
    "select_model_mode_for_export", "set_log_stream", "shape_inference", "symbolic_helper", "unconvertible_ops",
    "unregister_custom_op_symbolic", "utils", "verification", "version_converter",
]  # fmt: skip

producer_name = "ingot"
producer_version = ingot.__version__
_CAFFE2_ATEN_FALLBACK = False

# Names of the backend of torch.compile, which is loaded when it is first used.
_BACKEND = {
    "_OrtBackend": "OrtBackend",
    "_OrtBackendOptions": "OrtBackendOptions",
    "_OrtExecutionProvider": "OrtExecutionProvider",
    "is_onnxrt_backend_supported": "is_onnxrt_backend_supported",
}


def __getattr__(name: str) -> Any:
    if name in _BACKEND:
        return getattr(importlib.import_module("ingot.onnx._internal.onnxruntime"), _BACKEND[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_in_onnx_export() -> bool:
    """Whether a model is being captured for ONNX only (dynamo=False); other captures serve every format."""
    return GLOBALS.in_onnx_export
