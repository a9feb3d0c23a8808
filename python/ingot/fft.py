# SPDX-License-Identifier: Apache-2.0
"""The operators of Fourier transforms: `fft.name` is the operator aten::fft_name."""

from ingot._prefixed import members

__getattr__, __dir__ = members("fft", globals())
