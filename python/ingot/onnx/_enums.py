# SPDX-License-Identifier: Apache-2.0
"""The enumerations of the TorchScript exporter: torch._C._onnx."""

from __future__ import annotations

import enum

__all__ = ["ExportTypes", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode"]

PRODUCER_VERSION = "2.5.1"


class _Plain(enum.Enum):
    """Printed like the enumerations of an extension module."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __int__(self) -> int:
        return self.value


class OperatorExportTypes(_Plain):
    """What becomes of an operator: ONNX or an error, always ATen, ATen where there is no translation, or itself."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(_Plain):
    """In which mode the model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(_Plain):
    """Element types of ONNX."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20


class ExportTypes:
    """Forms in which a model is stored."""

    PROTOBUF_FILE = "Protobuf file"
    ZIP_ARCHIVE = "ZIP archive"
    COMPRESSED_ZIP_ARCHIVE = "Compressed ZIP archive"
    DIRECTORY = "Directory"
