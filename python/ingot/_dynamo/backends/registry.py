# SPDX-License-Identifier: Apache-2.0
"""Backends by name: backend(graph_module, example_inputs) returns what runs the graph."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any

from ingot._dynamo.exc import InvalidBackend

__all__ = ["list_backends", "lookup_backend", "register_backend", "register_debug_backend",
           "register_experimental_backend"]  # fmt: skip

_backends: dict[str, Callable] = {}
_BUILT_IN = {  # made when first asked for
    "eager": "ingot._dynamo.backends.engine",
    "ingot": "ingot._dynamo.backends.engine",
    "inductor": "ingot._dynamo.backends.engine",
    "aot_eager": "ingot._dynamo.backends.engine",
    "aot_ts": "ingot._dynamo.backends.engine",
    "onnxrt": "ingot.onnx._internal.onnxruntime",
}
_TAGS = {"eager": ("debug",), "aot_eager": ("debug",), "aot_ts": ("debug",)}


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Adds a backend under its name; as a function or as a decorator."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(f"a backend is a callable, not {type(compiler_fn).__name__}")
    name = name or compiler_fn.__name__
    if name in _backends:
        raise AssertionError(f"duplicate name: {name}")
    _backends[name] = compiler_fn
    compiler_fn._tags = tuple(tags)
    return compiler_fn


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))


def lookup_backend(compiler_fn: Any) -> Callable:
    """The backend of that name; a callable is one itself."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _backends and compiler_fn in _BUILT_IN:
        try:
            importlib.import_module(_BUILT_IN[compiler_fn])
        except ImportError as error:
            raise InvalidBackend(compiler_fn) from error
    if compiler_fn not in _backends:
        for point in entry_points(group="torch_dynamo_backends"):
            if point.name == compiler_fn:
                register_backend(point.load(), name=compiler_fn)
    if compiler_fn not in _backends:
        raise InvalidBackend(compiler_fn)
    return _backends[compiler_fn]


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Names of the backends, without those that have one of the tags."""
    hidden = set(exclude_tags or ())
    names = {*_BUILT_IN, *_backends, *(p.name for p in entry_points(group="torch_dynamo_backends"))}

    def tags(name: str) -> Sequence[str]:
        return getattr(_backends.get(name), "_tags", None) or _TAGS.get(name, ())

    return sorted(name for name in names if not hidden.intersection(tags(name)))
