# SPDX-License-Identifier: Apache-2.0
"""Versions: Ingot's own, and the release of PyTorch whose behaviour it follows."""

from ingot import __version__
from ingot._compat import level

cuda = None
hip = None


def __getattr__(name: str) -> str:
    if name == "torch":
        return level().version
    raise AttributeError(f"module 'ingot.version' has no attribute {name!r}")


__all__ = ["__version__", "cuda", "hip"]
