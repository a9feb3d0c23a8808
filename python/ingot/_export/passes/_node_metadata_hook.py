# SPDX-License-Identifier: Apache-2.0
"""Metadata of nodes that a pass makes: as if they came from the program."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ingot import fx
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import map_aggregate

__all__: list[str] = []

_EMPTY_NN_MODULE_STACK_KEY = "_empty_nn_module_stack_from_metadata_hook"


def _node_metadata_hook(node: fx.Node, stack_trace: str) -> None:
    """Describes a new call: its value, computed on the values of its operands, and where it comes from."""
    if node.op != "call_function" or not callable(node.target):
        raise AssertionError(f"node: {node}, target: {node.target}")

    def value(a: object) -> object:
        return a.meta["val"] if isinstance(a, fx.Node) else a

    args = map_aggregate(node.args, value)
    kwargs = map_aggregate(node.kwargs, value)
    node.meta["val"] = node.target(*args, **kwargs)
    node.meta["stack_trace"] = stack_trace
    stacks = [a.meta["nn_module_stack"] for a in node.all_input_nodes if a.meta.get("nn_module_stack")]
    node.meta["nn_module_stack"] = stacks[0] if stacks else {_EMPTY_NN_MODULE_STACK_KEY: ("", "")}
    node.meta["torch_fn"] = (
        f"{node.target.__name__}_0",
        f"{node.target.__class__.__name__}.{node.target.__name__}",
    )


@contextlib.contextmanager
def _set_node_metadata_hook(gm: GraphModule, f: Callable[[fx.Node], None]) -> Iterator[None]:
    """While it lasts, f is called for each new node of the module's graph."""
    gm._register_create_node_hook(f)
    try:
        yield
    finally:
        gm._unregister_create_node_hook(f)
