# SPDX-License-Identifier: Apache-2.0
"""Equal calls of operators become one."""
from __future__ import annotations

from typing import Any

import ingot
from ingot import _C
from ingot.fx import Graph, GraphModule, Node
from ingot.fx.passes.infra.pass_base import PassBase, PassResult
from ingot.utils import _pytree as pytree

__all__ = ["CSEPass", "get_CSE_banned_ops"]

_RANDOM = """
    dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu
    rand_like rand randint randn randperm
"""
_IN_PLACE_RANDOM = "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_"


def get_CSE_banned_ops() -> set[Any]:  # noqa: N802 (PyTorch's name)
    """Operators whose calls differ although their arguments are equal."""
    names = [*_RANDOM.split(), *_IN_PLACE_RANDOM.split()]
    return {getattr(ingot.ops.aten, name) for name in names if hasattr(ingot.ops.aten, name)}


class CSEPass(PassBase):
    """Removes calls that compute what an earlier call of the same operator has computed."""

    def __init__(self, banned_ops: Any = None) -> None:
        super().__init__()
        self.banned_ops = set() if banned_ops is None else banned_ops

    def _is_kept(self, node: Node) -> bool:
        """Whether a node is copied as it is."""
        if node.op != "call_function":
            return True
        packet = getattr(node.target, "overloadpacket", node.target)
        return packet in self.banned_ops or node.target in self.banned_ops or node.is_impure()

    def call(self, graph_module: GraphModule) -> PassResult:
        new = Graph()
        env: dict[Node, Node] = {}
        known: dict[Any, list[tuple[Any, Node]]] = {}
        modified = False
        for node in graph_module.graph.nodes:
            if self._is_kept(node):
                env[node] = new.node_copy(node, lambda n: env[n])
                continue
            leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
            key = [(type(x), id(env[x]) if isinstance(x, Node) else x) for x in leaves]
            same = known.setdefault((node.target, len(key), str(spec)), [])
            for other, made in same:
                if _equal(other, key):
                    env[node] = made
                    modified = True
                    break
            else:
                env[node] = new.node_copy(node, lambda n: env[n])
                same.append((key, env[node]))
        new.set_codegen(graph_module.graph._codegen)
        return PassResult(GraphModule(graph_module, new), modified)


def _equal(a: list[Any], b: list[Any]) -> bool:
    for (kind, x), (other, y) in zip(a, b, strict=True):
        if kind is not other or isinstance(x, _C.Tensor) or isinstance(y, _C.Tensor) or x != y:
            return False
    return True


