# SPDX-License-Identifier: Apache-2.0
"""Higher-order operators: operators that take functions. See ingot/hop.h for what they do."""

from ingot._higher_order_ops.auto_functionalize import auto_functionalized, auto_functionalized_v2
from ingot._higher_order_ops.cond import cond
from ingot._higher_order_ops.effects import with_effects
from ingot._higher_order_ops.map import map  # noqa: A004: PyTorch's name
from ingot._higher_order_ops.scan import scan
from ingot._higher_order_ops.strict_mode import strict_mode
from ingot._higher_order_ops.while_loop import while_loop
from ingot._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled

__all__ = [
    "auto_functionalized",
    "auto_functionalized_v2",
    "cond",
    "map",
    "scan",
    "strict_mode",
    "while_loop",
    "with_effects",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
