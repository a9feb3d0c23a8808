# SPDX-License-Identifier: Apache-2.0
"""Engines of quantized operators, for tests."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ingot import backends

__all__ = ["override_qengines", "override_quantized_engine", "qengine_is_fbgemm", "qengine_is_qnnpack"]

supported_qengines = [engine for engine in backends.quantized.supported_engines if engine != "none"]


@contextlib.contextmanager
def override_quantized_engine(qengine: str) -> Iterator[None]:
    """Another engine inside of it."""
    before = backends.quantized.engine
    backends.quantized.engine = qengine
    try:
        yield
    finally:
        backends.quantized.engine = before


def override_qengines(qfunction: Callable) -> Callable:
    """A test that runs once with every engine."""

    @functools.wraps(qfunction)
    def test(*args: Any, **kwargs: Any) -> None:
        for engine in supported_qengines:
            with override_quantized_engine(engine):
                qfunction(*args, **kwargs)

    return test


def qengine_is_fbgemm() -> bool:
    return backends.quantized.engine == "fbgemm"


def qengine_is_qnnpack() -> bool:
    return backends.quantized.engine == "qnnpack"


def qengine_is_onednn() -> bool:
    return backends.quantized.engine == "onednn"


def qengine_is_x86() -> bool:
    return backends.quantized.engine == "x86"
