# SPDX-License-Identifier: Apache-2.0
"""torch.backends.cudnn: there is none; its settings are kept."""

from __future__ import annotations

from typing import Any

from ingot.backends import _settings


def is_available() -> bool:
    return False


def version() -> int | None:
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN could compute with the tensor."""
    return False


_settings.install(
    __name__,
    {
        "enabled": True, "benchmark": False, "benchmark_limit": None, "deterministic": False, "allow_tf32": True,
        "fp32_precision": "none",
    },
    globals(),
)  # fmt: skip
