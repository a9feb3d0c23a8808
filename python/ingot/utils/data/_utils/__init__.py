# SPDX-License-Identifier: Apache-2.0
"""What the DataLoader is made of."""

from ingot.utils.data._utils import channel, collate, fetch, worker

__all__ = ["channel", "collate", "fetch", "worker"]
