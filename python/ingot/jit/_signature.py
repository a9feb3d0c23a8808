# SPDX-License-Identifier: Apache-2.0
"""Signatures of script functions: as Python's own, and as schemas."""

from __future__ import annotations

import inspect
from typing import Any

Row = tuple[str, bool, bool, Any, Any]  # name, keyword only, has a default, default, type


def signature_of(parameters: list[Row]) -> inspect.Signature:
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds(
                name,
                kinds.KEYWORD_ONLY if keyword_only else kinds.POSITIONAL_OR_KEYWORD,
                default=default if has_default else kinds.empty,
            )
            for name, keyword_only, has_default, default, _ in parameters
        ]
    )


class Argument:
    """A parameter of a schema, or its result, which has no name."""

    def __init__(self, name: str, kind: Any, keyword_only: bool, has_default: bool, default: Any) -> None:
        self.name = name
        self.type = self.real_type = kind
        self.kwarg_only = keyword_only
        self.default_value = default
        self.N: int | None = None
        self.is_out = False
        self.alias_info = None
        self._has_default = has_default

    def has_default_value(self) -> bool:
        return self._has_default


class FunctionSchema:
    """Name, parameters and result of a script function. Its text is `f(Tensor x, int n=3) -> Tensor`."""

    overload_name = ""
    is_mutable = False

    def __init__(self, text: str, name: str, parameters: list[Row], result: Any) -> None:
        self._text = text
        self.name = name
        self.arguments = [
            Argument(one, kind, keyword_only, has, default) for one, keyword_only, has, default, kind in parameters
        ]
        self.returns = [] if result is None else [Argument("", result, False, False, None)]

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class ConstantMap:
    """The constants of a printed function by the names that its text has for them."""

    def __init__(self, const_mapping: dict[str, Any]) -> None:
        self.const_mapping = const_mapping

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["const_mapping"][name]
        except KeyError:
            raise AttributeError(name) from None


def code_with_constants(text: str, constants: dict[str, Any]) -> tuple[str, ConstantMap]:
    return text, ConstantMap(constants)
