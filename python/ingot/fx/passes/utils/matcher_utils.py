# SPDX-License-Identifier: Apache-2.0
"""Where a graph contains a pattern: calls that are equal, with operands that match from the results to the inputs."""
from __future__ import annotations

import copy
import dataclasses
from typing import Any

from ingot import _C
from ingot.fx.graph import Graph
from ingot.fx.node import Node
from ingot.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclasses.dataclass
class InternalMatch:
    """One occurrence: nodes of the graph by nodes of the pattern."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = dataclasses.field(default_factory=dict)
    placeholder_nodes: list[Any] = dataclasses.field(default_factory=list)
    returning_nodes: list[Node] = dataclasses.field(default_factory=list)
    name_node_map: dict[str, Node] = dataclasses.field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy()
        )


def _attribute(node: Node) -> Any:
    found: Any = node.graph.owning_module
    for part in node.target.split("."):
        found = getattr(found, part, None)
    return found


def _match_attributes(pn: Node, gn: Node) -> bool:
    """Attributes match by kind: the pattern's tensor stands for any."""
    a, b = _attribute(pn), _attribute(gn)
    if type(a) is not type(b):
        return False
    if isinstance(a, _C.Tensor) or hasattr(a, "forward"):
        return True
    raise RuntimeError(f"Unsupported type {type(a)} when matching attributes")


def _by_schema(node: Node) -> tuple[list[str], dict[str, Any]] | None:
    """The arguments of a call of an operator by name, defaults included."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return None
    names = [a.name for a in schema.arguments]
    values = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    values.update(zip(names, node.args, strict=False))
    values.update(node.kwargs)
    return names, values


class SubgraphMatcher:
    """Finds occurrences of a pattern."""

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op not in ("output", "placeholder") and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        # Where the search begins: the results that nothing else in the pattern uses.
        self.pattern_anchors: list[Node] = (
            [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]
        )

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return _match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether nothing outside uses a value that the pattern computes and does not return."""
        inside = {id(gn) for pn, gn in nodes_map.items() if isinstance(gn, Node)}
        for pn, gn in nodes_map.items():
            if pn.op in ("placeholder", "get_attr") or pn in self.pattern_returning_nodes:
                continue
            if any(id(user) not in inside for user in gn.users):
                return False
        return True

    def _without_overlaps(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        seen: set[Node] = set()
        for match in matches:
            own = {gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")}
            if not own & seen:
                seen |= own
                kept.append(match)
        return kept

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and not isinstance(gn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        if isinstance(gn, Node):
            return False
        return type(pn) is type(gn) and pn == gn

    def _match_args(self, a: Any, b: Any, match: InternalMatch) -> bool:
        if isinstance(a, Node) and isinstance(b, Node):
            return self._match_nodes(a, b, match)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(self._match_args(x, y, match) for x, y in zip(a, b, strict=True))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(self._match_args(a[k], b[k], match) for k in a)
        if isinstance(a, slice) and isinstance(b, slice):
            return all(self._match_args(getattr(a, k), getattr(b, k), match) for k in ("start", "stop", "step"))
        return self._match_literals(a, b, match) or self.ignore_literals

    def _match_operands(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        if len(pn.args) != len(gn.args) or pn.kwargs.keys() != gn.kwargs.keys():
            a, b = _by_schema(pn), _by_schema(gn)
            if a is not None and b is not None and pn.target == gn.target:
                return all(self._match_args(a[1].get(k), b[1].get(k), match) for k in a[0])
            return False
        return self._match_args(pn.args, gn.args, match) and self._match_args(dict(pn.kwargs), dict(gn.kwargs), match)

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if any(gn is known for known in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder" or self._match_operands(pn, gn, match):
            return True
        match.nodes_map = before.nodes_map
        return False

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """All occurrences, in the order of the graph."""
        candidates = [
            (anchor, [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)])
            for anchor in self.pattern_anchors
        ]
        found: list[InternalMatch] = []

        def search(at: int, match: InternalMatch) -> None:
            if at == len(candidates):
                match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes
                                           if pn in match.nodes_map]  # fmt: skip
                match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
                found.append(match)
                return
            anchor, nodes = candidates[at]
            for node in nodes:
                attempt = copy.copy(match)
                if self._match_nodes(anchor, node, attempt, node_name_match):
                    search(at + 1, attempt)

        if candidates:
            search(0, InternalMatch(anchors=self.pattern_anchors))
        found = [m for m in found if self._is_contained(m.nodes_map)]

        def is_valid(match: InternalMatch) -> bool:
            own = [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "get_attr", "output")]
            return validate_partition(own)

        found = [m for m in found if is_valid(m)]
        return self._without_overlaps(found) if self.remove_overlapping_matches else found
