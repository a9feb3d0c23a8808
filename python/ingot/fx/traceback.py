# SPDX-License-Identifier: Apache-2.0
"""What an interpreted node hands on to the nodes recorded on its behalf."""
import contextlib
import traceback
from collections.abc import Iterator
from typing import Any

__all__ = [
    "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta", "set_current_meta",
    "set_stack_trace",
]  # fmt: skip

_current: dict[str, Any] = {}
_preserving = False


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    global _preserving, _current
    before = _preserving, _current
    _preserving, _current = enable or _preserving, dict(_current)
    try:
        yield
    finally:
        _preserving, _current = before


def has_preserved_node_meta() -> bool:
    return _preserving


def set_stack_trace(stack: list[str]) -> None:
    if _preserving and stack:
        _current["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def set_current_meta(node: Any) -> Iterator[None]:
    """While it lasts, nodes recorded carry the metadata of `node` (if it is preserved at all)."""
    global _current
    before = _current
    if _preserving and node.meta:
        _current = dict(node.meta)
    try:
        yield
    finally:
        _current = before


def get_current_meta() -> dict[str, Any]:
    return _current


def format_stack() -> list[str]:
    if _preserving:
        return [_current.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
