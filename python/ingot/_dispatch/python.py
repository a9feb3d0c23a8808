# SPDX-License-Identifier: Apache-2.0
"""Python's dispatcher chooses decompositions of composite operators while shapes are symbolic. The engine has one set
of decompositions, which keep sizes symbolic, so there is nothing to switch."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["enable_python_dispatcher", "no_python_dispatcher", "suspend_functionalization"]


@contextlib.contextmanager
def enable_python_dispatcher() -> Iterator[None]:
    yield


@contextlib.contextmanager
def no_python_dispatcher() -> Iterator[None]:
    yield


@contextlib.contextmanager
def suspend_functionalization() -> Iterator[None]:
    """Programs are functionalized after they were captured: inside of it nothing is."""
    yield
