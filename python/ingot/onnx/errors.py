# SPDX-License-Identifier: Apache-2.0
"""What torch.onnx raises."""

from __future__ import annotations

import textwrap
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
    """Operators without an ONNX equivalent: one per line, with the user's source line; or one operator ("aten::foo"),
    the opset, and the first opset that has it."""

    def __init__(self, message: Any = "", onnx_program: Any = None, supported_version: int | None = None) -> None:
        if isinstance(onnx_program, int):
            message = _unsupported_text(message, onnx_program, supported_version)
            onnx_program = None
        super().__init__(message, onnx_program)


_ISSUES = "https://github.com/pytorch/pytorch/issues"


def _unsupported_text(name: str, version: int, supported: int | None) -> str:
    text = f"Exporting the operator '{name}' to ONNX opset version {version} is not supported. "
    if supported is not None:
        return text + (f"Support for this operator was added in version {supported}, try exporting with this version.")
    if name.split("::")[0] in ("aten", "prim", "quantized"):
        return text + (f"Please feel free to request support or submit a pull request on PyTorch GitHub: {_ISSUES}.")
    return (
        f"ONNX export failed on an operator with unrecognized namespace {name}. If you are trying to export a custom "
        "operator, make sure you registered it with the right domain and version."
    )


class InvalidExportOptionsError(OnnxExporterError, ValueError):
    """Options that contradict each other or the program."""


class CheckerError(OnnxExporterError):
    """A model that the standard does not allow."""


class ConversionError(OnnxExporterError):
    """A model that an opset cannot express: one line per node."""


def _listed(values: Any) -> str:
    rows = [f"    #{i}: {value}  (type '{value.type()}')" for i, value in enumerate(values)]
    return "\n".join(rows) or "    Empty"


class SymbolicValueError(OnnxExporterError):
    """A value that a translation function cannot handle: the text says which, and what made it."""

    def __init__(self, message: Any = "", value: Any = None) -> None:
        self.value = value
        if value is not None and hasattr(value, "debugName"):
            node = value.node()
            message = (
                f"{message}  [Caused by the value '{value}' (type '{value.type()}') in the TorchScript graph. "
                f"The containing node has kind '{node.kind()}'.] "
            )
            place = node.sourceRange()
            if place:
                message += f"\n    (node defined in {place})"
            parts = f"Inputs:\n{_listed(node.inputs())}\nOutputs:\n{_listed(node.outputs())}"
            message += "\n\n" + textwrap.indent(parts, "    ")
        super().__init__(message)
