# SPDX-License-Identifier: Apache-2.0
"""Print how many runs per second several sessions of one model do together.

    python bench/sessions.py MODEL [--inputs io.npz] [--sessions 1,2,4,8] [--threads 1] [--seconds 2]

Every session runs in a thread of its own, over and over; they share the weights. The last columns are relative to as
many sessions as there are cores, and the processor time of a run. More sessions than cores should not be slower
together: nothing of a run is shared but the weights and, with more than one thread, the pool, which a session that
finds it taken does without.
"""

import argparse
import os
import sys
import threading
import time
from typing import Any

import numpy

import ingot


def arrays_of(session: Any, path: str | None) -> list[numpy.ndarray]:
    if path:
        with numpy.load(path) as data:
            return [data[key] for key in data.files]
    types = {"float32": numpy.float32, "int64": numpy.int64}
    given = []
    for port in session.inputs:
        shape = [n if isinstance(n, int) else 1 for n in port.shape]
        given.append(numpy.zeros(shape, types[str(port.dtype).removeprefix("ingot.").removeprefix("torch.")]))
    return given


def throughput(path: str, inputs: str | None, count: int, seconds: float) -> tuple[float, float]:
    """Runs per second, and seconds of processor time per run."""
    sessions = [ingot.open(path) for _ in range(count)]
    arrays = arrays_of(sessions[0], inputs)
    runs = [0] * count
    stop = threading.Event()
    ready = threading.Barrier(count + 1)

    def work(i: int) -> None:
        sessions[i](*arrays)
        ready.wait()
        while not stop.is_set():
            sessions[i](*arrays)
            runs[i] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for worker in workers:
        worker.start()
    ready.wait()
    start, used, before = time.perf_counter(), time.process_time(), sum(runs)
    time.sleep(seconds)
    elapsed, spent, done = time.perf_counter() - start, time.process_time() - used, sum(runs) - before
    stop.set()
    for worker in workers:
        worker.join()
    return done / elapsed, spent / max(done, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--inputs")
    parser.add_argument("--sessions", default="1,2,4,8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    ingot.set_num_threads(options.threads)
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    counts = list(map(int, options.sessions.split(",")))
    found: dict[int, list[tuple[float, float]]] = {n: [] for n in {*counts, cores}}
    for _ in range(3):  # in turn: the machine's load changes
        for n in found:
            found[n].append(throughput(options.model, options.inputs, n, options.seconds / 3))
    base = sorted(rate for rate, _ in found[cores])[1]
    print(f"{'sessions':>8} {'runs/s':>10} {'ratio':>7} {'cpu ms':>9}")
    for n in sorted(found):
        rate = sorted(r for r, _ in found[n])[1]
        print(f"{n:>8} {rate:>10.1f} {rate / base:>7.2f} {sorted(c for _, c in found[n])[1] * 1e3:>9.3f}")


if __name__ == "__main__":
    main()
