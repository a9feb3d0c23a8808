# SPDX-License-Identifier: Apache-2.0
"""Shapes of the values of a graph, found by running it on example inputs."""
from __future__ import annotations

from typing import Any, NamedTuple

import ingot
from ingot import fx
from ingot._C import Tensor
from ingot.fx.node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a pass needs to know of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d")


def _memory_format(value: Tensor) -> Any:
    for name in _FORMATS:
        known = getattr(ingot, name, None)
        if known is not None and (name != "channels_last" or value.ndim == 4):
            if (name != "channels_last_3d" or value.ndim == 5) and value.is_contiguous(memory_format=known):
                return known
    return None


def _qparams(value: Tensor) -> dict[str, Any]:
    scheme = value.qscheme()
    found: dict[str, Any] = {"qscheme": scheme}
    if scheme in (ingot.per_tensor_affine, ingot.per_tensor_symmetric):
        return found | {"scale": value.q_scale(), "zero_point": value.q_zero_point()}
    scales, points = value.q_per_channel_scales(), value.q_per_channel_zero_points()
    return found | {"scale": scales.tolist(), "zero_point": points.tolist(), "axis": value.q_per_channel_axis()}


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    quantized = result.is_quantized
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(),
        _memory_format(result) if include_contiguity else None, quantized, _qparams(result) if quantized else {},
    )  # fmt: skip


class ShapeProp(fx.Interpreter):
    """Runs a graph and notes tensor_meta and type of every node."""

    def __init__(self, gm: fx.GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is None:
            from ingot._guards import detect_fake_mode

            fake_mode = detect_fake_mode([n.meta.get("val") for n in gm.graph.nodes if n._has_meta])
        self.fake_mode = fake_mode
        self.real_module = self.module

    def run_node(self, n: fx.Node) -> Any:
        try:
            if self.fake_mode is not None:
                with self.fake_mode:
                    result = super().run_node(n)
            else:
                result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def describe(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """The result for these inputs."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args)
        return super().run(*args)
