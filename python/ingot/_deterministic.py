# SPDX-License-Identifier: Apache-2.0
"""torch.use_deterministic_algorithms. All operators are deterministic, so that the setting changes nothing."""

from __future__ import annotations

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
    "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode", "use_deterministic_algorithms",
]  # fmt: skip


class _Setting:
    on = False
    warn_only = False


_setting = _Setting()


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Operators must be deterministic: they are in any case."""
    _setting.on, _setting.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    return _setting.on


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return _setting.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default": off, 1 or "warn": warnings, 2 or "error": errors."""
    names = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = names[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    return (1 if _setting.warn_only else 2) if _setting.on else 0
