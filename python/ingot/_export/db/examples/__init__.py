# SPDX-License-Identifier: Apache-2.0
"""All examples, one per file; the name of a file is the name of its case."""

from __future__ import annotations

import importlib
import pkgutil

from ingot._export.db.case import (
    _EXAMPLE_CASES,
    _EXAMPLE_CONFLICT_CASES,
    _EXAMPLE_REWRITE_CASES,
    ExportCase,
    SupportLevel,
    _make_export_case,
    register_db_case,
)

__all__ = ["all_examples", "filter_examples_by_support_level", "get_rewrite_cases"]

_FIELDS = ("example_args", "example_kwargs", "extra_args", "tags", "support_level", "dynamic_shapes")


def _collect() -> None:
    """Imports the files of this package; each has a `model` and the fields of its case beside it."""
    for _, name, _ in pkgutil.iter_modules(__path__):
        if name in _EXAMPLE_CASES:
            continue
        module = importlib.import_module(f"{__name__}.{name}")
        configs = {field: getattr(module, field) for field in _FIELDS if hasattr(module, field)}
        register_db_case(_make_export_case(module.model, name, configs))


def all_examples() -> dict[str, ExportCase]:
    _collect()
    if _EXAMPLE_CONFLICT_CASES:
        lines = ["Error on conflict export case name."]
        for name, cases in _EXAMPLE_CONFLICT_CASES.items():
            models = ",".join(type(case.model).__name__ for case in cases)
            lines += [f"Case name {name} is associated with multiple cases:", f"  [{models}]"]
        raise RuntimeError("\n".join(lines) + "\n")
    return _EXAMPLE_CASES


def filter_examples_by_support_level(support_level: SupportLevel) -> dict[str, ExportCase]:
    return {name: case for name, case in all_examples().items() if case.support_level is support_level}


def get_rewrite_cases(case: ExportCase) -> list[ExportCase]:
    return _EXAMPLE_REWRITE_CASES.get(case.name, [])
