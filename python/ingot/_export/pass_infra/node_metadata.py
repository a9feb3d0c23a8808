# SPDX-License-Identifier: Apache-2.0
"""Metadata that an interpreter pass copies from an old node to the new ones."""
from __future__ import annotations

from typing import Any

__all__ = ["NodeMetadata"]

_PROTECTED = frozenset({"val", "stack_trace", "nn_module_stack", "debug_handle", "tensor_meta"})


class NodeMetadata:
    """A copy of a node's metadata; what describes the value and its origin cannot be overwritten here."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = dict(data)

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key in _PROTECTED:
            raise RuntimeError(f"Could not override node key: {key}")
        self.data[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def copy(self) -> NodeMetadata:
        return NodeMetadata(self.data)
