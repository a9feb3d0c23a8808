# SPDX-License-Identifier: Apache-2.0
"""Parts of a graph that a backend can run, each as large as possible, as modules of their own.

From the last node to the first, a supported node starts a part and takes over every part that it can be joined with
so that no path leaves the joined part and comes back to it.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from ingot.fx.graph import Graph
from ingot.fx.graph_module import GraphModule
from ingot.fx.node import Node
from ingot.fx.passes.operator_support import OperatorSupportBase

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Nodes that one module will contain, in the order in which they were found."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes or ())

    def add_node(self, node: Node) -> None:
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        del self.nodes[node]

    def size(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return str(self.nodes)


class _Reach:
    """Sets of nodes as numbers: bit i is node i of the graph."""

    def __init__(self, nodes: list[Node]) -> None:
        self.index = {node: i for i, node in enumerate(nodes)}
        self.below = [0] * len(nodes)  # what depends on node i
        for i in range(len(nodes) - 1, -1, -1):
            for user in nodes[i].users:
                k = self.index[user]
                self.below[i] |= self.below[k] | 1 << k


class _Part:
    """A partition under construction: its nodes, and all that depends on them."""

    def __init__(self, number: int, node: Node, reach: _Reach) -> None:
        self.partition = Partition(number, [node])
        i = reach.index[node]
        self.mask, self.below = 1 << i, reach.below[i]


def _bits(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _comes_back(mask: int, below: int, others: list[_Part], reach: _Reach) -> bool:
    """Whether a path leaves the set and returns to it; a path that enters another part may leave it anywhere."""
    outside = below & ~mask
    waiting = list(others)
    while True:
        entered = [p for p in waiting if p.mask & outside]
        if not entered:
            break
        waiting = [p for p in waiting if not p.mask & outside]
        for part in entered:
            if part.below & mask:
                return True
            outside |= part.below & ~mask
    return any(reach.below[i] & mask for i in _bits(outside))


class CapabilityBasedPartitioner:
    """Divides a graph module by what `operator_support` can run."""

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())

    def propose_partitions(self) -> list[Partition]:
        """The parts, those found first coming first."""
        nodes = list(self.graph_module.graph.nodes)
        reach = _Reach(nodes)
        modules = dict(self.graph_module.named_modules())
        parts: list[_Part] = []
        for number, node in enumerate(reversed(nodes)):
            if node.op == "output" or not self.operator_support.is_node_supported(modules, node):
                continue
            part = _Part(number, node, reach)
            for other in sorted(parts, key=lambda p: -p.mask.bit_length()):  # the last one in the graph first
                rest = [p for p in parts if p is not other]
                if _comes_back(part.mask | other.mask, part.below | other.below, rest, reach):
                    continue
                part.partition.nodes.update(other.partition.nodes)
                part.mask |= other.mask
                part.below |= other.below
                parts.remove(other)
            parts.insert(0, part)
        found = [p.partition for p in reversed(parts)]
        self._reassign_items(nodes, found)
        kept = found if self.allows_single_node_partition else [p for p in found if self._computes(p)]
        return [p for p in kept if p.size() > 0]

    @staticmethod
    def _reassign_items(nodes: list[Node], found: list[Partition]) -> None:
        """Items of a tuple belong to the part that computes it, or to none."""
        of = {node: p for p in found for node in p.nodes}
        for node in nodes:
            items = [u for u in node.users if u.op == "call_function" and u.target is operator.getitem]
            if not items or len(items) != len(node.users):
                continue
            for item in items:
                if of.get(item) is of.get(node):
                    continue
                if item in of:
                    of[item].remove_node(item)
                if node in of:
                    of[node].add_node(item)

    def _computes(self, partition: Partition) -> bool:
        """More than one node that computes something."""
        calls = [n for n in partition.nodes if n.op == "call_function"]
        names = [str(n.target) for n in calls]
        idle = [n.target is operator.getitem or name in self.non_compute_ops for n, name in zip(calls, names)]
        count = len(calls) - sum(idle)
        return count + sum(name in self.allowed_single_node_partition_ops for name in names) > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """A module that calls the modules fused_0, fused_1, ... for the parts."""
        return _fuse(self.graph_module, [list(p.nodes) for p in partitions], prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        return self.fuse_partitions(self.propose_partitions(), prefix)


# ---- modules ----


def _sorted(nodes: list[Node]) -> list[Node]:
    """In order of dependence, breadth first."""
    inside = set(nodes)
    missing = {node: sum(n in inside for n in node.all_input_nodes) for node in nodes}
    ready = deque(node for node in nodes if missing[node] == 0)
    out = []
    while ready:
        node = ready.popleft()
        out.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if missing[user] == 0:
                    ready.append(user)
    return out


def _extract(root: GraphModule, nodes: list[Node], name: str) -> tuple[GraphModule, list[Node], list[Node]]:
    """The module of a part, the nodes that are its arguments, and those of its nodes that others read."""
    inside = set(nodes)
    inputs = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside)
    graph = Graph()
    made: dict[Node, Node] = {}
    for node in inputs:
        made[node] = graph.placeholder(node.name)
        made[node].meta = dict(node.meta)
    for node in nodes:
        made[node] = graph.node_copy(node, lambda n: made[n])
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    values = tuple(made[node] for node in outputs)
    graph.output(values[0] if len(values) == 1 else values)
    return GraphModule(root, graph, name), list(inputs), outputs


def _fuse(root: GraphModule, parts: list[list[Node]], prefix: str) -> GraphModule:
    units: dict[Node, int] = {node: i for i, part in enumerate(parts) for node in part}
    pieces = [_extract(root, _sorted(part), f"{prefix}{i}") for i, part in enumerate(parts)]
    graph = Graph()
    made: dict[Node, Node] = {}
    done: set[int] = set()

    def needed(node: Node) -> list[Node]:
        return pieces[units[node]][1] if node in units else node.all_input_nodes

    def emit(node: Node) -> None:
        i = units.get(node)
        if i is None:
            made[node] = graph.node_copy(node, lambda n: made[n])
            return
        if i in done:
            return
        done.add(i)
        _, inputs, outputs = pieces[i]
        call = graph.call_module(f"{prefix}{i}", tuple(made[n] for n in inputs))
        if len(outputs) == 1:
            made[outputs[0]] = call
            call.meta = dict(outputs[0].meta)
        else:
            call.meta["val"] = tuple(n.meta.get("val") for n in outputs)
            for k, output in enumerate(outputs):
                made[output] = graph.call_function(operator.getitem, (call, k))
                made[output].meta = dict(output.meta)

    for node in root.graph.nodes:
        stack = [node]
        while stack:
            top = stack[-1]
            if top in made or units.get(top) in done:
                stack.pop()
                continue
            waiting = [n for n in needed(top) if n not in made]
            if waiting:
                stack.extend(waiting)
                continue
            emit(top)
            stack.pop()
    members: Any = {**_named(root, graph), **{f"{prefix}{i}": piece[0] for i, piece in enumerate(pieces)}}
    return GraphModule(members, graph, type(root).__name__)


def _named(root: GraphModule, graph: Graph) -> dict[str, Any]:
    """What nodes outside of the parts read from the module."""
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            value: Any = root
            for name in node.target.split("."):
                value = getattr(value, name, None)
            if value is not None:
                found[node.target] = value
    return found
