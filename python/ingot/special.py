# SPDX-License-Identifier: Apache-2.0
"""The operators of special functions: `special.name` is the operator aten::special_name."""

from typing import Any

from ingot import _C


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            found = globals()[name] = _C.op("special_" + name)
            return found
        except AttributeError:
            pass
    raise AttributeError(f"module 'ingot.special' has no attribute {name!r}")
