# SPDX-License-Identifier: Apache-2.0
"""torch.backends: settings of the libraries that compute."""

from ingot.backends import _settings, cpu, cuda, cudnn, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized

__all__ = [
    "cpu", "cuda", "cudnn", "disable_global_flags", "flags_frozen", "mkl", "mkldnn", "mps", "nnpack", "openmp",
    "opt_einsum", "quantized",
]  # fmt: skip


def disable_global_flags() -> None:
    """Settings stay assignable: no library here reads them at the wrong time."""


def flags_frozen() -> bool:
    return False


_settings.install(__name__, {"fp32_precision": "none"}, globals())
