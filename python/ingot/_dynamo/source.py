# SPDX-License-Identifier: Apache-2.0
"""Where a value of a program comes from, as text."""

from __future__ import annotations

import dataclasses

__all__ = ["AttrSource", "ConstantSource", "LocalSource", "Source"]


@dataclasses.dataclass(frozen=True)
class Source:
    """The base class: a source has a name, which is an expression of Python."""

    def name(self) -> str:
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class ConstantSource(Source):
    """A value with a name of its own."""

    source_name: str

    def name(self) -> str:
        return self.source_name


@dataclasses.dataclass(frozen=True)
class LocalSource(Source):
    """A local variable of the function that is traced."""

    local_name: str

    def name(self) -> str:
        return f"L[{self.local_name!r}]"


@dataclasses.dataclass(frozen=True)
class AttrSource(Source):
    """An attribute of another value."""

    base: Source
    member: str

    def name(self) -> str:
        return f"{self.base.name()}.{self.member}"
