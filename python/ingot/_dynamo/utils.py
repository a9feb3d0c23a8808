# SPDX-License-Identifier: Apache-2.0
"""Small helpers of torch._dynamo.utils."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import ingot
from ingot._C import Tensor
from ingot._guards import detect_fake_mode  # noqa: F401 (programs import it from here)

# What was captured: frames, stats, graph_break, by reason; see torch._dynamo.utils of PyTorch.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def same(ref: Any, res: Any, tol: float = 1e-4, equal_nan: bool = True, exact_dtype: bool = True) -> bool:
    """Whether two trees of tensors and numbers agree."""
    if isinstance(ref, Tensor):
        if not isinstance(res, Tensor) or (exact_dtype and ref.dtype != res.dtype) or ref.shape != res.shape:
            return False
        return ingot.allclose(ref.double(), res.double(), rtol=tol, atol=tol, equal_nan=equal_nan)
    if isinstance(ref, Mapping):
        return set(ref) == set(res) and all(same(ref[k], res[k], tol, equal_nan, exact_dtype) for k in ref)
    if isinstance(ref, Sequence) and not isinstance(ref, (str, bytes)):
        pairs = zip(ref, res)  # noqa: B905  lengths are compared first
        return len(ref) == len(res) and all(same(a, b, tol, equal_nan, exact_dtype) for a, b in pairs)
    return bool(ref == res)


def is_compile_supported(device_type: str) -> bool:
    """Whether torch.compile works on a device: it does on the CPU."""
    return device_type == "cpu"
