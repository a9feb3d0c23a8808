# SPDX-License-Identifier: Apache-2.0
"""call_torchbind: a method of an object whose class is registered with TorchScript."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ingot._ops import HigherOrderOperator

__all__ = ["call_torchbind", "enable_torchbind_tracing"]


def _call(obj: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(obj, method)(*args, **kwargs)


call_torchbind = HigherOrderOperator("call_torchbind", _call)


@contextlib.contextmanager
def enable_torchbind_tracing() -> Iterator[None]:
    """Methods of such objects are followed by captures inside of it, as they are outside of it."""
    yield
