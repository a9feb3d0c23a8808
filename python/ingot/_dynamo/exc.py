# SPDX-License-Identifier: Apache-2.0
"""Exceptions of capture."""

import enum
from typing import Any

from ingot._C import ConstraintViolationError

__all__ = [
    "BackendCompilerFailed", "CacheLimitExceeded", "ConstraintViolationError", "FailOnCacheLimitHit",
    "IncorrectUsage", "InternalTorchDynamoError", "InvalidBackend", "RecompileError", "ResetRequired",
    "SkipFrame", "TorchDynamoException", "TorchRuntimeError", "UncapturedHigherOrderOpError", "Unsupported",
    "UserError", "UserErrorType",
]  # fmt: skip

BRANCH = (
    "Dynamic control flow is not supported at the moment. Please use functorch.experimental.control_flow.cond to "
    "explicitly capture the control flow. For more information about this error, see: "
    "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-operands"
)


class TorchDynamoException(RuntimeError):
    pass


class InternalTorchDynamoError(TorchDynamoException):
    pass


class TorchRuntimeError(TorchDynamoException):
    """An operator failed while a program was captured."""


class InvalidBackend(TorchDynamoException):
    def __init__(self, name: Any) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class ResetRequired(TorchDynamoException):
    def __init__(self) -> None:
        super().__init__(
            "Must call `torch._dynamo.reset()` before changing backends.  Detected two calls to `torch.compile()` "
            "with a different backend compiler arguments."
        )


class BackendCompilerFailed(TorchDynamoException):
    """The backend raised while it compiled a graph."""

    def __init__(self, backend_fn: Any, inner_exception: Exception) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class SkipFrame(TorchDynamoException):
    pass


class RecompileError(TorchDynamoException):
    """A call fits no entry, and config.error_on_recompile is set."""


class IncorrectUsage(Exception):
    pass


class Unsupported(TorchDynamoException):
    """The program does something that a graph cannot express."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg)
        self.msg = msg


class CacheLimitExceeded(Unsupported):
    """As many entries as config.cache_size_limit allows, and one graph is wanted."""


class FailOnCacheLimitHit(CacheLimitExceeded):
    pass


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
