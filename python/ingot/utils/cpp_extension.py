# SPDX-License-Identifier: Apache-2.0
"""Extensions in C++ are compiled against PyTorch's headers, which Ingot does not have: its own interface is C. Code
that asks for a compiler first finds none for CUDA; code that goes on is told why it cannot."""
from __future__ import annotations

from typing import Any

__all__ = [
    "BuildExtension", "CUDAExtension", "CUDA_HOME", "CppExtension", "ROCM_HOME", "include_paths", "is_ninja_available",
    "library_paths", "load", "load_inline", "verify_ninja_availability",
]  # fmt: skip

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None


def _refuse(name: str) -> RuntimeError:
    return RuntimeError(
        f"torch.utils.cpp_extension.{name}: extensions in C++ need PyTorch's headers and libraries; operators can be "
        "added from Python with torch.library, and from C with ingot/library.h"
    )


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    raise _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> Any:
    raise _refuse("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N802 (PyTorch's name)
    raise _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N802 (PyTorch's name)
    raise OSError("CUDA_HOME environment variable is not set. Please set it to your CUDA install root.")


class BuildExtension:
    """The command of setuptools that builds such extensions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _refuse("BuildExtension")


def include_paths(device_type: Any = "cpu") -> list[str]:
    """No folder has headers of PyTorch."""
    return []


def library_paths(device_type: Any = "cpu") -> list[str]:
    return []


def is_ninja_available() -> bool:
    import shutil

    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions")
