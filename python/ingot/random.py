# SPDX-License-Identifier: Apache-2.0
"""The default generator: seeds, states, and a block that restores it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ingot import _C
from ingot._C import Tensor

default_generator = _C.default_generator


def manual_seed(seed: int) -> Any:
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """A seed from the system; returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **unused: Any) -> Iterator[None]:
    """What is drawn inside does not change the generator outside."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
