# SPDX-License-Identifier: Apache-2.0
"""What an interpreted node passes to the nodes recorded on its behalf."""
import contextlib
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

__all__ = [
    "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta", "reset_grad_fn_seq_nr",
    "set_current_meta", "set_grad_fn_seq_nr", "set_stack_trace",
]  # fmt: skip

_meta: ContextVar[dict[str, Any] | None] = ContextVar("_meta", default=None)  # None: nothing is preserved


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    before = _meta.get()
    token = _meta.set(dict(before or {}) if enable or before is not None else None)
    try:
        yield
    finally:
        _meta.reset(token)


def has_preserved_node_meta() -> bool:
    return _meta.get() is not None


def set_stack_trace(stack: list[str]) -> None:
    meta = _meta.get()
    if meta is not None and stack:
        meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Nodes belong to the derivative with this number until reset_grad_fn_seq_nr."""
    meta = _meta.get()
    if meta is not None:
        meta["grad_fn_seq_nr"] = [*meta.get("grad_fn_seq_nr", []), seq_nr]
        meta["in_grad_fn"] = meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    meta = _meta.get()
    if meta is None:
        return
    depth = meta["in_grad_fn"]
    if depth == 1:
        del meta["grad_fn_seq_nr"]
    else:
        meta["grad_fn_seq_nr"] = meta["grad_fn_seq_nr"][:-1]
    meta["in_grad_fn"] = depth - 1


@contextlib.contextmanager
def set_current_meta(node: Any) -> Iterator[None]:
    """While it lasts, nodes recorded carry the metadata of `node` (if it is preserved at all)."""
    if not has_preserved_node_meta():
        yield
        return
    before = get_current_meta().get("from_node", [])
    token = _meta.set({**node.meta, "from_node": [*before, (node.name, node.target)]})
    try:
        yield
    finally:
        _meta.reset(token)


def get_current_meta() -> dict[str, Any]:
    return _meta.get() or {}


def format_stack() -> list[str]:
    if has_preserved_node_meta():
        return [get_current_meta().get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
