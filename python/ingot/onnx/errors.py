# SPDX-License-Identifier: Apache-2.0
"""What torch.onnx raises."""
from __future__ import annotations

from typing import Any

__all__ = [
    "CheckerError",
    "ConversionError",
    "InvalidExportOptionsError",
    "OnnxExporterError",
    "OnnxExporterWarning",
    "SymbolicValueError",
    "UnsupportedOperatorError",
]


class OnnxExporterWarning(UserWarning):
    """Something about an export that the user should know."""


class OnnxExporterError(RuntimeError):
    """An export that failed. `onnx_program` is what there is of it, or None."""

    def __init__(self, message: Any = "", onnx_program: Any = None) -> None:
        self.onnx_program = onnx_program
        super().__init__(message)


class UnsupportedOperatorError(OnnxExporterError):
    """Operators without an ONNX equivalent: one per line, with the user's source line."""


class InvalidExportOptionsError(OnnxExporterError, ValueError):
    """Options that contradict each other or the program."""


class CheckerError(OnnxExporterError):
    """A model that the standard does not allow."""


class ConversionError(OnnxExporterError):
    """A model that an opset cannot express: one line per node."""


class SymbolicValueError(OnnxExporterError):
    """A value that a translation function cannot handle."""
