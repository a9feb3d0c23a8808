# SPDX-License-Identifier: Apache-2.0
"""Handles of hooks: what registering returns, so that a hook can be removed again."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Removes one hook from the dicts that hold it; also a context manager."""

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        extra = (
            [extra_dict] if hasattr(extra_dict, "pop") and not isinstance(extra_dict, list) else list(extra_dict or ())
        )
        self.id = next(_ids)
        self._dicts = [weakref.ref(d) for d in (hooks_dict, *extra)]

    def remove(self) -> None:
        for ref in self._dicts:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.id, [ref() for ref in self._dicts]

    def __setstate__(self, state: tuple) -> None:
        self.id = state[0]
        self._dicts = [weakref.ref(HookDict() if d is None else d) for d in state[1]]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.remove()


class HookDict(dict):
    """A dict that can be referred to weakly and that keeps order when a hook is put first."""

    def add(self, hook: Any, prepend: bool = False, *marks: Any) -> RemovableHandle:
        """Put a hook in; the marks are further dicts that get its id."""
        handle = RemovableHandle(self, extra_dict=marks)
        if prepend:
            others = dict(self)
            self.clear()
            self[handle.id] = hook
            self.update(others)
        else:
            self[handle.id] = hook
        for mark in marks:
            mark[handle.id] = True
        return handle
