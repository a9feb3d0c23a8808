# SPDX-License-Identifier: Apache-2.0
"""with_effects: a call with side effects, ordered by tokens."""

from __future__ import annotations

from typing import Any

from ingot import _C
from ingot._ops import HigherOrderOperator

__all__ = ["with_effects"]


def _call(token: Any, op: Any, *args: Any, **kwargs: Any) -> tuple:
    out = op(*args, **kwargs)
    return (token, *out) if isinstance(out, tuple) else (token, out)


with_effects = HigherOrderOperator("with_effects", _call)
_C.hop_register("with_effects", with_effects)
