# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: torch.onnx."""

from __future__ import annotations

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
from ingot.onnx._enums import OperatorExportTypes, TensorProtoDataType, TrainingMode
from ingot.onnx._exporter import dynamo_export, export
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal.symbolic import SymbolicContext
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
from ingot.onnx.errors import CheckerError, OnnxExporterError, UnsupportedOperatorError
from ingot.onnx.utils import (
    export_to_pretty_string,
    register_custom_op_symbolic,
    select_model_mode_for_export,
    unconvertible_ops,
    unregister_custom_op_symbolic,
)

__all__ = [
    "CheckerError", "DiagnosticOptions", "ExportOptions", "JitScalarType", "ONNXFakeContext", "ONNXProgram",
    "ONNXRuntimeOptions", "OnnxExporterError", "OnnxRegistry", "OperatorExportTypes", "SymbolicContext",
    "TensorProtoDataType", "TrainingMode", "UnsupportedOperatorError", "checker", "dynamo_export",
    "enable_fake_mode", "errors", "export", "export_to_pretty_string", "is_in_onnx_export", "op", "operators",
    "register_custom_op_symbolic", "select_model_mode_for_export", "shape_inference", "symbolic_helper",
    "unconvertible_ops", "unregister_custom_op_symbolic", "utils", "verification", "version_converter",
]  # fmt: skip

producer_name = "ingot"


def is_in_onnx_export() -> bool:
    """Whether a model is being captured for ONNX only (dynamo=False); other captures serve every format."""
    return GLOBALS.in_onnx_export
