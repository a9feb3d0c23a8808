# SPDX-License-Identifier: Apache-2.0
"""What errors say about the examples."""

from __future__ import annotations

from ingot._dynamo.exc import Unsupported, UserError, UserErrorType

__all__ = ["exportdb_error_message", "get_class_if_classified_error"]

_INDEX = "https://pytorch.org/docs/main/generated/exportdb/index.html"


def exportdb_error_message(case_name: str) -> str:
    """Where the example is described that an error names."""
    from ingot._export.db.examples import all_examples

    if case_name not in all_examples():
        return f"{case_name} is unsupported."
    gap = " " * 17
    return f"See {case_name} in exportdb for unsupported case.{gap}{_INDEX}#{case_name.replace('_', '-')}"


def get_class_if_classified_error(e: Exception) -> str | None:
    """The name of the example that an error belongs to, or "always_classified" for kinds that need none."""
    if isinstance(e, (Unsupported, UserError)):
        case = getattr(e, "case_name", None)
        if case is not None:
            return case
    if isinstance(e, UserError) and e.error_type is UserErrorType.CONSTRAINT_VIOLATION:
        return "always_classified"
    return None
