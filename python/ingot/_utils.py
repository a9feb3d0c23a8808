# SPDX-License-Identifier: Apache-2.0
"""torch._utils: what programs use of it."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

from ingot.compiler import is_compiling

__all__ = ["ExceptionWrapper", "KeyErrorMessage", "is_compiling"]


class KeyErrorMessage(str):
    """A text that KeyError shows as it is, and not quoted."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception and its traceback as text, so that another thread or process can raise it."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info = exc_info or sys.exc_info()
        self.exc_type = info[0]
        self.exc_msg = "".join(traceback.format_exception(*info))
        self.where = where

    def reraise(self) -> NoReturn:
        text: Any = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except TypeError:  # it takes other arguments than a text
            raise RuntimeError(text) from None
        raise error
