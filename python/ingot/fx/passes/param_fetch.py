# SPDX-License-Identifier: Apache-2.0
"""What a backend needs to know of layers, as attributes of the nodes that call them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import nn
from ingot.fx.graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]

_NORM = ["weight", "bias", "running_mean", "running_var", "eps"]
_CONV = ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"]
# By layer: the least version of its state, and its attributes.
module_fetch_book: dict[type, tuple[int, list[str], Callable]] = {}


def default_matching(name: str, target_version: int) -> str:
    """The attribute has the same name in every version."""
    return name


module_fetch_book.update(
    {
        nn.Linear: (1, ["weight", "bias"], default_matching),
        nn.Conv2d: (1, _CONV, default_matching),
        nn.BatchNorm2d: (2, _NORM, default_matching),
        nn.AdaptiveAvgPool2d: (1, [], default_matching),
        nn.MaxPool2d: (
            1, ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"], default_matching
        ),
        nn.ReLU: (1, ["inplace"], default_matching),
    }
)  # fmt: skip


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """The attributes of a layer by name, with its class as `name`."""
    from ingot.functional import typename

    found: dict[str, Any] = {"name": typename(mod)}
    if type(mod) not in module_fetch_book:
        return found
    version, names, match = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {typename(type(mod))} version {mod._version}, please upgrade the "
            "module_fetch_book."
        )
    found.update({name: getattr(mod, match(name, mod._version)) for name in names})
    return found


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Gives every node that calls a layer its attributes, as attrs_for_lowering."""
    modules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            module = modules[node.target]
            if isinstance(module, GraphModule):
                lift_lowering_attrs_to_nodes(module)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(module)
