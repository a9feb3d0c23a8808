# SPDX-License-Identifier: Apache-2.0
"""Versions: Ingot's own, and the release of PyTorch whose behaviour it follows."""

from ingot import __version__

torch = "2.13.0+ingot"
cuda = None
hip = None
__all__ = ["__version__", "cuda", "hip", "torch"]
