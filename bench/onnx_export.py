# SPDX-License-Identifier: Apache-2.0
"""Print how long it takes from a module to an ONNX model, beside the real PyTorch where it is installed.

    python bench/onnx_export.py MODELS_FILE [--torch PYTHON] [--only TEXT]

MODELS_FILE has MODELS = {name: maker of (module, args)} and chain(n), a net of n small operators. Each model goes
through torch.onnx.export(dynamo=True, verify=False) in a process of its own, after a small one that brings the imports
in; no file is written, because that measures the disk. `capture` is what torch.export takes alone. `checked` is
Ingot's export as it is by default: the written model also runs on the examples, twice, and is compared.
"""

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from typing import Any

CHAINS = (1000, 10000, 100000)
TORCH_CHAINS = (1000,)


def load_models(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("bench_models", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(provider: str, path: str, name: str) -> dict[str, float]:
    """Seconds of the whole export, of the capture alone, and the number of nodes of the program."""
    if provider == "ingot":
        importlib.import_module("ingot.as_torch")
    torch = importlib.import_module("torch")
    export = importlib.import_module("torch.onnx").export
    torch.set_num_threads(1)
    models = load_models(path)
    model, args = models.chain(int(name[6:-1])) if name.startswith("chain(") else models.MODELS[name]()
    model.eval()
    export(torch.nn.ReLU(), (torch.randn(2),), dynamo=True, verify=False)
    start = time.perf_counter()
    export(model, args, dynamo=True, verify=False)
    end = time.perf_counter()
    program = importlib.import_module("torch.export").export(model, args)
    captured = time.perf_counter() - end
    result = {"export": end - start, "capture": captured, "nodes": len(program.graph.nodes)}
    if provider == "ingot":
        start = time.perf_counter()
        export(model, args, dynamo=True)
        result["checked"] = time.perf_counter() - start
    return result


def ask(python: str, provider: str, path: str, name: str) -> dict[str, float] | str:
    command = [python, __file__, path, "--measure", provider, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["died"])[-1][:60]
    return json.loads(done.stdout.splitlines()[-1])


def line(name: str, results: list[Any]) -> str:
    cells = [f"{name:<16}"]
    for result in results:
        if isinstance(result, str):
            cells.append(f"{result:<60}")
            continue
        each = result["export"] / result["nodes"] * 1e6
        cells.append(
            f"{result['nodes']:>7} {result['export'] * 1e3:>10.1f} {result['capture'] * 1e3:>10.1f} {each:>9.2f}"
        )
        if "checked" in result:
            cells[-1] += f" {result['checked'] * 1e3:>10.1f}"
    both = [r for r in results if not isinstance(r, str)]
    if len(both) == 2:
        cells.append(f"{both[1]['export'] / both[0]['export']:>8.0f}x")
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models")
    parser.add_argument("--torch", help="a Python that has PyTorch, onnx and onnxscript")
    parser.add_argument("--only", default="")
    parser.add_argument("--measure", choices=("ingot", "torch"))
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.models, args.only)))
        return
    importlib.import_module("ingot.as_torch")
    names = [*load_models(args.models).MODELS, *(f"chain({n})" for n in CHAINS)]
    head = f"{'nodes':>7} {'export ms':>10} {'capture':>10} {'us/node':>9}"
    print(f"{'model':<16}  {head} {'checked':>10}" + (f"  {head}   faster" if args.torch else ""))
    for name in names:
        if args.only not in name:
            continue
        results: list[Any] = [ask(sys.executable, "ingot", args.models, name)]
        if args.torch and (not name.startswith("chain(") or name in {f"chain({n})" for n in TORCH_CHAINS}):
            results.append(ask(args.torch, "torch", args.models, name))
        print(line(name, results), flush=True)


if __name__ == "__main__":
    main()
