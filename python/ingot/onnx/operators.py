# SPDX-License-Identifier: Apache-2.0
"""Operators by which a model keeps sizes as data."""

from __future__ import annotations

from typing import Any

import ingot


def shape_as_tensor(x: Any) -> Any:
    """The sizes of a tensor, as a tensor."""
    return ingot._shape_as_tensor(x)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """A tensor in the shape that another one holds."""
    return ingot._reshape_from_tensor(x, shape)
