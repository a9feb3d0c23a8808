# SPDX-License-Identifier: Apache-2.0
"""torch.compile; docs/compile.md describes how it works."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ingot._dynamo.backends.registry import lookup_backend
from ingot._dynamo.eval_frame import compile_callable
from ingot._dynamo.frames import Settings

__all__ = ["compile"]

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(  # noqa: A001
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict | None = None,
    disable: bool = False,
) -> Any:
    """A function or module whose calls of operators the backend compiles; without model: a decorator."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if disable:
        return model
    if backend == "inductor" and mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    found = lookup_backend(backend)
    return compile_callable(model, Settings(found, fullgraph, dynamic, options))
