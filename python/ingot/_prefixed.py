# SPDX-License-Identifier: Apache-2.0
"""Namespaces of operators: `linalg.name` is the operator aten::linalg_name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import _C


def members(module: str, names: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the module `ingot.<module>` whose globals are `names`."""
    prefix = module + "_"

    def find(name: str) -> Any:
        if not name.startswith("__"):
            try:
                found = names[name] = _C.op(prefix + name)
                return found
            except AttributeError:
                pass
        raise AttributeError(f"module 'ingot.{module}' has no attribute {name!r}")

    def listing() -> list[str]:
        operators = (name.removeprefix(prefix) for name in _C._op_names() if name.startswith(prefix))
        own = (name for name in names if name not in ("members", "find", "listing"))
        return sorted({*operators, *own})

    return find, listing
