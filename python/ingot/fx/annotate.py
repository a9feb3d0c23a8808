# SPDX-License-Identifier: Apache-2.0
"""Types for values of a trace."""
from __future__ import annotations

from typing import Any

from ingot.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """The value; in a trace, its node has the type from now on."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new "
                f"type is {type}. This could happen if you tried to annotate a function parameter value (in which "
                "case you should use the type slot on the function signature) or you called annotate on the same "
                "value twice"
            )
        val.node.type = type
    return val
