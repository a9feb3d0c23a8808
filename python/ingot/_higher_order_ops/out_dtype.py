# SPDX-License-Identifier: Apache-2.0
"""out_dtype: an operator that computes in the dtype of its result."""

from __future__ import annotations

from typing import Any

from ingot._C import OpOverload, Tensor
from ingot._ops import HigherOrderOperator, ops

__all__ = ["ALLOWABLE_OPS", "out_dtype"]

ALLOWABLE_OPS = [
    ops.aten.linear.default, ops.aten.mm.default, ops.aten.conv2d.default, ops.aten.convolution.default,
    ops.aten.mul.Tensor, ops.aten.mul.Scalar, ops.aten.div.Tensor, ops.aten.div.Scalar,
]  # fmt: skip


def _check(op: Any) -> None:
    if not isinstance(op, OpOverload):
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op._schema.is_mutable:
        raise ValueError("out_dtype's first argument needs to be a functional operator")
    returns = op._schema.returns
    if len(returns) != 1 or str(returns[0].type) != "Tensor":
        raise ValueError(
            f"out_dtype's can only apply to ops that return a single tensor"
            f"Instead got {[r.type for r in returns]}"
        )
    if op not in ALLOWABLE_OPS:
        raise ValueError(f"out_dtype only allows the following operators: {ALLOWABLE_OPS}.")


def _call(op: Any, output_dtype: Any, *args: Any) -> Any:
    _check(op)
    dtype = next((a.dtype for a in args if isinstance(a, Tensor)), output_dtype)
    wide = dtype if dtype.itemsize > output_dtype.itemsize and not output_dtype.is_floating_point else output_dtype
    return op(*(a.to(wide) if isinstance(a, Tensor) else a for a in args)).to(output_dtype)


out_dtype = HigherOrderOperator("out_dtype", _call)
