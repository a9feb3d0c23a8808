# SPDX-License-Identifier: Apache-2.0
"""Print how long a .pt2 of 500 MB takes to save and to load to its first use, and how much memory a run of it needs.

    python bench/pt2.py

Loading maps the file: the weights become pages of it, and only those that are read take memory. Each part runs in a
process of its own, so that peaks are separate."""

import json
import os
import subprocess
import sys
import tempfile
import time

LAYERS, WIDTH = 8, 4096  # 8 * 4096 * 4097 floats: 537 MB


def peak() -> float:
    """Megabytes that the process had at most."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def save(path: str) -> dict[str, float]:
    import ingot
    from ingot import nn

    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    program = ingot.export.export(model, (ingot.ones(2, WIDTH),))
    start = time.perf_counter()
    ingot.export.save(program, path)
    return {"seconds": time.perf_counter() - start, "megabytes": os.path.getsize(path) / 1e6}


def load(path: str) -> dict[str, float]:
    import ingot
    import ingot.export  # imports are not what is measured
    import ingot.serialization

    before = peak()
    start = time.perf_counter()
    module = ingot.export.load(path).module()
    ready = time.perf_counter()
    with ingot.no_grad():
        module(ingot.ones(2, WIDTH))
    weights = os.path.getsize(path) / 2**20
    return {
        "ready": ready - start,
        "first run": time.perf_counter() - ready,
        "peak over weights": (peak() - before) / weights,
    }


def measure(part: str, path: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, part, path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps({"save": save, "load": load}[sys.argv[1]](sys.argv[2])))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "big.pt2")
        saved = measure("save", path)
        loaded = [measure("load", path) for _ in range(3)]
    rate = saved["megabytes"] / saved["seconds"]
    print(f".pt2 of {saved['megabytes']:.0f} MB: saved in {saved['seconds']:.2f} s ({rate:.0f} MB/s)")
    best = {key: min(one[key] for one in loaded) for key in loaded[0]}
    print(
        f"    ready after {best['ready'] * 1e3:.1f} ms (at most 50), first run {best['first run'] * 1e3:.0f} ms, "
        f"peak memory {best['peak over weights']:.3f} times the weights (at most 1.1)"
    )


main()
