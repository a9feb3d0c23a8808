# SPDX-License-Identifier: Apache-2.0
"""torch.amp.autocast_mode."""

from typing import Any

from ingot.amp import _cast, autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["_cast", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def _enter_autocast(*vals: Any) -> Any:
    """Enters autocast with these arguments; graphs record the call."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode: Any) -> None:
    """Leaves what _enter_autocast entered."""
    mode.__exit__(None, None, None)
