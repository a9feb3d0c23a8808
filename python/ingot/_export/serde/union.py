# SPDX-License-Identifier: Apache-2.0
"""Values of the export schema that are one of several things."""
from __future__ import annotations

import dataclasses
from typing import Any

__all__: list[str] = []


class _Union:
    """One field of several is set: `type` is its name, `value` what it is."""

    @classmethod
    def create(cls, **kwargs: Any) -> Any:
        if len(kwargs) != 1:
            raise AssertionError
        fields = {f.name: None for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        made = cls(**{**fields, **kwargs})
        object.__setattr__(made, "_type", next(iter(kwargs)))
        return made

    def __post_init__(self) -> None:
        if any(f.name in ("type", "_type", "create", "value") for f in dataclasses.fields(self)):  # type: ignore[arg-type]
            raise AssertionError

    @property
    def type(self) -> str:
        return object.__getattribute__(self, "_type")

    @property
    def value(self) -> Any:
        return object.__getattribute__(self, self.type)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if found is None and name in type(self).__dataclass_fields__:  # type: ignore[attr-defined]
            raise AttributeError(f"Field {name} is not set.")
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (self.type, self.value) == (other.type, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.type}={self.value})"

    __repr__ = __str__
