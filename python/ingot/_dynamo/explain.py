# SPDX-License-Identifier: Apache-2.0
"""torch._dynamo.explain: what graphs a call has."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ingot import nn
from ingot._dynamo.frames import Frame, Settings

__all__ = ["ExplainOutput", "GraphCompileReason", "explain"]


@dataclasses.dataclass
class GraphCompileReason:
    """Why a graph ended."""

    reason: str
    user_stack: list[Any]
    graph_break: bool = True


@dataclasses.dataclass
class ExplainOutput:
    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[Any]]
    out_guards: list[Any]
    compile_times: str = ""

    def __str__(self) -> str:
        out = f"Graph Count: {self.graph_count}\nGraph Break Count: {self.graph_break_count}\n"
        out += f"Op Count: {self.op_count}\nBreak Reasons:\n"
        for i, r in enumerate(self.break_reasons):
            out += f"  Break Reason {i + 1}:\n    Reason: {r.reason}\n    User Stack:\n"
            out += "".join(f"      {frame}\n" for frame in r.user_stack)
        out += "Ops per Graph:\n"
        for i, ops in enumerate(self.ops_per_graph):
            out += f"  Ops {i + 1}:\n" + "".join(f"    {op}\n" for op in ops)
        return out


def explain(f: Callable, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """explain(f)(*args): the graphs of that call, and why each of them ended."""

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        from ingot._dynamo.eval_frame import innermost_fn, run_compiled

        graphs: list[Any] = []
        reasons: list[GraphCompileReason] = []

        def collect(gm: Any, example_inputs: list[Any]) -> Callable:
            graphs.append(gm)
            return gm.forward

        target = f._orig_mod if isinstance(f, nn.Module) and hasattr(f, "_orig_mod") else innermost_fn(f)
        frame = Frame(getattr(f, "__name__", type(f).__name__), "explain", Settings(collect, False, None))
        frame.listener = lambda reason, stack: reasons.append(GraphCompileReason(reason, list(stack)))
        run_compiled(frame, False, target, args, kwargs)
        ops = [[n.target for n in g.graph.nodes if n.op in _CALLS] for g in graphs]
        return ExplainOutput(graphs, len(graphs), len(graphs) - 1, reasons, sum(map(len, ops)), ops, [], "not measured")

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


_CALLS = ("call_function", "call_method", "call_module")
