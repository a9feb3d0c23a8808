# SPDX-License-Identifier: Apache-2.0
"""torch._dynamo: settings, marks and queries of torch.compile; docs/compile.md describes how it works."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ingot import _C
from ingot._dynamo import config, exc, utils
from ingot._dynamo.backends.registry import list_backends, lookup_backend, register_backend
from ingot._dynamo.decorators import (
    allow_in_graph,
    assume_constant_result,
    disallow_in_graph,
    forbid_in_graph,
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    mark_unbacked,
    maybe_mark_dynamic,
    substitute_in_graph,
)  # fmt: skip
from ingot._dynamo.eval_frame import OptimizedModule, compile_callable, disable, is_dynamo_supported, reset, run
from ingot._dynamo.explain import explain
from ingot._dynamo.frames import Settings

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "exc",
    "explain", "export", "forbid_in_graph", "graph_break", "is_compiling", "is_dynamo_supported", "list_backends",
    "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic",
    "optimize", "optimize_assert", "register_backend", "reset", "reset_code_caches", "run",
    "substitute_in_graph", "utils",
]  # fmt: skip


def is_compiling() -> bool:
    """Whether this thread captures something."""
    return _C.compile_is_recording() or _C.capture_is_open()


def reset_code_caches() -> None:
    """Forgets what was compiled."""
    reset()


def optimize(backend: Any = "inductor", *, nopython: bool = False, guard_export_fn: Any = None,
             guard_fail_fn: Any = None, disable: bool = False, dynamic: bool | None = None) -> Callable:  # fmt: skip
    """The older form of torch.compile: optimize(backend)(fn)."""
    if disable:
        return lambda fn: fn
    settings = Settings(lookup_backend(backend), nopython, dynamic)
    return functools.partial(compile_callable, settings=settings)


def optimize_assert(backend: Any, *, hooks: Any = None, export: bool = False, **kwargs: Any) -> Callable:
    """optimize for one graph: a break is an error."""
    return optimize(backend, nopython=True, **kwargs)


def export(f: Callable, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """export(f)(*args): (GraphModule, guards) of a call that has one graph."""

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        from ingot import nn
        from ingot.export import export as program_of

        class Holder(nn.Module):
            def forward(self, *a: Any, **k: Any) -> Any:
                return f(*a, **k)

        module = f if isinstance(f, nn.Module) else Holder()
        return program_of(module, args, kwargs).module(), []

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def __getattr__(name: str) -> Any:
    if name in ("testing", "eval_frame", "decorators", "backends"):
        import importlib

        return importlib.import_module(f"ingot._dynamo.{name}")
    raise AttributeError(f"module 'torch._dynamo' has no attribute '{name}'")
