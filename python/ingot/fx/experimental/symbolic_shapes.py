# SPDX-License-Identifier: Apache-2.0
"""The environment of symbolic sizes, and its errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ingot import _C
from ingot._C import ConstraintViolationError, GuardOnDataDependentSymNode

__all__ = ["ConstraintViolationError", "GuardOnDataDependentSymNode", "ShapeEnv"]


class ShapeEnv(_C.ShapeEnv):
    """Symbols of one or several programs, and what is known about them."""

    def __new__(cls, **options: Any) -> ShapeEnv:
        return super().__new__(cls)

    def __init__(self, *, tracked_fakes: list[Any] | None = None, **options: Any) -> None:
        self.tracked_fakes = tracked_fakes
        self.settings = options

    @staticmethod
    def _of(env: Any) -> Any:
        return env

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        yield
