# SPDX-License-Identifier: Apache-2.0
"""There is no GPU: queries that programs make before they use one."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def current_device() -> int:
    raise AssertionError("Torch not compiled with CUDA enabled")


def synchronize(device: Any = None) -> None:
    raise AssertionError("Torch not compiled with CUDA enabled")
