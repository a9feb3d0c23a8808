# SPDX-License-Identifier: Apache-2.0
"""What Python registered for operators, by name. The engine keeps the implementations that it calls; here are the facts
that later registrations are checked against."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

__all__ = ["Entry", "singleton"]


@dataclasses.dataclass
class Entry:
    kernels: set[str] = dataclasses.field(default_factory=set)  # dispatch keys, in lower case
    fake_place: str | None = None  # where the fake kernel was registered
    vmap: Callable | None = None


class Registry:
    """Entries of the operators that exist."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def find(self, overload: Any) -> Entry:
        return self._entries.setdefault(overload.name(), Entry())

    def forget(self, overload: Any) -> None:
        self._entries.pop(overload.name(), None)


singleton = Registry()  # operators are the process's, as in PyTorch
