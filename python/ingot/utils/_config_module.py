# SPDX-License-Identifier: Apache-2.0
"""Modules of settings: plain names with values, and `patch` for a change that ends."""
from __future__ import annotations

import contextlib
import types
from typing import Any

__all__ = ["ConfigModule", "ContextDecorator", "install_config_module"]


class ContextDecorator(contextlib.ContextDecorator):
    """A change of settings: for a with statement, for a function, or for the tests of a class."""

    def __init__(self, module: ConfigModule, changes: dict[str, Any]) -> None:
        self._module, self._changes = module, changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append({name: getattr(self._module, name) for name in self._changes})
        for name, value in self._changes.items():
            setattr(self._module, name, value)

    def __exit__(self, *unused: Any) -> None:
        for name, value in self._before.pop().items():
            setattr(self._module, name, value)


class ConfigModule(types.ModuleType):
    """A module whose names are settings: others cannot be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in self.__dict__:
            raise AttributeError(f"{self.__name__.replace('ingot', 'torch', 1)}.{name} does not exist")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__name__.replace('ingot', 'torch', 1)}.{name} does not exist")

    def to_dict(self) -> dict[str, Any]:
        plain = (bool, int, float, str, list, tuple, dict, set, type(None))
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_") and isinstance(v, plain)}

    shallow_copy_dict = get_config_copy = to_dict

    def load_config(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(self, name, value)

    def patch(self, arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> ContextDecorator:
        """patch("name", value), patch({"name": value}) or patch(name=value)."""
        changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {})
        return ContextDecorator(self, changes | kwargs)


def install_config_module(module: types.ModuleType) -> None:
    """Makes a module of settings of one that has been executed."""
    module.__class__ = ConfigModule
