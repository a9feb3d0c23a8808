# SPDX-License-Identifier: Apache-2.0
"""Print what torch.compile costs: what the first call takes longer than a later one of a model that ran before, and
what a later call adds to running the graph.

    python bench/compile.py MODELS_FILE [--torch PYTHON] [--only TEXT]

MODELS_FILE has MODELS = {name: maker of (module, args)}. First calls are beside those of torch.compile (inductor) of
the real PyTorch, where that and a C++ compiler are installed; each is measured in a process of its own, with nothing
that an earlier run compiled. The time of the graph itself is that of its forward, called with the same inputs.
"""

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

CHAINS = (1, 10, 100)


def load_models(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("bench_models", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def best(call: Callable[[], Any]) -> float:
    """The least time of the calls of half a second, taken ten at a time."""
    times: list[float] = []
    while sum(times) < 0.05 or len(times) < 5:
        start = time.perf_counter()
        for _ in range(10):
            call()
        times.append((time.perf_counter() - start) / 10)
    return min(times)


def first_call(torch: Any, path: str, name: str) -> float:
    model, args = load_models(path).MODELS[name]()
    model.eval()
    with torch.no_grad():
        model(*args)  # memory and kernels get ready in any case
        compiled = torch.compile(model)
        start = time.perf_counter()
        compiled(*args)
        first = time.perf_counter() - start
        later: list[float] = []
        for _ in range(5):
            start = time.perf_counter()
            compiled(*args)
            later.append(time.perf_counter() - start)
        return max(first - min(later), 1e-6)


def added(torch: Any, n: int) -> list[float]:
    """Seconds that a compiled call of n operators takes, and its graph alone."""

    def chain(x: Any) -> Any:
        for _ in range(n):
            x = x + 1
        return x

    graphs: list[Any] = []

    def keep(gm: Any, example_inputs: list[Any]) -> Callable:
        graphs.append(gm)
        return gm.forward

    compiled = torch.compile(chain, backend=keep)
    x = torch.ones(8)
    with torch.no_grad():
        compiled(x)
        return [best(lambda: compiled(x)), best(lambda: graphs[0].forward(x))]


def measure(provider: str, what: str, path: str, name: str) -> Any:
    if provider == "ingot":
        importlib.import_module("ingot.as_torch")
    torch = importlib.import_module("torch")
    return first_call(torch, path, name) if what == "first" else added(torch, int(name))


def ask(python: str, provider: str, what: str, path: str, name: str) -> Any:
    """In a process of its own, with empty caches; None: it failed."""
    command = [python, __file__, path, "--measure", provider, what, name]
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": empty}
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models")
    parser.add_argument("--torch", help="a Python that has the real PyTorch")
    parser.add_argument("--only", default="")
    parser.add_argument("--measure", nargs=3)
    options = parser.parse_args()
    if options.measure:
        provider, what, name = options.measure
        print(json.dumps(measure(provider, what, options.models, name)))
        return
    importlib.import_module("ingot.as_torch")
    print("torch.compile: first call without the run itself, ms")
    for name in load_models(options.models).MODELS:
        if options.only not in name:
            continue
        ours = ask(sys.executable, "ingot", "first", options.models, name)
        theirs = ask(options.torch, "torch", "first", options.models, name) if options.torch else None
        line = f"  {name:24} ingot {ours * 1e3:9.1f}" if ours is not None else f"  {name:24} ingot fails"
        if ours is not None and theirs is not None:
            line += f"   torch {theirs * 1e3:9.1f}   {theirs / ours:7.0f} times"
        print(line)
    print("torch.compile: a later call, us")
    for n in CHAINS:
        times = ask(sys.executable, "ingot", "later", options.models, str(n))
        if times is None:
            raise SystemExit(f"bench: a chain of {n} operators failed")
        call, graph = times
        print(f"  {n:4} operators: {call * 1e6:8.1f}, of which the graph {graph * 1e6:8.1f}")


if __name__ == "__main__":
    main()
