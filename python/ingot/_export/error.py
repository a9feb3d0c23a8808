# SPDX-License-Identifier: Apache-2.0
"""Errors of exports that have a kind."""
from enum import Enum

__all__ = ["ExportError", "ExportErrorType", "InternalError", "internal_assert"]


class ExportErrorType(Enum):
    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


class ExportError(Exception):
    """An error of the user's program."""

    def __init__(self, error_code: ExportErrorType, message: str) -> None:
        super().__init__(f"[{error_code}]: {message}")


class InternalError(Exception):
    """An error of the exporter."""


def internal_assert(pred: bool, assert_msg: str) -> None:
    if not pred:
        raise InternalError(assert_msg)
