# SPDX-License-Identifier: Apache-2.0
"""Passes over whole programs."""

from __future__ import annotations

from typing import Any

from ingot import _C, nn
from ingot.export.exported_program import ExportedProgram
from ingot.fx import GraphModule
from ingot.utils import _pytree as pytree

__all__ = ["move_to_device_pass"]


def _destination(device: Any, location: Any) -> Any:
    """Where something on a device goes: everywhere the same place, or by the name of the device."""
    if isinstance(location, dict):
        return location.get(str(device))
    return location


def _moved(value: Any, location: Any) -> Any:
    to = _destination(value.device, location)
    if to is None:
        return value
    if not isinstance(value, nn.Parameter):
        return value.to(to)
    return nn.Parameter(value.detach().to(to), value.requires_grad)


def _move_nodes(module: GraphModule, location: Any) -> None:
    for node in module.graph.nodes:
        given = node.kwargs.get("device")
        to = None if given is None else _destination(given, location)
        if to is not None:
            node.kwargs = {**node.kwargs, "device": _C.device(to) if isinstance(to, str) else to}
        if "val" in node.meta:
            node.meta["val"] = pytree.tree_map_only(_C.Tensor, lambda t: _moved(t, location), node.meta["val"])
    for _, sub in module.named_children():
        if isinstance(sub, GraphModule):
            _move_nodes(sub, location)
    module.recompile()


def move_to_device_pass(ep: ExportedProgram, location: Any) -> ExportedProgram:
    """The program on another device: weights, constants, the devices that calls name, and the values of all nodes.
    `location` is a device, or a dict of names of devices. The program itself is changed and returned."""
    _move_nodes(ep.graph_module, location)
    for values in (ep.state_dict, ep.constants):
        for name, value in values.items():
            if isinstance(value, _C.Tensor):
                values[name] = _moved(value, location)
    return ep
