# SPDX-License-Identifier: Apache-2.0
"""The operators of Fourier transforms: `fft.name` is the operator aten::fft_name."""

from typing import Any

from ingot import _C


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            found = globals()[name] = _C.op("fft_" + name)
            return found
        except AttributeError:
            pass
    raise AttributeError(f"module 'ingot.fft' has no attribute {name!r}")
