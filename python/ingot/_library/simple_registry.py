# SPDX-License-Identifier: Apache-2.0
"""What Python registered for operators, by name. The engine keeps the implementations that it calls; here are the facts
that later registrations are checked against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._library.fake_impl import FakeImplHolder

__all__ = ["SimpleLibraryRegistry", "SimpleOperatorEntry", "singleton"]


class SimpleOperatorEntry:
    """One operator: the dispatch keys with kernels, in lower case; the fake implementation; the rule for vmap."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.kernels: set[str] = set()
        self.fake_impl = FakeImplHolder(qualname)
        self.vmap: Callable | None = None


class SimpleLibraryRegistry:
    """Entries of the operators that exist."""

    def __init__(self) -> None:
        self._data: dict[str, SimpleOperatorEntry] = {}

    def find(self, op: Any) -> SimpleOperatorEntry:
        """The entry of an operator, or of its name; one without registrations is empty."""
        name = op if isinstance(op, str) else op.name()
        return self._data.setdefault(name, SimpleOperatorEntry(name))

    def forget(self, overload: Any) -> None:
        self._data.pop(overload.name(), None)


singleton = SimpleLibraryRegistry()  # operators are the process's, as in PyTorch
