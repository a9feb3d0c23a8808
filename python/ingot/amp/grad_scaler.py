# SPDX-License-Identifier: Apache-2.0
"""torch.amp.grad_scaler."""

from ingot.amp import GradScaler

__all__ = ["GradScaler"]
