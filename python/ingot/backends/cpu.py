# SPDX-License-Identifier: Apache-2.0
"""torch.backends.cpu: what the machine can do."""

from ingot import _C

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that kernels are chosen for: DEFAULT, AVX2 or AVX512."""
    return _C._cpu_capability()
