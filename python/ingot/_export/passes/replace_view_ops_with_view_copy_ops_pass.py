# SPDX-License-Identifier: Apache-2.0
"""Views become copies, for backends without views."""
from __future__ import annotations

from typing import Any

import ingot
from ingot._export.error import InternalError
from ingot._export.pass_base import _ExportPassBaseDeprecatedDoNotUse

__all__ = ["ReplaceViewOpsWithViewCopyOpsPass"]

_NO_COPY = {"reshape": "view_copy", "_unsafe_view": "view_copy"}  # by the operator that computes them


def is_view_op(schema: Any) -> bool:
    """Whether the first result aliases an operand that the operator does not write."""
    alias = schema.arguments[0].alias_info if schema.arguments else None
    return alias is not None and not alias.is_write


def get_view_copy_of_view_op(schema: Any) -> Any:
    """The operator that copies what a view shows; None: it is no view."""
    if not (is_view_op(schema) and schema.name.startswith("aten::")):
        return None
    name = schema.name.partition("::")[2]
    packet = getattr(ingot.ops.aten, f"{name}_copy", None)
    if packet is None:
        raise InternalError(f"{schema.name} is missing a view_copy variant")
    return getattr(packet, schema.overload_name or "default")


class ReplaceViewOpsWithViewCopyOpsPass(_ExportPassBaseDeprecatedDoNotUse):
    """Calls of views become calls of their copying forms."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: Any) -> Any:
        packet = getattr(op, "overloadpacket", None)
        if packet is not None and getattr(packet, "__name__", "") in _NO_COPY:
            op = ingot.ops.aten.view_copy.default
        else:
            op = get_view_copy_of_view_op(op._schema) or op
        return super().call_operator(op, args, kwargs, meta)
