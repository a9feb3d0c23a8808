# SPDX-License-Identifier: Apache-2.0
"""Print how long export and run_decompositions take, beside the real PyTorch where it is installed.

    python bench/export.py MODELS_FILE [--torch PYTHON] [--only TEXT]

MODELS_FILE has MODELS = {name: maker of (module, args)} and chain(n), a net of n small operators. Each model is
exported in a process of its own, once without counting (PyTorch also imports what it needs then), and then several
times, of which the best one is used: a machine that is shared runs at half its speed for tenths of seconds.
Of chains, the time per node is what matters; `extra` is the memory that the export added to the process at its peak.
"""

import argparse
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

CHAINS = (1000, 10000, 100000)
TORCH_CHAINS = (1000,)  # 1.2 ms per node: longer ones would take minutes
GUARDS = 10000


def load_models(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("bench_models", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best(call: Callable[[], Any]) -> float:
    """The least time of the calls of a second, of five at least unless they take longer than four seconds."""
    times: list[float] = []
    while sum(times) < (1.0 if len(times) >= 5 else 4.0):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def guarded(torch: Any, export: Any) -> float:
    """Seconds of an export that asks GUARDS different questions about two dynamic sizes, and of solving them."""

    class Asking(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            batch, length = x.shape
            for i in range(GUARDS):
                if batch * (i % 97 + 1) + length * i == i:
                    return -x
            return x + 1

    batch, length = torch.export.Dim("batch", max=4096), torch.export.Dim("length", max=4096)
    args = (torch.zeros(8, 64),)
    return best(lambda: export(Asking(), args, dynamic_shapes=({0: batch, 1: length},), strict=False))


def measure(provider: str, path: str, name: str) -> dict[str, float]:
    """Seconds of a warm export and of run_decompositions, number of nodes, megabytes added by the first export."""
    if provider == "ingot":
        importlib.import_module("ingot.as_torch")
    torch = importlib.import_module("torch")
    export = importlib.import_module("torch.export").export
    torch.set_num_threads(1)
    if name == "guards":
        return {"export": guarded(torch, export)}
    models = load_models(path)
    model, args = models.chain(int(name[6:-1])) if name.startswith("chain(") else models.MODELS[name]()
    model.eval()
    before = peak()
    program = export(model, args, strict=False)
    extra = peak() - before
    nodes = len(program.graph.nodes)
    taken = best(lambda: export(model, args, strict=False))
    return {"export": taken, "decompose": best(program.run_decompositions), "nodes": nodes, "extra": extra}


def ask(python: str, provider: str, path: str, name: str) -> dict[str, float] | str:
    command = [python, __file__, path, "--measure", provider, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["died"])[-1][:60]
    return json.loads(done.stdout.splitlines()[-1])


def line(name: str, results: dict[str, Any]) -> str:
    cells = [f"{name:<16}"]
    for result in results.values():
        if isinstance(result, str):
            cells.append(f"{result:<60}")
        else:
            each = result["export"] / result["nodes"] * 1e6
            cells.append(
                f"{result['nodes']:>7} {result['export'] * 1e3:>10.2f} {result['decompose'] * 1e3:>10.2f} {each:>9.2f} "
                f"{result['extra']:>7.1f}"
            )
    both = [r for r in results.values() if not isinstance(r, str)]
    if len(both) == 2:
        cells += [f"{both[1][what] / both[0][what]:>7.0f}x" for what in ("export", "decompose")]
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models")
    parser.add_argument("--torch", metavar="PYTHON", default=os.environ.get("INGOT_TORCH_PYTHON"))
    parser.add_argument("--only", metavar="TEXT")
    parser.add_argument("--measure", metavar="PROVIDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.models, options.only)))
        return
    importlib.import_module("ingot.as_torch")
    names = [*load_models(options.models).MODELS, *(f"chain({n})" for n in CHAINS), "guards"]
    pythons = {"ingot": sys.executable} | ({"torch": options.torch} if options.torch else {})
    head = f"{'nodes':>7} {'export ms':>10} {'decomp ms':>10} {'us / node':>9} {'MB':>7}"
    print(f"{'':<16}  " + "  ".join(head for _ in pythons) + ("  PyTorch's times / ours" if options.torch else ""))
    for name in names:
        if options.only and options.only not in name:
            continue
        long = name.startswith("chain(") and int(name[6:-1]) not in TORCH_CHAINS
        asked = {p: python for p, python in pythons.items() if p == "ingot" or not long}
        if name == "guards":  # PyTorch would take minutes for them
            found = ask(sys.executable, "ingot", options.models, name)
            print(f"{GUARDS} guards: " + (found if isinstance(found, str) else f"{found['export'] * 1e3:.0f} ms"))
            continue
        print(line(name, {p: ask(python, p, options.models, name) for p, python in asked.items()}), flush=True)


main()
