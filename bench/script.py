# SPDX-License-Identifier: Apache-2.0
"""Print what scripts cost, beside the real PyTorch where it is installed.

    python bench/script.py [--torch PYTHON] [--only TEXT]

`cold` is the first torch.jit.script of a process (imports are done), `warm` the same source compiled again from a file
of its own, so that only the library's part can be known already. `trace` and `onnx` are torch.jit.trace (unchecked) and
torch.onnx.export(dynamo=False) of the module, after a small one. The last lines are microseconds per operator of a
compiled function over numbers of one element. Every provider has a process per case; the processes take turns.
"""

import argparse
import importlib
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

MODELS = pathlib.Path(__file__).with_name("script_models.py")
ROUNDS = 2
COPIES = 6


def long_function(lines: int) -> str:
    """A function of so many statements, of the kinds that users write."""
    text = ["def long(x: Tensor, y: Tensor, n: int) -> Tensor:"]
    kinds = (
        "a{i} = x * {i} + y",
        "b{i} = torch.relu(a{j}) - y.sum(dim=-1, keepdim=True)",
        "if n > {i}:\n        x = x + b{j}\n    else:\n        x = x - a{k}",
        "c{i} = torch.cat([x, y], dim=0)[: x.size(0)]",
        "for t in range(n):\n        y = y + c{j}.mean() * t",
        "d{i} = F.layer_norm(x, [x.size(-1)]) if n % 2 == 0 else x.view(-1, x.size(-1))",
    )
    i = 0
    while len(text) < lines:
        start = i - i % len(kinds)
        shape = kinds[i % len(kinds)]
        text += ("    " + shape.format(i=i, j=i - 1, k=start)).split("\n")
        i += 1
    return "\n".join([*text, "    return x + y", ""])


def load(path: pathlib.Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def cases(torch: Any) -> dict[str, Callable[[Any], tuple[Any, tuple | None]]]:
    """Case -> what is compiled, from a module with the models, and example inputs of what can be traced."""
    tokens = torch.arange(20).reshape(2, 10)
    return {
        "resnet50": lambda m: (m.ResNet().eval(), (torch.randn(1, 3, 32, 32),)),
        "encoder": lambda m: (m.Encoder().eval(), (tokens,)),
        "tagger": lambda m: (m.Tagger().eval(), (tokens,)),
        "transformer": lambda m: (m.Library().eval(), (torch.randn(2, 5, 16),)),
        "boxes": lambda m: (m.boxes, None),
        "scale_all": lambda m: (m.scale_all, None),
        "200 lines": lambda m: (m.long, None),
    }


def import_provider(provider: str) -> Any:
    warnings.simplefilter("ignore")
    if provider == "ingot":
        importlib.import_module("ingot.as_torch")
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    return torch


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(provider: str, name: str) -> dict[str, float]:
    torch = import_provider(provider)
    make = cases(torch)[name]
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        text = MODELS.read_text() + "\n\n" + long_function(200)
        homes = []
        for i in range(COPIES):
            path = pathlib.Path(folder, f"models_{i}.py")
            path.write_text(text)
            homes.append(load(path, f"models_{i}"))
        made = [make(home) for home in homes]
        times = [timed(lambda what=what: torch.jit.script(what)) for what, _ in made]
        results["cold"] = times[0]
        results["warm"] = min(times[1:])
        what, args = made[0]
        if args is not None:
            relu = torch.nn.ReLU()
            torch.jit.trace(relu, (torch.randn(2),), check_trace=False)
            results["trace"] = min(timed(lambda: torch.jit.trace(what, args, check_trace=False)) for _ in range(3))
            try:
                export = importlib.import_module("torch.onnx").export
                more = {"opset_version": 17, "dynamo": False}
                export(relu, (torch.randn(2),), io.BytesIO(), **more)
                results["onnx"] = min(timed(lambda: export(what, args, io.BytesIO(), **more)) for _ in range(3))
            except Exception as error:
                print(name, provider, repr(error)[:200], file=sys.stderr)
    return results


STEPS = {
    "x + y": "x = x + y",
    "x.relu()": "x = x.relu()",
    "x.view(-1)": "x = x.view(-1)",
    "numbers": "n = n * 3 + 1 if n % 2 == 0 else n - 1",
    "lists": "l.append(n)",
    "x[0:1]": "x = x[0:1]",
}


def overhead(provider: str) -> dict[str, float]:
    """Microseconds per statement: of a loop of ten statements, without the loop."""
    torch = import_provider(provider)
    results = {}
    for name, step in STEPS.items():
        times = {}
        for count in (0, 10):
            body = "\n".join(["        " + step] * count)
            unit = torch.jit.CompilationUnit(
                "def f(x: Tensor, y: Tensor, n: int) -> Tuple[Tensor, int, List[int]]:\n    l: List[int] = []\n"
                "    for i in range(200):\n"
                f"        z = i\n{body}\n    return x, n, l\n"
            )
            x = torch.ones(1)
            with torch.no_grad():
                for _ in range(20):
                    unit.f(x, x, 1)
                times[count] = min(timed(lambda unit=unit, x=x: unit.f(x, x, 1)) for _ in range(50))
        results[name] = (times[10] - times[0]) / 2000 * 1e6
    return results


def ask(python: str, provider: str, name: str) -> dict[str, float] | str:
    command = [python, __file__, "--measure", provider, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["died"])[-1][:100]
    return json.loads(done.stdout.splitlines()[-1])


def best(rounds: list[Any]) -> Any:
    good = [one for one in rounds if not isinstance(one, str)]
    return {key: min(one[key] for one in good) for key in good[0]} if good else rounds[0]


def in_turn(providers: dict[str, str], name: str) -> dict[str, Any]:
    rounds: dict[str, list[Any]] = {provider: [] for provider in providers}
    for _ in range(ROUNDS):
        for provider, python in providers.items():
            rounds[provider].append(ask(python, provider, name))
    return {provider: best(some) for provider, some in rounds.items()}


def show(name: str, results: dict[str, Any], scale: float) -> None:
    for provider, result in results.items():
        if isinstance(result, str):
            print(f"{name:<24} {provider}: {result}")
            return
    ours = results["ingot"]
    for key, value in ours.items():
        theirs = results.get("torch", {}).get(key)
        more = f" {theirs * scale:12.3f} {theirs / value:8.1f}x" if theirs is not None else ""
        print(f"{name + ', ' + key if key != name else name:<24} {value * scale:12.3f}{more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="a Python that has PyTorch and onnx")
    parser.add_argument("--only", default="")
    parser.add_argument("--measure", choices=("ingot", "torch"))
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(overhead(args.measure) if args.only == "operators" else measure(args.measure, args.only)))
        return
    providers = {"ingot": sys.executable, **({"torch": args.torch} if args.torch else {})}
    names = [*cases(import_provider("ingot")), "operators"]
    print(
        f"{'script':<24} {'ingot':>12}"
        + (f" {'torch':>12}   faster" if args.torch else "")
        + "   (ms; us per operator)"
    )
    for name in names:
        if args.only in name:
            show(name, in_turn(providers, name), 1.0 if name == "operators" else 1e3)


if __name__ == "__main__":
    main()
