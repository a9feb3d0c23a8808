# SPDX-License-Identifier: Apache-2.0
"""functorch.experimental.control_flow."""

from ingot._higher_order_ops.cond import cond
from ingot._higher_order_ops.map import map, map_impl  # noqa: A004: PyTorch's name
from ingot._higher_order_ops.scan import scan
from ingot._higher_order_ops.while_loop import while_loop

__all__ = ["cond", "map", "map_impl", "scan", "while_loop"]
