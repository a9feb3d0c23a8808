# SPDX-License-Identifier: Apache-2.0
"""Higher-order operators: operators that take functions. See ingot/hop.h for what they do."""

from ingot._higher_order_ops.auto_functionalize import auto_functionalized
from ingot._higher_order_ops.cond import cond
from ingot._higher_order_ops.map import map  # noqa: A004: PyTorch's name
from ingot._higher_order_ops.scan import scan
from ingot._higher_order_ops.strict_mode import strict_mode
from ingot._higher_order_ops.while_loop import while_loop
from ingot._higher_order_ops.wrap import wrap_with_set_grad_enabled

__all__ = ["auto_functionalized", "cond", "map", "scan", "strict_mode", "while_loop", "wrap_with_set_grad_enabled"]
