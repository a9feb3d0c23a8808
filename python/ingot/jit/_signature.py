# SPDX-License-Identifier: Apache-2.0
"""Signatures of script functions, as Python's own."""

from __future__ import annotations

import inspect
from typing import Any


def signature_of(parameters: list[tuple[str, bool, bool, Any]]) -> inspect.Signature:
    """From (name, keyword only, has a default, default)."""
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds(
                name,
                kinds.KEYWORD_ONLY if keyword_only else kinds.POSITIONAL_OR_KEYWORD,
                default=default if has_default else kinds.empty,
            )
            for name, keyword_only, has_default, default in parameters
        ]
    )
