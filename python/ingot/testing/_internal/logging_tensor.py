# SPDX-License-Identifier: Apache-2.0
"""Tensors and modes that log the operators they see, for tests of __torch_dispatch__."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterator
from typing import Any

from ingot import _C
from ingot._C import Tensor
from ingot.utils._python_dispatch import TorchDispatchMode
from ingot.utils._pytree import tree_map
from ingot.utils.weak import WeakTensorKeyDictionary

__all__ = [
    "LoggingTensor", "LoggingTensorMode", "LoggingTensorReentrant", "capture_logs",
    "capture_logs_with_logging_tensor_mode", "log_input",
]  # fmt: skip

_dtype_abbrs = {
    _C.bfloat16: "bf16", _C.float64: "f64", _C.float32: "f32", _C.float16: "f16", _C.complex64: "c64",
    _C.complex128: "c128", _C.int8: "i8", _C.int16: "i16", _C.int32: "i32", _C.int64: "i64", _C.bool: "b8",
    _C.uint8: "u8",
}  # fmt: skip
_NAME = "LoggingTensor"


def _unwrap(value: Any) -> Any:
    return value.elem if isinstance(value, LoggingTensor) else value


class LoggingTensor(Tensor):
    """A wrapper of a tensor: calls are made with the tensor inside, and logged."""

    elem: Tensor

    @staticmethod
    def __new__(cls, elem: Tensor, *args: Any, **kwargs: Any) -> LoggingTensor:
        made = Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=elem.device,
            requires_grad=kwargs.get("requires_grad", False),
        )
        made.elem = elem.detach() if made.requires_grad else elem
        return made

    context = contextlib.nullcontext

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{_NAME}({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        with cls.context():
            result = func(*tree_map(_unwrap, args), **tree_map(_unwrap, kwargs))
        wrapped = tree_map(lambda v: cls(v) if isinstance(v, Tensor) else v, result)
        logging.getLogger(_NAME).info(f"{func.__module__}.{func.__name__}", args, kwargs, wrapped)  # noqa: G004
        return wrapped


class LoggingTensorMode(TorchDispatchMode):
    """Logs every operator that is called inside."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        logging.getLogger(_NAME).info(f"{func.__module__}.{func.__name__}", args, kwargs or {}, result)  # noqa: G004
        return result


class LoggingTensorReentrant(LoggingTensor):
    """The same; wrappers inside the tensor inside answer, too."""


class LoggingTensorHandler(logging.Handler):
    """Puts the calls into a list: $2: f32[3] = torch._ops.aten.add.Tensor($0, $1)"""

    def __init__(self, log_list: list[str], use_shortid_for_all_tensors: bool = False, with_type: bool = False) -> None:
        super().__init__()
        self.log_list = log_list
        self.use_shortid_for_all_tensors = use_shortid_for_all_tensors
        self.with_type = with_type
        self._numbers = WeakTensorKeyDictionary()
        self._next = itertools.count()

    def _text(self, value: Any) -> str:
        named = Tensor if self.use_shortid_for_all_tensors else LoggingTensor
        if not isinstance(value, named):
            return repr(value)
        if value not in self._numbers:
            self._numbers[value] = next(self._next)
        kind = f": {_dtype_abbrs[value.dtype]}[{', '.join(map(str, value.shape))}]" if self.with_type else ""
        return f"${self._numbers[value]}{kind}"

    def emit(self, record: logging.LogRecord) -> None:
        args, kwargs, result = record.args  # type: ignore[misc]
        listed = ", ".join(itertools.chain(map(self._texts, args), (f"{k}={self._text(v)}" for k, v in kwargs.items())))
        made = tree_map(self._text, result)
        shown = ", ".join(made) if isinstance(made, (tuple, list)) else str(made)
        self.log_list.append(f"{shown} = {record.msg}({listed})")

    def _texts(self, value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(self._texts, value))}]"
        return self._text(value)


def log_input(name: str, var: Tensor) -> None:
    """Logs a tensor as an input of what follows."""
    logging.getLogger(_NAME).info("input", (name,), {}, var)


@contextlib.contextmanager
def capture_logs(is_mode: bool = False, python_tb: bool = False, script_tb: bool = False,
                 cpp_tb: bool = False) -> Iterator[Any]:  # fmt: skip
    """The list to which calls are logged inside."""
    logger = logging.getLogger(_NAME)
    lines: list[str] = []
    handler = LoggingTensorHandler(lines, use_shortid_for_all_tensors=is_mode)
    before = (logger.level, logger.propagate)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


@contextlib.contextmanager
def capture_logs_with_logging_tensor_mode(**options: Any) -> Iterator[Any]:
    """capture_logs around a LoggingTensorMode."""
    with LoggingTensorMode(), capture_logs(True, **options) as lines:
        yield lines
