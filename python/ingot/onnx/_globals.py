# SPDX-License-Identifier: Apache-2.0
"""What holds while a model is exported: torch.onnx._globals.GLOBALS. Exports in several threads are independent."""

from __future__ import annotations

import threading

from ingot.onnx import _constants
from ingot.onnx._enums import OperatorExportTypes, TrainingMode


class _InternalGlobals(threading.local):
    """The settings of the export that is under way."""

    def __init__(self) -> None:
        self._export_onnx_opset_version = _constants.ONNX_DEFAULT_OPSET
        self._training_mode = TrainingMode.EVAL
        self._in_onnx_export = False
        self.export_training = False
        self.operator_export_type = OperatorExportTypes.ONNX
        self.onnx_shape_inference = True
        self._autograd_inlining = True
        self.log = False
        self.log_stream = "stdout"

    @property
    def training_mode(self) -> TrainingMode:
        return self._training_mode

    @training_mode.setter
    def training_mode(self, training_mode: TrainingMode) -> None:
        if not isinstance(training_mode, TrainingMode):
            raise TypeError(
                "training_mode must be of type 'torch.onnx.TrainingMode'. This is likely a bug in torch.onnx."
            )
        self._training_mode = training_mode

    @property
    def export_onnx_opset_version(self) -> int:
        return self._export_onnx_opset_version

    @export_onnx_opset_version.setter
    def export_onnx_opset_version(self, value: int) -> None:
        if not _constants.ONNX_MIN_OPSET <= value <= _constants.ONNX_MAX_OPSET:
            raise ValueError(f"Unsupported ONNX opset version: {value}")
        self._export_onnx_opset_version = value

    @property
    def in_onnx_export(self) -> bool:
        return self._in_onnx_export

    @in_onnx_export.setter
    def in_onnx_export(self, value: bool) -> None:
        if type(value) is not bool:
            raise TypeError("in_onnx_export must be a boolean")
        self._in_onnx_export = value

    @property
    def autograd_inlining(self) -> bool:
        return self._autograd_inlining

    @autograd_inlining.setter
    def autograd_inlining(self, value: bool) -> None:
        if type(value) is not bool:
            raise TypeError("autograd_inlining must be a boolean")
        self._autograd_inlining = value


GLOBALS = _InternalGlobals()
