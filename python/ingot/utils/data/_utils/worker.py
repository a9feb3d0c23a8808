# SPDX-License-Identifier: Apache-2.0
"""Workers of a DataLoader: what runs in another process or thread."""

from __future__ import annotations

import random
import sys
import threading
from dataclasses import dataclass
from typing import Any

import ingot
from ingot._utils import ExceptionWrapper
from ingot.utils.data._utils.channel import Closed
from ingot.utils.data._utils.fetch import Fetcher

_here = threading.local()


@dataclass
class WorkerInfo:
    """Which worker the calling code runs in."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset})"


def get_worker_info() -> WorkerInfo | None:
    """None outside workers."""
    return getattr(_here, "info", None)


@dataclass(frozen=True)
class Task:
    """Keys of a batch."""

    keys: Any


@dataclass(frozen=True)
class Restart:
    """A new epoch for a worker that stays."""


@dataclass(frozen=True)
class Ended:
    """The worker's copy of an iterable dataset has no more samples."""


@dataclass(frozen=True)
class Batch:
    data: Any


@dataclass
class Setup:
    """What a worker is given."""

    dataset: Any
    iterable: bool
    batched: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    id: int
    num_workers: int
    init_fn: Any
    process: bool

    def fetcher(self) -> Fetcher:
        return Fetcher(self.dataset, self.iterable, self.batched, self.collate_fn, self.drop_last)


def _seed_process(setup: Setup) -> None:
    """Every worker has random numbers of its own, the same as PyTorch's would have."""
    seed = setup.base_seed + setup.id
    random.seed(seed)
    ingot.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        words = [setup.id, setup.base_seed & 0xFFFFFFFF, setup.base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))


class _Worker:
    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.fetcher: Fetcher | None = None
        self.trouble: ExceptionWrapper | None = None
        where = f"in DataLoader worker {'process' if setup.process else 'thread'} {setup.id}"
        self.where = where
        _here.info = WorkerInfo(setup.id, setup.num_workers, setup.base_seed + setup.id, setup.dataset)
        try:
            if setup.process:
                ingot.set_num_threads(1)
                _seed_process(setup)
            if setup.init_fn is not None:
                setup.init_fn(setup.id)
            self.fetcher = setup.fetcher()
        except Exception:  # noqa: BLE001: whatever the user's code raises is raised where the batch is wanted
            self.trouble = ExceptionWrapper(where=where)

    def answer(self, message: Any) -> Any:
        """What a message is answered by; None: nothing."""
        if isinstance(message, Restart):
            self._restart()
            return None
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            return trouble
        try:
            return Batch(self.fetcher.fetch(message.keys))
        except StopIteration:
            if self.setup.iterable:
                return Ended()
            return ExceptionWrapper(where=self.where)
        except Exception:  # noqa: BLE001
            return ExceptionWrapper(where=self.where)

    def _restart(self) -> None:
        try:
            self.fetcher = self.setup.fetcher()
        except Exception:  # noqa: BLE001
            self.trouble = ExceptionWrapper(where=self.where)


def run(channel: Any, setup: Setup, others: list) -> None:
    """The loop of a worker. `others` are ends of the parent's sockets that a fork copied."""
    for other in others:
        other.close()
    worker = _Worker(setup)
    try:
        while True:
            message = channel.receive()
            if message is None:
                return
            reply = worker.answer(message)
            if reply is not None:
                try:
                    channel.send(reply)
                except Closed:
                    return
                except Exception:  # noqa: BLE001: the batch cannot be sent
                    channel.send(ExceptionWrapper(where=worker.where))
            del reply
    except (Closed, KeyboardInterrupt):
        return
    finally:
        _here.info = None
        channel.close()
