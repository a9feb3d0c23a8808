# SPDX-License-Identifier: Apache-2.0
"""Settings of capture. `patch` changes some for a while, as a context or a decorator."""
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

__live__ = True  # its names are settings: code that re-exports them must not keep copies

allow_rnn = False  # export has its own answer: DEFAULT_EXPORT_DYNAMO_CONFIG
verify_stages = os.environ.get("INGOT_VERIFY", "0") not in ("", "0")  # check programs after every stage of an export
do_not_emit_runtime_asserts = False  # omit the assertions derived from guards
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_dynamic_output_shape_ops = True
capture_scalar_outputs = True
specialize_int = True
prefer_deferred_runtime_asserts_over_guards = False
suppress_errors = False
verbose = False


class _Patch(contextlib.ContextDecorator):
    def __init__(self, changes: dict[str, Any]) -> None:
        self._changes = changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        module = sys.modules[__name__]
        self._before.append({name: getattr(module, name) for name in self._changes})
        for name, value in self._changes.items():
            setattr(module, name, value)

    def __exit__(self, *unused: Any) -> None:
        for name, value in self._before.pop().items():
            setattr(sys.modules[__name__], name, value)


def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> _Patch:
    """patch("name", value), patch({"name": value}) or patch(name=value)."""
    changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {})
    changes |= kwargs
    for name in changes:
        if name not in _names():
            raise AttributeError(f"torch._dynamo.config has no setting '{name}'")
    return _Patch(changes)


def _names() -> Iterator[str]:
    return (name for name, value in list(globals().items()) if name[:1] != "_" and not callable(value))
