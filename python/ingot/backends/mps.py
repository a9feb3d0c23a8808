# SPDX-License-Identifier: Apache-2.0
"""torch.backends.mps: not built."""

from ingot._no_device import no as is_available
from ingot._no_device import no as is_built

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_macos_or_newer(major: int, minor: int) -> bool:
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    return is_macos_or_newer(13, minor)
