# SPDX-License-Identifier: Apache-2.0
"""Layers that are a functional form with constants: the constructor's arguments are one line of text and become
attributes."""

from __future__ import annotations

import inspect
from typing import Any

from ingot.nn.modules.module import Module


class SimpleModule(Module):
    """A subclass says `arguments` (as in a def, parsed once per class) and which of them its repr `shows`."""

    arguments = ""
    shows = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "arguments" in cls.__dict__:
            cls.__signature__ = inspect.signature(eval(f"lambda {cls.arguments}: None"))  # our own text, not input

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            bound = type(self).__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__(): {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self.shows.split()]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)


SimpleModule.__signature__ = inspect.signature(lambda: None)
