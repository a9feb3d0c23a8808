# SPDX-License-Identifier: Apache-2.0
"""torch.amp.autocast_mode."""

from ingot.amp import _cast, autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["_cast", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
