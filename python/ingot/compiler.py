# SPDX-License-Identifier: Apache-2.0
"""torch.compiler: the public names of torch.compile."""
from collections.abc import Callable, Sequence
from typing import Any

from ingot import _C

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "substitute_in_graph",
]  # fmt: skip


def is_compiling() -> bool:
    """Whether this thread captures something: under torch.compile, or for an export."""
    return _C.compile_is_recording() or _C.capture_is_open()


def is_dynamo_compiling() -> bool:
    """Whether this thread captures under torch.compile or for a strict export."""
    return _C.compile_is_recording() or (_C.capture_is_open() and _C.capture_is_strict())


def is_exporting() -> bool:
    return _C.capture_is_open()


def compile(*args: Any, **kwargs: Any) -> Any:  # noqa: A001
    """See torch.compile."""
    from ingot._compile import compile as compiled

    return compiled(*args, **kwargs)


def reset() -> None:
    """Forgets everything that was compiled."""
    import ingot._dynamo

    ingot._dynamo.reset()


def disable(fn: Callable | None = None, recursive: bool = True) -> Any:
    """fn runs uncompiled."""
    import ingot._dynamo

    return ingot._dynamo.disable(fn, recursive)


def allow_in_graph(fn: Any) -> Any:
    import ingot._dynamo

    return ingot._dynamo.allow_in_graph(fn)


def assume_constant_result(fn: Any) -> Any:
    import ingot._dynamo

    return ingot._dynamo.assume_constant_result(fn)


def substitute_in_graph(original_fn: Callable, **kwargs: Any) -> Callable:
    import ingot._dynamo

    return ingot._dynamo.substitute_in_graph(original_fn, **kwargs)


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Names for torch.compile(backend=...)."""
    import ingot._dynamo

    return ingot._dynamo.list_backends(exclude_tags)


def cudagraph_mark_step_begin() -> None:
    """A new step of a model; has a meaning on GPUs only."""
