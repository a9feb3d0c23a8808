# SPDX-License-Identifier: Apache-2.0
"""DataLoader: batches of a dataset, made here, in worker processes, or in worker threads.

Tasks go to the workers in turn, and each answers its own in order, so the next batch is always the next message of
the next worker. A worker that dies closes its channel, which is noticed at once.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import ingot
from ingot._utils import ExceptionWrapper
from ingot.utils.data._utils import worker as _worker
from ingot.utils.data._utils.channel import Closed, ProcessChannel, ThreadChannel
from ingot.utils.data._utils.collate import default_collate, default_convert
from ingot.utils.data._utils.fetch import Fetcher
from ingot.utils.data._utils.worker import get_worker_info
from ingot.utils.data.dataset import Dataset, IterableDataset
from ingot.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)
_THREADS = "thread"


class _DatasetKind:
    Map = 0
    Iterable = 1


class _InfiniteConstantSampler(Sampler):
    """The keys of an iterable dataset, which has none."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """PyTorch's DataLoader. multiprocessing_context="thread" makes workers threads of this process."""

    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            given = (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler))
            for name, value in given:
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None
        self._iterator: Any = None
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={self.num_workers}"
            )
        if isinstance(context, str) and context != _THREADS:
            valid = multiprocessing.get_all_start_methods()
            if context not in valid:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {valid!r}, but got "
                    f"multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if context not in (None, _THREADS) and not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start "
                f"method, but got multiprocessing_context={context}"
            )
        self.__multiprocessing_context = context

    def __setattr__(self, attr: str, val: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and attr in fixed:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        affinity = getattr(os, "sched_getaffinity", None)
        most = len(affinity(0)) if affinity else os.cpu_count()
        if not self.num_workers or most is None or self.num_workers <= most:
            return
        checked = "" if affinity else " (`cpuset` is not taken into account)"
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of "
            f"worker in current system is {most}{checked}, which is smaller than what this DataLoader is going to "
            "create. Please be aware that excessive worker creation might get DataLoader running slow or even freeze, "
            "lower the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


class _BaseDataLoaderIter:
    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=4,
            )
        elif loader.pin_memory_device:
            warnings.warn(
                "pin memory device is set and pin_memory flag is not used then device pinned memory won't be used"
                "please set pin_memory to true, if you need to use the device pin memory",
                stacklevel=4,
            )
        self._start(loader)
        # Drawn before the sampler draws anything, and once for workers that stay.
        self._base_seed = ingot.empty((), dtype=ingot.int64).random_(generator=loader.generator).item()

    def _start(self, loader: DataLoader) -> None:
        """An epoch."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._promised = loader._IterableDataset_len_called

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if self._promised is not None and self._num_yielded > self._promised:
            self._warn_about_length()
        return data

    def _warn_about_length(self) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._promised}(when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(text, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("timeout needs num_workers > 0")
        iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._fetcher = Fetcher(loader.dataset, iterable, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))


class _Handle:
    """A worker as the loader sees it."""

    def __init__(self, channel: Any, runner: Any, far: Any) -> None:
        self.channel = channel
        self.runner = runner  # the process or thread
        self.far = far  # the worker's end, until it runs
        self.active = True

    @property
    def pid(self) -> int | None:
        return getattr(self.runner, "pid", None)


def _stop(handles: list[_Handle]) -> None:
    """End all workers: those that wait end by themselves, the others are terminated."""
    for handle in handles:
        try:
            handle.channel.send(None)
        except (Closed, OSError):
            pass
        handle.channel.close()
    for handle in handles:
        if isinstance(handle.runner, threading.Thread):
            continue  # it ends after its task
        try:
            handle.runner.join(timeout=2)
            if handle.runner.is_alive():
                handle.runner.terminate()
                handle.runner.join()
        except (AssertionError, ValueError):  # a fork of the loader's process owns the iterator, not the workers
            pass


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be positive")
        self._timeout = loader.timeout or None
        self._persistent = loader.persistent_workers
        self._threads = loader.multiprocessing_context == _THREADS
        self._workers: list[_Handle] = []
        self._finalizer = weakref.finalize(self, _stop, self._workers)
        for i in range(loader.num_workers):
            self._workers.append(self._launch(loader, i))
        self._begin()

    def _launch(self, loader: DataLoader, i: int) -> _Handle:
        near, far = (ThreadChannel if self._threads else ProcessChannel).pair()
        setup = _worker.Setup(
            dataset=loader.dataset, iterable=loader._dataset_kind == _DatasetKind.Iterable,
            batched=loader._auto_collation, collate_fn=loader.collate_fn, drop_last=loader.drop_last,
            base_seed=self._base_seed, id=i, num_workers=loader.num_workers, init_fn=loader.worker_init_fn,
            process=not self._threads,
        )  # fmt: skip
        if self._threads:
            runner: Any = threading.Thread(target=_worker.run, args=(far, setup, []), daemon=True)
            runner.start()
            return _Handle(near, runner, None)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        forked = context.get_start_method() == "fork"
        others = [near, *(w.channel for w in self._workers)] if forked else []
        runner = context.Process(target=_worker.run, args=(far, setup, others), daemon=True)
        runner.start()
        far.close()
        return _Handle(near, runner, None)

    def _begin(self) -> None:
        """Hand out the first tasks."""
        self._turn = 0
        self._waiting: deque[_Handle] = deque()  # workers of the tasks that are under way, oldest first
        for handle in self._workers:
            handle.active = True
        for _ in range(self._loader.prefetch_factor * len(self._workers)):
            self._hand_out()

    def _reset(self, loader: DataLoader) -> None:
        while self._waiting:  # what the last epoch did not take
            self._answer_of(self._waiting.popleft())
        self._start(loader)
        for handle in self._workers:
            handle.channel.send(_worker.Restart())
        self._begin()

    def _hand_out(self) -> None:
        """The next task to the next worker that has samples left."""
        for _ in self._workers:
            handle = self._workers[self._turn]
            self._turn = (self._turn + 1) % len(self._workers)
            if handle.active:
                break
        else:
            return
        try:
            keys = next(self._sampler_iter)
        except StopIteration:
            return
        try:
            handle.channel.send(_worker.Task(keys))
        except Closed:
            self._report_death(handle)
        self._waiting.append(handle)

    def _report_death(self, handle: _Handle) -> None:
        if not self._threads:
            handle.runner.join(timeout=1)
        pids = ", ".join(str(w.pid) for w in self._workers if not w.runner.is_alive()) or str(handle.pid)
        self._finalizer()
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")

    def _answer_of(self, handle: _Handle) -> Any:
        try:
            return handle.channel.receive(self._timeout)
        except TimeoutError:
            self._finalizer()
            raise RuntimeError(f"DataLoader timed out after {self._loader.timeout} seconds") from None
        except Closed:
            return self._report_death(handle)

    def _next_data(self) -> Any:
        while self._waiting:
            handle = self._waiting.popleft()
            answer = self._answer_of(handle)
            if isinstance(answer, _worker.Ended):
                handle.active = False
                self._hand_out()
                continue
            self._hand_out()
            if isinstance(answer, ExceptionWrapper):
                answer.reraise()
            return answer.data
        if not self._persistent:
            self._finalizer()
        raise StopIteration
