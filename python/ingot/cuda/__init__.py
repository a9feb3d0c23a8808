# SPDX-License-Identifier: Apache-2.0
"""torch.cuda on a machine without it: queries are answered, use is refused."""

from __future__ import annotations

from typing import Any

from ingot import _no_device
from ingot._tensor_types import cuda_types

globals().update(_no_device.names("torch.cuda", "CUDA"))
globals().update(cuda_types())

default_stream = ipc_collect = _no_device.refusal("CUDA")
reset_max_memory_allocated = reset_max_memory_cached = default_stream
CUDAGraph = _no_device.dummy("CUDAGraph")
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""


class DeferredCudaCallError(Exception):
    """An error of a call that was postponed until CUDA is initialized."""


def __getattr__(name: str) -> Any:
    if name == "OutOfMemoryError":
        from ingot._errors import OutOfMemoryError

        return OutOfMemoryError
    raise AttributeError(f"module 'torch.cuda' has no attribute {name!r}")


def is_current_stream_capturing() -> bool:
    raise RuntimeError("Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing")


def set_device(device: Any) -> None:
    """Only "no device", a negative index, can be selected."""
    index = getattr(device, "index", device)
    if not isinstance(index, int) or index >= 0:
        default_stream()


class graph:
    """A context that captures into a CUDAGraph: there is no CUDA to capture."""

    def __init__(self, cuda_graph: Any, *args: Any, **kwargs: Any) -> None:
        default_stream()
