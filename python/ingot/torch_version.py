# SPDX-License-Identifier: Apache-2.0
"""Versions that are texts and compare like versions."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "": 0, "post": 1}


def _key(version: Any) -> tuple:
    """Numbers of the release without zeros at its end, stage, local part."""
    if isinstance(version, str):
        text = version
    elif isinstance(version, Iterable):
        text = ".".join(str(item) for item in version)
    else:
        raise ValueError(f"can't convert {version} to Version")
    match = re.fullmatch(r"v?(\d+(?:\.\d+)*)[.-]?(dev|alpha|a|beta|b|rc|post)?\.?(\d*)(?:\+([\w.]+))?", text)
    if match is None:
        raise ValueError(f"Invalid version: '{text}'")
    release = [int(n) for n in match[1].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    return release, _STAGES[match[2] or ""], int(match[3] or 0), match[4] or ""


class TorchVersion(str):
    """A text; compared with a text or with numbers (`TorchVersion("2.5.1") >= (2, 5)`) it is a version."""

    __slots__ = ()

    def _compare(self, other: Any, name: str) -> bool:
        try:
            return bool(getattr(tuple, name)(_key(str(self)), _key(other)))
        except ValueError:
            return bool(getattr(str, name)(self, other))

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, "__ge__")

    def __eq__(self, other: object) -> bool:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> bool:
        return not self._compare(other, "__eq__")

    __hash__ = str.__hash__
