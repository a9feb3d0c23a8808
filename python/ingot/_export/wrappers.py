# SPDX-License-Identifier: Apache-2.0
"""Marks on modules for capture."""

from __future__ import annotations

from typing import Any

from ingot._higher_order_ops.strict_mode import strict_mode

__all__: list[str] = []


def _mark_strict_experimental(cls: type) -> type:
    """Calls of the module are regions of strict_mode."""
    plain = cls.__call__

    def call(self: Any, *args: Any) -> Any:
        return strict_mode(lambda *inner: plain(self, *inner), args)

    cls.__call__ = call
    return cls
