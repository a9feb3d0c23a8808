# SPDX-License-Identifier: Apache-2.0
"""Print how many rows per second `ingot score` does, beside a bare loop over the same session.

    python bench/score.py [--rows 40000] [--width 512] [--layers 6] [--batch 64] [--rounds 5] [--engines local,ray]

The model is a stack of linear layers and ReLUs, with one thread. `bare` opens a session and runs it over an array that
is in memory, batch by batch, keeping the results; the others are whole jobs: they read the data, run the model, write
the parts to the disk and then the output. All of them open the model anew. They are measured in turn, and the medians
are printed; `share` is of the rows per second of `bare`, `processor` the same in processor time of this process, which
says more where others use the machine, and `alone` that of the thread that runs the model: what is left if reading
and writing have a core of their own. Jobs of Ray run on a cluster of this machine that is started
before. Formats and engines whose packages are missing are left out, by name.
"""

import argparse
import importlib.util
import logging
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy

import ingot
from ingot.batch import score
from ingot.batch.job import Job


def make_model(path: pathlib.Path, width: int, layers: int) -> None:
    """A stack of layers with a free number of rows."""
    ingot.manual_seed(0)
    stack = [layer for _ in range(layers) for layer in (ingot.nn.Linear(width, width), ingot.nn.ReLU())]
    model = ingot.nn.Sequential(*stack, ingot.nn.Linear(width, 10)).eval()
    rows = {0: ingot.export.Dim("rows")}
    ingot.export.save(ingot.export.export(model, (ingot.ones(8, width),), dynamic_shapes=(rows,)), path)


def bare(model: pathlib.Path, x: numpy.ndarray, batch: int) -> None:
    """What the runtime takes without any of the work around it."""
    session = ingot.open(model)
    results = [session(x[start : start + batch]) for start in range(0, len(x), batch)]
    assert sum(len(result) for result in results) == len(x)


def write_data(folder: pathlib.Path, name: str, x: numpy.ndarray) -> dict[str, pathlib.Path]:
    """The rows in each format whose packages are there."""
    numpy.savez(folder / "in.npz", **{name: x})
    files = {"npz": folder / "in.npz"}
    if importlib.util.find_spec("pyarrow"):
        from ingot.batch.files import arrow_column

        pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
        files["parquet"] = folder / "in.parquet"
        parquet.write_table(pyarrow.table({name: arrow_column(x)}), files["parquet"], row_group_size=8192)
    else:
        print("left out: parquet (no pyarrow)")
    return files


def start_ray(cpus: int) -> None:
    """A cluster of this machine, whose workers find the package where this process does."""
    ray = importlib.import_module("ray")
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}}
    ray.init(num_cpus=cpus, include_dashboard=False, logging_level="ERROR", runtime_env=environment)
    logging.getLogger("ray.data").setLevel(logging.ERROR)


class Computing:
    """Seconds of processor time that jobs spend in running the model."""

    def __init__(self) -> None:
        self.seconds = 0.0
        compute = Job.compute

        def timed(job: Job, *arguments: Any) -> Any:
            begin = time.thread_time()
            try:
                return compute(job, *arguments)
            finally:
                self.seconds += time.thread_time() - begin

        Job.compute = timed


def report(rows: int, times: dict[str, list[tuple[float, float, float]]]) -> None:
    """A line per way. times: seconds by the clock, of the processor and in the model, per round."""
    print(f"{'':16} {'rows/s':>9} {'seconds':>8} {'share':>6} {'processor':>9} {'alone':>6}")
    for name, found in times.items():
        clock = statistics.median(t[0] for t in found)
        ratios = [[b[k] / max(t[k], 1e-9) for t, b in zip(found, times["bare"])] for k in range(3)]
        clock_share, processor, alone = map(statistics.median, ratios)
        rest = f"{processor:9.1%} {alone:6.1%}" if not name.startswith("ray") else ""  # is in other processes
        print(f"{name:16} {rows / clock:9.0f} {clock:8.3f} {clock_share:6.1%} {rest}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=40000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default="local")
    options = parser.parse_args()
    ingot.set_num_threads(1)
    x = numpy.random.default_rng(0).standard_normal((options.rows, options.width)).astype("float32")
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        model = folder / "model.pt2"
        make_model(model, options.width, options.layers)
        data = write_data(folder, ingot.open(model).inputs[0].name, x)
        ways: dict[str, Callable[[], object]] = {"bare": lambda: bare(model, x, options.batch)}
        for engine in options.engines.split(","):
            if engine != "local" and not importlib.util.find_spec({"spark": "pyspark"}.get(engine, engine)):
                print(f"left out: {engine} (not installed)")
                continue
            if engine == "ray":
                start_ray(os.cpu_count() or 1)
            for kind, path in data.items():
                ways[f"{engine}, {kind}"] = lambda engine=engine, kind=kind, path=path: score(
                    model, path, folder / f"out.{kind}", batch=options.batch, engine=engine, workers=1
                )
        computing = Computing()
        times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                computing.seconds = 0.0
                clock, processor, thread = time.perf_counter(), time.process_time(), time.thread_time()
                way()
                inside = time.thread_time() - thread if name == "bare" else computing.seconds
                times[name].append((time.perf_counter() - clock, time.process_time() - processor, inside))
        report(options.rows, times)


if __name__ == "__main__":
    main()
