# SPDX-License-Identifier: Apache-2.0
"""Print Ingot's figures, beside those of the real PyTorch where it is installed, measured in turn in one run.

    python bench/run.py BUILD [--torch PYTHON] [--peers PYTHON] [--models FILE] [--threads 1,2] [--only TEXT]
                              [--json FILE]

PyTorch is looked for in this Python and in $INGOT_TORCH_PYTHON, ONNX Runtime and OpenVINO in this one and in
$INGOT_PEERS_PYTHON. FILE has MODELS = {name: maker of (module, args)}; by
default it is ../shared/bench/models.py if that is there. Only ratios of one run mean something.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3


class Worker:
    """A process that measures one provider."""

    def __init__(self, provider: str, python: str, models: str | None) -> None:
        self.provider = provider
        command = [python, str(HERE / "worker.py"), provider, *([models] if models else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: the process of {self.provider} died at {request}")
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["ok"]


def find_python(given: str | None, variable: str, modules: str) -> str | None:
    """A Python that has these modules."""
    for python in filter(None, (given, os.environ.get(variable), sys.executable)):
        if subprocess.run([python, "-c", f"import {modules}"], capture_output=True).returncode == 0:
            return python
    return None


def interleaved(workers: list[Worker], **request: Any) -> dict[str, Any]:
    """Each provider's best time of several rounds, taken in turn; an error's text instead if there is one."""
    times: dict[str, Any] = {}
    for _ in range(ROUNDS):
        for worker in workers:
            if not isinstance(times.get(worker.provider), str):
                try:
                    now = worker.ask(**request)
                    times[worker.provider] = min(times.get(worker.provider, now), now)
                except RuntimeError as error:
                    times[worker.provider] = str(error)
    return times


def show(name: str, times: dict[str, Any]) -> None:
    cells = [t if isinstance(t, str) else f"{t * 1e6:12.2f}" for t in times.values()]
    ours, theirs = times.get("ingot"), times.get("torch")
    both = isinstance(ours, float) and isinstance(theirs, float)
    print(f"{name:<44} {' '.join(cells)}" + (f" {ours / theirs:8.2f}" if both else ""), flush=True)


def agreement(workers: list[Worker], name: str, threads: int) -> float:
    """The largest difference of the outputs, relative to their size; both providers get the same weights."""
    ours, theirs = workers
    with tempfile.TemporaryDirectory() as folder:
        state = f"{folder}/state.npz"
        theirs.ask(kind="exchange", name=name, path=state, write=True)
        ours.ask(kind="exchange", name=name, path=state, write=False)
        worst = 0.0
        for worker in workers:
            worker.ask(kind="output", name=name, path=f"{folder}/{worker.provider}.npz", threads=threads)
        with numpy.load(f"{folder}/ingot.npz") as a, numpy.load(f"{folder}/torch.npz") as b:
            for key in b.files:
                worst = max(worst, float(numpy.abs(a[key] - b[key]).max() / (numpy.abs(b[key]).max() + 1e-9)))
        return worst


def import_time(python: str, module: str) -> float:
    """Seconds that the import adds to starting Python."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([python, "-c", code], check=True)
        return time.perf_counter() - start

    with_module = min(once(f"import {module}") for _ in range(10))
    return max(with_module - min(once("pass") for _ in range(10)), 0.0)


def package_size(build: pathlib.Path) -> float:
    """Megabytes of what `pip install` puts in place."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["meson", "install", "-C", str(build), "--tags=python-runtime", "--strip", "--quiet", "--no-rebuild"]
        subprocess.run([*command, "--destdir", folder], check=True, stdout=subprocess.DEVNULL)
        return sum(p.stat().st_size for p in pathlib.Path(folder).rglob("*") if p.is_file()) / 1e6


def run_c(build: pathlib.Path) -> None:
    for path in sorted((build / "bench").glob("bench_*")):
        if path.is_file():
            subprocess.run([path], check=True)


def measure(options: argparse.Namespace, workers: list[Worker]) -> dict[str, dict[str, Any]]:
    results = {}
    print(f"{'microseconds':<44} " + " ".join(f"{w.provider:>12}" for w in workers) + "    ratio")
    for threads in map(int, options.threads.split(",")):
        plan = [("case", name, {}) for name in workers[0].ask(kind="cases")]
        plan += [("model", name, {"backward": False}) for name in workers[0].ask(kind="models")]
        plan += [("model", name, {"backward": True}) for name in workers[0].ask(kind="models") if name == "bert_base"]
        for kind, name, extra in plan:
            label = f"{name}{', backward' if extra.get('backward') else ''}, {threads} thread{'s' * (threads > 1)}"
            if options.only and options.only not in label:
                continue
            if kind == "model" and len(workers) == 2 and not extra["backward"]:
                try:
                    difference = agreement(workers, name, threads)
                    results[f"{label}, difference"] = {"ingot": difference}
                    if difference > 1e-4:
                        print(f"{label}: outputs differ by {difference:.1e}")
                except RuntimeError as error:
                    print(f"{label}: {error}")
                    continue
            budget = 0.2 if kind == "case" else 0.5
            times = interleaved(workers, kind=kind, name=name, threads=threads, budget=budget, **extra)
            results[label] = times
            show(label, times)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--models", metavar="FILE")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", metavar="TEXT")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    models = options.models
    if models is None and (HERE.parent.parent / "shared/bench/models.py").is_file():
        models = str(HERE.parent.parent / "shared/bench/models.py")

    workers = [Worker("ingot", sys.executable, models)]
    torch_python = find_python(options.torch, "INGOT_TORCH_PYTHON", "torch, numpy")
    if torch_python:
        workers.append(Worker("torch", torch_python, models))
    else:
        print("bench: PyTorch is not installed here; its column is left out")
    if not options.only:
        run_c(options.build)
        print(f"import ingot: {import_time(sys.executable, 'ingot') * 1e3:.0f} ms")
        print(f"installed package: {package_size(options.build):.1f} MB")
    results = measure(options, workers)
    if not options.only:
        subprocess.run([sys.executable, str(HERE / "pt2.py")], check=True)
        subprocess.run(
            [sys.executable, str(HERE / "script.py"), *(["--torch", torch_python] if torch_python else [])], check=True
        )
    if models and not options.only:
        for script in ("export.py", "onnx_export.py", "compile.py"):
            command = [sys.executable, str(HERE / script), models]
            subprocess.run([*command, *(["--torch", torch_python] if torch_python else [])], check=True)
        found = (find_python(options.peers, "INGOT_PEERS_PYTHON", f"numpy, {p}") for p in ("onnxruntime", "openvino"))
        peers = next(filter(None, found), sys.executable)
        command = [sys.executable, str(HERE / "runtime.py"), models, "--peers", peers, "--threads", options.threads]
        for extra in ([], ["--dynamic"]):
            subprocess.run([*command, *extra], check=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


main()
