# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.device_mesh of a build without torch.distributed: the names exist for annotations."""

from __future__ import annotations

from typing import Any

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """For annotations: meshes need process groups."""


def init_device_mesh(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("init_device_mesh: torch.distributed is not available, and a mesh needs process groups")
