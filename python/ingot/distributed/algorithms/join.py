# SPDX-License-Identifier: Apache-2.0
"""Training with uneven inputs: the interfaces that joinable classes derive from. Entering the context needs a group of
processes, and there is none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a joined process does while the others still work."""

    def main_hook(self) -> None:
        pass

    def post_hook(self, is_last_joiner: bool) -> None:
        pass


class Joinable(ABC):
    """A class that takes part in the context."""

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook: ...

    @property
    @abstractmethod
    def join_device(self) -> Any: ...

    @property
    @abstractmethod
    def join_process_group(self) -> Any: ...


class Join:
    """The context; `enable=False` runs its block as it is."""

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throw_on_early_termination = throw_on_early_termination

    def __enter__(self) -> None:
        if self._enable:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )

    def __exit__(self, *unused: Any) -> None:
        return None
