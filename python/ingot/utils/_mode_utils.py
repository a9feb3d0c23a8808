# SPDX-License-Identifier: Apache-2.0
"""Blocks without dispatch modes."""

from __future__ import annotations

from typing import Any

from ingot.utils._python_dispatch import _DisableTorchDispatch

no_dispatch = _DisableTorchDispatch


def all_same_mode(modes: list[Any]) -> bool:
    """Whether all modes are the first one."""
    return all(m is modes[0] for m in modes)
