# SPDX-License-Identifier: Apache-2.0
"""torch.types: names for annotations."""

from __future__ import annotations

import builtins
import os
import typing
from collections.abc import Sequence
from typing import Any, Union

from ingot import _C

_TensorOrTensors = Union[_C.Tensor, Sequence[_C.Tensor]]  # noqa: UP007
_TensorOrTensorsOrGradEdge = Union[_C.Tensor, Sequence[_C.Tensor], Any]  # noqa: UP007
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex
_symint = Union[builtins.int, _C.SymInt]  # noqa: UP007
_dtype = _C.dtype
_device = _C.device
_qscheme = type(_C.per_tensor_affine)
_layout = type(_C.strided)
_size = Union[_C.Size, list[builtins.int], tuple[builtins.int, ...]]  # noqa: UP007
_dispatchkey = Union[builtins.str, Any]  # noqa: UP007
Number = Union[builtins.int, builtins.float, builtins.bool]  # noqa: UP007
_Number = (builtins.int, builtins.float, builtins.bool)
FileLike = Union[str, os.PathLike, typing.IO[bytes]]  # noqa: UP007
Device = Union[_C.device, str, int, None]  # noqa: UP007
Storage = _C.UntypedStorage if hasattr(_C, "UntypedStorage") else object


def __getattr__(name: str) -> Any:
    if name in ("SymInt", "SymFloat", "SymBool"):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.types' has no attribute {name!r}")
