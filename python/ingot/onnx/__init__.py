# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: torch.onnx."""

from __future__ import annotations

from ingot.onnx import checker, errors, op, shape_inference, version_converter
from ingot.onnx._enums import OperatorExportTypes, TensorProtoDataType, TrainingMode
from ingot.onnx._exporter import dynamo_export, export
from ingot.onnx._globals import GLOBALS
from ingot.onnx._options import (
    DiagnosticOptions,
    ExportOptions,
    ONNXFakeContext,
    OnnxRegistry,
    ONNXRuntimeOptions,
    enable_fake_mode,
)
from ingot.onnx._program import ONNXProgram
from ingot.onnx.errors import OnnxExporterError

__all__ = [
    "DiagnosticOptions", "ExportOptions", "ONNXFakeContext", "ONNXProgram", "ONNXRuntimeOptions", "OnnxExporterError",
    "OnnxRegistry", "checker", "dynamo_export", "enable_fake_mode", "errors", "export", "is_in_onnx_export", "op",
    "shape_inference", "version_converter",
]  # fmt: skip

producer_name = "ingot"


def is_in_onnx_export() -> bool:
    """Whether a model is being captured for ONNX only (dynamo=False); other captures serve every format."""
    return GLOBALS.in_onnx_export
