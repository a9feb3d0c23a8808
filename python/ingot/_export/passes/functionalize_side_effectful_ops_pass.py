# SPDX-License-Identifier: Apache-2.0
"""Assertions without side effects: each takes the token of the one before it and returns its own."""

from __future__ import annotations

import copy
from typing import Any

import ingot
from ingot import fx
from ingot._export.pass_base import _ExportPassBaseDeprecatedDoNotUse
from ingot._export.pass_infra.node_metadata import NodeMetadata
from ingot._export.pass_infra.proxy_value import ProxyValue
from ingot.fx.passes.infra.pass_base import PassResult

__all__: list[str] = []

_aten = ingot.ops.aten
_NON_FUNCTIONAL_TO_FUNCTIONAL_SIDE_EFFECTFUL_FUNCS = {
    _aten.sym_constrain_range.default: _aten._functional_sym_constrain_range,
    _aten._assert_async.msg: _aten._functional_assert_async.msg,
}


class _FunctionalizeSideEffectfulOpsPass(_ExportPassBaseDeprecatedDoNotUse):
    """Replaces assertions by their functional forms; the last token becomes an output."""

    def __init__(self) -> None:
        super().__init__()
        self._token: ProxyValue | None = None
        self._count = 0

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        calls = [n for n in graph_module.graph.nodes if n.op == "call_function"]
        if not any(n.target in _NON_FUNCTIONAL_TO_FUNCTIONAL_SIDE_EFFECTFUL_FUNCS for n in calls):
            return PassResult(graph_module, False)
        self._token = None
        self._count = 0
        return super().call(copy.deepcopy(graph_module))

    def _name(self, token: ProxyValue) -> ProxyValue:
        token.node.name = f"dep_token{self._count}"
        self._count += 1
        return token

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        functional = _NON_FUNCTIONAL_TO_FUNCTIONAL_SIDE_EFFECTFUL_FUNCS.get(op)
        if functional is None:
            return super().call_operator(op, args, kwargs, meta)
        if self._token is None:
            origin = NodeMetadata({"stack_trace": None})
            self._token = self._name(super().call_operator(_aten._make_dep_token, (), {}, origin))
        given = {**kwargs, "dep_token": self._token}
        self._token = self._name(super().call_operator(functional, args, given, meta))
        return self._token

    def output(self, results: Any, meta: NodeMetadata) -> ProxyValue:
        if self._token is None:
            return super().output(results, meta)
        results = results if isinstance(results, (tuple, list)) else (results,)
        return super().output((*results, self._token), meta)
