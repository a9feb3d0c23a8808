# SPDX-License-Identifier: Apache-2.0
"""The distribution `torch`, for programs that ask importlib.metadata whether it is installed and in which version."""

from __future__ import annotations

import importlib.metadata as metadata
from collections.abc import Iterator
from typing import Any


class _Torch(metadata.Distribution):
    """Metadata of a torch whose release is the one that Ingot behaves like."""

    def read_text(self, filename: str) -> str | None:
        from ingot import version

        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {version.torch}\nSummary: Ingot in place of torch\n"

    def locate_file(self, path: Any) -> Any:
        import pathlib

        import ingot

        return pathlib.Path(ingot.__file__).parent.parent / path


def find(context: Any) -> Iterator[Any]:
    """The distribution, if it is the one that is asked for."""
    if context.name == "torch":
        yield _Torch()
