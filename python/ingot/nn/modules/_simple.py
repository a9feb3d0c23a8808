# SPDX-License-Identifier: Apache-2.0
"""Layers that call a function of nn.functional with constant arguments. The signature of the constructor is one line of
text; its arguments become attributes, which forward passes on by name."""

from __future__ import annotations

import inspect
from typing import Any

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules.module import Module


class SimpleModule(Module):
    """A subclass declares its `arguments` (as in a def statement, parsed once per class), which of them its repr
    `shows`, and its `function`, by default that of nn.functional; `modal` functions also get the training flag."""

    arguments = ""
    shows = ""
    function = ""
    home: Any = F
    modal = False

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
        self._passed = list(bound.arguments)
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def _call(self, *inputs: Any) -> Any:
        options = {name: getattr(self, name) for name in self._passed}
        if self.modal:
            options["training"] = self.training
        return getattr(self.home, self.function)(*inputs, **options)

    def forward(self, input: Tensor) -> Any:
        return self._call(input)

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self.shows.split()]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)


SimpleModule.__signature__ = inspect.signature(lambda: None)
