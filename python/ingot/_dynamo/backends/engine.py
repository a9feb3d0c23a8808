# SPDX-License-Identifier: Apache-2.0
"""Backends that run a graph in Ingot's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._dynamo.backends.registry import register_backend

__all__ = ["aot_eager", "eager", "engine"]


@register_backend(tags=("debug",))
def eager(gm: Any, fake_tensor_inputs: list[Any], **kwargs: Any) -> Callable:
    """The graph as it is."""
    return gm.forward


@register_backend(name="ingot")
def engine(gm: Any, example_inputs: list[Any], **kwargs: Any) -> Callable:
    """The graph, run by the engine."""
    return gm.forward


register_backend(engine, name="inductor")


def _through_aot(gm: Any, inputs: list[Any]) -> Callable:
    from ingot._dynamo.backends.common import aot_autograd
    from ingot._functorch.compilers import nop
    from ingot._functorch.partitioners import min_cut_rematerialization_partition

    return aot_autograd(fw_compiler=nop, partition_fn=min_cut_rematerialization_partition)(gm, inputs)


@register_backend(tags=("debug",))
def aot_eager(gm: Any, fake_tensor_inputs: list[Any], **kwargs: Any) -> Callable:
    """Forward and backward graphs of AOT autograd, run by the engine."""
    return _through_aot(gm, fake_tensor_inputs)


@register_backend(tags=("debug",))
def aot_ts(gm: Any, fake_tensor_inputs: list[Any], **kwargs: Any) -> Callable:
    """The same."""
    return _through_aot(gm, fake_tensor_inputs)
