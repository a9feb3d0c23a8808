# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.amp: the older names of torch.amp, with the device "cuda"."""

from __future__ import annotations

from typing import Any

import ingot.amp
from ingot.amp import custom_bwd, custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(ingot.amp.autocast):
    """torch.amp.autocast("cuda", ...)"""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(ingot.amp.GradScaler):
    """torch.amp.GradScaler("cuda", ...)"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)
