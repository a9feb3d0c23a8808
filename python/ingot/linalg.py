# SPDX-License-Identifier: Apache-2.0
"""The operators of linear algebra: `linalg.name` is the operator aten::linalg_name."""

from typing import Any

from ingot import _C

LinAlgError = RuntimeError  # what is raised for a matrix that has no such decomposition or inverse


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            found = globals()[name] = _C.op("linalg_" + name)
            return found
        except AttributeError:
            pass
    raise AttributeError(f"module 'ingot.linalg' has no attribute {name!r}")
