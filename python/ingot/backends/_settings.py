# SPDX-License-Identifier: Apache-2.0
"""Modules that are records of settings: names can be assigned and are checked, and a block can change them."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Settings(types.ModuleType):
    """A module whose settings are the names of its table `defaults`. Assigning another kind of value is refused.

    Settings of libraries that Ingot does not use are kept for programs that set and read them.
    """

    def __init__(self, name: str, defaults: dict[str, Any], names: dict[str, Any]) -> None:
        super().__init__(name, names.get("__doc__"))
        self.__dict__.update((k, v) for k, v in names.items() if k.startswith("__") or not k.startswith("_"))
        self.__dict__["__live__"] = True
        self.__dict__["_kinds"] = {k: type(v) for k, v in defaults.items()}
        self.__dict__.update(defaults)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._kinds.get(name)
        if kind is bool and not isinstance(value, bool):
            raise RuntimeError(f"set {self.__name__}.{name} expects a bool, but got {type(value).__name__}")
        if kind is str and not isinstance(value, str):
            raise RuntimeError(f"set {self.__name__}.{name} expects a string, but got {type(value).__name__}")
        super().__setattr__(name, value)

    @contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """Settings for the length of a block."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                if value is not None:
                    setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def set_flags(self, **settings: Any) -> dict[str, Any]:
        """Change settings; the old ones are returned."""
        before = {name: getattr(self, name) for name in settings}
        for name, value in settings.items():
            if value is not None:
                setattr(self, name, value)
        return before


def install(name: str, defaults: dict[str, Any], names: dict[str, Any]) -> None:
    """Put a record of settings in the place of the module that is being imported."""
    sys.modules[name] = Settings(name, defaults, names)
