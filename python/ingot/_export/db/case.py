# SPDX-License-Identifier: Apache-2.0
"""A case: a module with example inputs, a description, tags, and whether it can be exported."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ingot import nn

__all__ = ["ExportCase", "SupportLevel", "export_case", "export_rewrite_case", "register_db_case", "to_snake_case"]


class SupportLevel(enum.Enum):
    SUPPORTED = 1
    NOT_SUPPORTED_YET = 0


# Every tag is a path in this tree.
_TAGS: dict[str, dict[str, Any]] = {
    "torch": {
        name: {}
        for name in ("cond", "dynamic-shape", "escape-hatch", "map", "dynamic-value", "operator", "mutation")
    },
    "python": {
        name: {}
        for name in (
            "assert", "builtin", "closure", "context-manager", "control-flow", "data-structure", "standard-library",
            "object-model",
        )
    },
}  # fmt: skip

ArgsType = tuple[Any, ...]


def check_inputs_type(args: Any, kwargs: Any) -> None:
    """ValueError: these are no arguments of a call."""
    if not isinstance(args, tuple):
        raise ValueError(f"Expecting args type to be a tuple, got: {type(args)}")
    if not isinstance(kwargs, dict):
        raise ValueError(f"Expecting kwargs type to be a dict, got: {type(kwargs)}")
    for key in kwargs:
        if not isinstance(key, str):
            raise ValueError(f"Expecting kwargs keys to be a string, got: {type(key)}")


def _validate_tag(tag: str) -> None:
    at = _TAGS
    for part in tag.split("."):
        if not re.fullmatch(r"[a-z-]+", part):
            raise ValueError(f"Tag contains invalid characters: {part}")
        if part not in at:
            raise ValueError(f"Tag {tag} is not found in registered tags.")
        at = at[part]


@dataclasses.dataclass(frozen=True)
class ExportCase:
    """One example."""

    example_args: ArgsType
    description: str
    model: nn.Module
    name: str
    example_kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    extra_args: ArgsType | None = None  # another input, for programs with dynamic sizes
    tags: set[str] = dataclasses.field(default_factory=set)
    support_level: SupportLevel = SupportLevel.SUPPORTED
    dynamic_shapes: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_inputs_type(self.example_args, self.example_kwargs)
        if self.extra_args is not None:
            check_inputs_type(self.extra_args, {})
        for tag in self.tags:
            _validate_tag(tag)
        if not isinstance(self.description, str) or not self.description:
            raise ValueError(f'Invalid description: "{self.description}"')


_EXAMPLE_CASES: dict[str, ExportCase] = {}
_MODULES: set[ModuleType] = set()  # that used export_case
_EXAMPLE_CONFLICT_CASES: dict[str, list[ExportCase]] = {}
_EXAMPLE_REWRITE_CASES: dict[str, list[ExportCase]] = {}


def register_db_case(case: ExportCase) -> None:
    """Adds a case; two of one name are a conflict, which the collection of all examples reports."""
    known = _EXAMPLE_CASES.get(case.name)
    if known is None:
        _EXAMPLE_CASES[case.name] = case
    else:
        _EXAMPLE_CONFLICT_CASES.setdefault(case.name, [known]).append(case)


def to_snake_case(name: str) -> str:
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def _make_export_case(m: Any, name: str, configs: dict[str, Any]) -> ExportCase:
    if "description" not in configs:
        if m.__doc__ is None:
            raise AssertionError(f"Could not find description or docstring for export case: {m}")
        configs = {**configs, "description": m.__doc__}
    return ExportCase(**{**configs, "model": m, "name": name})


def _calling_module(m: Any) -> ModuleType:
    if not isinstance(m, nn.Module):
        raise TypeError("Export case class should be a torch.nn.Module.")
    module = inspect.getmodule(type(m))
    if module is None:
        raise AssertionError(f"{m} belongs to no module")
    return module


def export_case(**kwargs: Any) -> Callable[[nn.Module], ExportCase]:
    """Decorator: registers a module as the case of its file."""

    def register(m: nn.Module) -> ExportCase:
        module = _calling_module(m)
        if module in _MODULES:
            raise RuntimeError("export_case should only be used once per example file.")
        _MODULES.add(module)
        case = _make_export_case(m, module.__name__.split(".")[-1], kwargs)
        register_db_case(case)
        return case

    return register


def export_rewrite_case(**kwargs: Any) -> Callable[[nn.Module], ExportCase]:
    """Decorator: registers a module as another way of writing the case `parent`, one that can be exported."""

    def register(m: nn.Module) -> ExportCase:
        _calling_module(m)
        parent = kwargs.pop("parent")
        if not isinstance(parent, ExportCase):
            raise AssertionError(f"expected an ExportCase as parent, found {type(parent).__name__}")
        case = _make_export_case(m, to_snake_case(type(m).__name__), kwargs)
        _EXAMPLE_REWRITE_CASES.setdefault(parent.name, []).append(case)
        return case

    return register
