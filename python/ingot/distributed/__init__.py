# SPDX-License-Identifier: Apache-2.0
"""torch.distributed of a build without it: programs ask is_available() first."""

from __future__ import annotations

__all__ = ["ProcessGroup", "is_available"]


def is_available() -> bool:
    return False


class ProcessGroup:
    """For annotations: there are no process groups."""
