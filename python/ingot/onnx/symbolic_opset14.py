# SPDX-License-Identifier: Apache-2.0
"""The translations of opset 14 for symbolics that call them."""

from __future__ import annotations

from ingot.onnx._internal.translations import members

__getattr__, __dir__ = members(14)
