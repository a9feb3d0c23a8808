# SPDX-License-Identifier: Apache-2.0
"""Who does the parts of a job: threads of this process, or Ray's or Spark's workers. Each engine is a function that
yields the parts as they are finished; the journal makes it harmless to do one twice."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ingot.batch.files import need

if TYPE_CHECKING:
    from ingot.batch.job import Job


def local(job: Job, parts: list[int], threads: int | None) -> Iterator[int]:
    """A thread reads ahead, `threads` others compute, each with a session of its own, and one writes: at most two parts
    per thread are in memory."""
    count = max(1, min(threads or 1, len(parts)))
    loaded: queue.Queue[Any] = queue.Queue(count)
    computed: queue.Queue[Any] = queue.Queue(count)
    finished: queue.Queue[Any] = queue.Queue()
    stop = threading.Event()

    def put(to: queue.Queue[Any], item: Any) -> None:
        while not stop.is_set():
            try:
                return to.put(item, timeout=0.1)
            except queue.Full:
                continue

    def take(source: queue.Queue[Any]) -> Any:
        while not stop.is_set():
            try:
                return source.get(timeout=0.1)
            except queue.Empty:
                continue
        return None

    def guarded(work: Any) -> None:
        try:
            work()
        except BaseException as error:  # handed to the caller, whose thread raises it
            finished.put(error)

    def read() -> None:
        for part in parts:
            if stop.is_set():
                return
            put(loaded, (part, job.load(part)))
        for _ in range(count):
            put(loaded, None)

    def compute() -> None:
        while (item := take(loaded)) is not None:
            part, (inputs, bad) = item
            put(computed, (part, job.compute(part, inputs, bad)))

    def save() -> None:
        for _ in parts:
            item = take(computed)
            if item is None:
                return
            part, (groups, bad) = item
            job.journal.put(part, groups, bad)
            finished.put(part)

    workers = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in [read, save, *[compute] * count]]
    for worker in workers:
        worker.start()
    try:
        for _ in parts:
            result = finished.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        stop.set()
        for worker in workers:
            worker.join()


class RayWorker:
    """An actor of Ray: opens the model once, and does the parts that it is sent."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        for part in batch["part"]:
            self.job.run(int(part))
        return batch


def ray(job: Job, parts: list[int], workers: int | None) -> Iterator[int]:
    """Ray Data streams the numbers of the parts through actors; it limits how many are under way, starts an actor in
    the place of one that died, and repeats what that one had not finished."""
    data = need("ray.data")
    if not parts:
        return
    numbers = data.from_items([{"part": part} for part in parts], override_num_blocks=len(parts))
    actors = data.ActorPoolStrategy(size=workers or 2)
    done = numbers.map_batches(RayWorker, fn_constructor_args=(job,), batch_size=1, compute=actors)
    for row in done.iter_rows():
        yield int(row["part"])


def spark_parts(job: Job, batches: Iterator[Any]) -> Iterator[Any]:
    """What a task of Spark does: the parts that the record batches name, and gives these back."""
    for batch in batches:
        for part in batch.column("part").to_pylist():
            job.run(part)
        yield batch


def spark(job: Job, parts: list[int], workers: int | None) -> Iterator[int]:
    """Spark does the parts in tasks over Arrow batches, and repeats those that fail."""
    session = need("pyspark.sql").SparkSession.builder.appName("ingot score").getOrCreate()
    if not parts:
        return
    frame = session.range(0, len(parts), 1, numPartitions=min(len(parts), 8 * (workers or 2)))
    numbers = list(parts)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        def named(batch: Any) -> Any:
            chosen = [numbers[i] for i in batch.column("id").to_pylist()]
            return pyarrow.RecordBatch.from_arrays([pyarrow.array(chosen, pyarrow.int64())], names=["part"])

        return spark_parts(job, map(named, batches))

    for row in frame.mapInArrow(work, "part long").toLocalIterator():
        yield int(row["part"])


ENGINES = {"local": local, "ray": ray, "spark": spark}
