# SPDX-License-Identifier: Apache-2.0
"""Exceptions of capture."""
import enum

__all__ = [
    "InternalTorchDynamoError", "TorchDynamoException", "TorchRuntimeError", "UncapturedHigherOrderOpError",
    "Unsupported", "UserError", "UserErrorType",
]  # fmt: skip


class TorchDynamoException(RuntimeError):
    pass


class InternalTorchDynamoError(TorchDynamoException):
    pass


class TorchRuntimeError(TorchDynamoException):
    """An operator failed while a program was captured."""


class Unsupported(TorchDynamoException):
    """The program does something that a graph cannot express."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg)
        self.msg = msg


class UncapturedHigherOrderOpError(Unsupported):
    pass


class UserErrorType(enum.Enum):
    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()


class UserError(Unsupported):
    """The program, its inputs or its dynamic_shapes are wrong; the message says how to fix them."""

    def __init__(self, error_type: UserErrorType, msg: str = "", case_name: str | None = None) -> None:
        if isinstance(error_type, str):  # raised by the engine: only a message
            error_type, msg = UserErrorType.CONSTRAINT_VIOLATION, error_type
        if case_name is not None:
            sep = " " if msg.endswith(".") else "\n"
            where = f"https://pytorch.org/docs/main/generated/exportdb/index.html#{case_name.replace('_', '-')}"
            msg += f"{sep}For more information about this error, see: {where}"
        super().__init__(msg)
        self.error_type = error_type
        self.message = msg
