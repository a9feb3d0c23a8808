# SPDX-License-Identifier: Apache-2.0
"""Division of a joint graph into a forward and a backward graph (ingot/aot.h)."""

from __future__ import annotations

from typing import Any

from ingot import _C, fx
from ingot._functorch._trace import module_of

__all__ = ["default_partition", "min_cut_rematerialization_partition"]


def _divide(joint: fx.GraphModule, method: str, outputs: int) -> tuple[fx.GraphModule, fx.GraphModule]:
    names = [n.name for n in joint.graph.nodes if n.op == "placeholder"]
    tangents = sum(name.startswith("tangents") for name in names)
    forward, backward, _, _ = _C.partition(joint.graph, method, outputs, tangents)
    return module_of(forward), module_of(backward)


def default_partition(
    joint_module: fx.GraphModule, _joint_inputs: Any, *, num_fwd_outputs: int
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """The forward graph computes what its outputs need; what the rest reads of it is saved.

    Placeholders of the joint graph whose names begin with `tangents` come last and belong to the backward graph.
    """
    return _divide(joint_module, "default", num_fwd_outputs)


def min_cut_rematerialization_partition(
    joint_module: fx.GraphModule, _joint_inputs: Any, compiler: str = "inductor", *, num_fwd_outputs: int
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """The partition that saves the least memory, where cheap values are computed again in the backward graph."""
    return _divide(joint_module, "min_cut", num_fwd_outputs)
