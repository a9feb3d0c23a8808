# SPDX-License-Identifier: Apache-2.0
"""Everything public while one allocation fails: a MemoryError at most, and all is as before.

    python tests/python/fuzz_memory.py engine SEED [COUNT]        # allocations of the extension module
    python tests/python/fuzz_memory.py interpreter SEED [COUNT]   # those of the interpreter
    python tests/python/fuzz_memory.py KIND --only NAME           # one of SCENES or of fuzz_calls.py's targets
    python tests/python/fuzz_memory.py --hunt KIND FIRST CHILDREN [COUNT]

What is called are the scenes below and COUNT calls that fuzz_calls.py makes up. Each is made once undisturbed, and if
it succeeds, again and again while an allocation fails: alone, or with all that follow it. It may then succeed or raise
MemoryError; anything else is a finding, and so are modes that are not as before.
"""

from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import pathlib
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import fuzz_calls

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
PRELOAD = BUILD / "tests/python/libfailing_malloc.so"
TRIES = 24  # allocations of one call that are made to fail
LIMIT = 600  # seconds for one child
# CPython 3.11 itself loses the error of a Python function, for example of one that raises AttributeError for hasattr();
# a built-in function, which could be ours, has another repr.
LOST = "SystemError: <function "


class Engine:
    """Fails allocations of the extension module, which failing_malloc.c knows by its addresses."""

    def __init__(self, torch: Any) -> None:
        self.library = ctypes.CDLL(str(PRELOAD))
        self.library.failing_start.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_long, ctypes.c_int]
        self.library.failing_stop.restype = ctypes.c_long
        name = pathlib.Path(torch._C.__file__).resolve()
        maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
        spans = [line.split()[0].split("-") for line in maps if line.endswith(f"/{name.name}")]
        self.first = min(int(span[0], 16) for span in spans)
        self.last = max(int(span[1], 16) for span in spans)

    def start(self, n: int, alone: bool) -> None:
        self.library.failing_start(self.first, self.last, n, alone)

    def stop(self) -> int:
        return int(self.library.failing_stop())


class Interpreter:
    """Fails single allocations of the interpreter, which gives up if several fail. It does not count them."""

    MOST = 3000

    def __init__(self, torch: Any) -> None:
        import _testcapi

        self.hooks = _testcapi
        self.armed = False

    def start(self, n: int, _alone: bool) -> None:
        self.armed = n > 0
        if self.armed:
            self.hooks.set_nomemory(n, n + 1)

    def stop(self) -> int:
        if self.armed:
            self.hooks.remove_mem_hooks()
        return self.MOST


# ---- what is called


def scenes(torch: Any) -> dict[str, Callable[[], Any]]:
    """Uses of the package that are more than one call."""
    nn, export = torch.nn, torch.export

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count.add_(1)
            return torch.nn.functional.relu(self.linear(x)) + self.count

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 + 0 * ctx.saved_tensors[0]

    class Branches(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, [x])

    x = torch.ones(2, 4)
    dims = {"x": {0: export.Dim("batch")}}
    model = Model()
    program = export.export(model, (x,), dynamic_shapes=dims)
    stored = io.BytesIO()
    export.save(program, stored)
    tensors = io.BytesIO()
    torch.save({"a": [x, {"b": x.t()}]}, tensors)

    def backward() -> None:
        w = torch.ones(2, 4, requires_grad=True)
        w.register_hook(lambda grad: grad * 2)
        (Twice.apply(w * x).sum() + (w @ w.t()).exp().sum()).backward()
        torch.autograd.grad((w * w).sum(), w, create_graph=True)[0].sum().backward()

    def write() -> None:
        file = io.BytesIO()
        export.save(program, file)
        torch.save(model.state_dict(), file)

    def modes() -> None:
        with torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            x @ x.t()
        with torch._subclasses.FakeTensorMode() as fake:
            (fake.from_tensor(x) + torch.ones(4)).sum()
        with torch.device("meta"):
            torch.ones(3)

    def printed() -> None:
        repr([torch.arange(2000).reshape(2, 1000), x, program, torch.tensor(1j), model])
        str(program.graph)

    def edited() -> None:
        graph = program.graph_module.graph
        for node in graph.nodes:
            _ = (node.name, node.meta.get("val"), node.args, list(node.users))
        torch.fx.symbolic_trace(torch.nn.Linear(2, 2)).graph.lint()

    return {
        "export": lambda: export.export(model, (x,), dynamic_shapes=dims),
        "export training": lambda: export.export_for_training(model, (x,)),
        "export strict": lambda: export.export(model, (x,), strict=True),
        "draft": lambda: export.draft_export(model, (x,)),
        "branches": lambda: export.export(Branches(), (x,)),
        "decompose": lambda: program.run_decompositions(),
        "run": lambda: program.module()(x),
        "unflatten": lambda: export.unflatten(program)(x),
        "save": write,
        "load": lambda: export.load(io.BytesIO(stored.getvalue())).module()(x),
        "load tensors": lambda: torch.load(io.BytesIO(tensors.getvalue())),
        "onnx": lambda: torch.onnx.export(program, (x,), dynamo=True),
        "backward": backward,
        "modes": modes,
        "print": printed,
        "graphs": edited,
        "make": lambda: torch.tensor([[1, 2.5], [True, 3]]).tolist() + torch.from_numpy(x.numpy()).tolist(),
        "index": lambda: x[..., None, [0, 1]][x.sum() > 0, 1:, torch.tensor([0])],
        "modules": lambda: nn.Sequential(nn.LSTM(4, 3), nn.Identity())(x),
        "symbols": lambda: str(export.Dim("a", min=2) * 2 + 1),
        "limits": lambda: torch.limits.set_limits(max_memory=fuzz_calls.MEMORY),
    }


def state(torch: Any) -> tuple[Any, ...]:
    """The modes of this thread."""
    plain = torch.ones(2, requires_grad=True)
    product = plain * 2
    return (
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch._C._len_torch_function_stack(),
        torch._C.capture_is_open(), torch.is_autocast_enabled("cpu"), torch.get_default_dtype(), str(product.device),
        product.requires_grad, type(product).__name__, product.tolist(),
    )  # fmt: skip


# ---- failing


class Hunter:
    def __init__(self, torch: Any, kind: str, seed: int) -> None:
        self.torch = torch
        self.failing: Any = Engine(torch) if kind == "engine" else Interpreter(torch)
        self.random = random.Random(seed)
        self.before = state(torch)
        self.outcomes: dict[str, int] = {}
        self.found: list[str] = []

    def attempt(self, call: Callable[[], Any], n: int, alone: bool) -> tuple[str, int]:
        # Nothing of this function but the call may need memory while it fails.
        outcome = "ok"
        failing = self.failing
        error: BaseException | None = None
        failing.start(n, alone)
        try:
            call()
        except Exception as raised:
            error = raised
        count = failing.stop()
        if error is not None:
            outcome = type(error).__name__ if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"
        return outcome, count

    def places(self, count: int) -> Iterator[int]:
        if count <= TRIES:
            yield from range(1, count + 1)
            return
        few = isinstance(self.failing, Interpreter)
        yield from (min(count, int(1.3**i) + i) if few else self.random.randint(1, count) for i in range(TRIES))

    def hunt(self, name: str, call: Callable[[], Any]) -> None:
        outcome, _ = self.attempt(call, 0, True)  # what is made once for all is made here
        outcome, count = self.attempt(call, 0, True) if outcome == "ok" else (outcome, 0)
        if outcome != "ok":
            return
        self.before = state(self.torch)  # a call may be one that changes modes
        for n in self.places(count):
            alone = self.random.random() < 0.7
            outcome, _ = self.attempt(call, n, alone)
            kind = outcome.split(":")[0]
            self.outcomes[kind] = self.outcomes.get(kind, 0) + 1
            where = f"{name}, allocation {n}{'' if alone else ' and all after it'}"
            if kind not in ("ok", "MemoryError") and not outcome.startswith(LOST):
                self.found.append(f"{where}: {outcome}")
            try:
                after = state(self.torch)
            except Exception as error:
                self.found.append(f"{where}: {outcome}, and the next call raises {error!r}")
                after = state(self.torch)
            if after != self.before:
                self.found.append(f"{where}: {outcome}, modes {after}, before {self.before}")
                self.before = after


def main(kind: str, seed: int, count: int, only: str | None = None) -> int:
    import ingot as torch

    faulthandler.enable()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.limits.set_limits(max_memory=fuzz_calls.MEMORY)
    torch.manual_seed(seed)
    maker = fuzz_calls.Maker(torch)
    maker.start(seed)
    hunter = Hunter(torch, kind, seed)
    for name, call in scenes(torch).items():
        if only in (None, name):
            print("scene", name, file=sys.stderr, flush=True)
            hunter.hunt(name, call)
    targets = [t for t in fuzz_calls.targets(torch, maker, frozenset()) if only in (None, t.name)]
    for _ in range(count if targets else 0):
        target = targets[int(maker.random.random() * len(targets))]
        call, args, kwargs = target.make()
        print(target.name, file=sys.stderr, flush=True)
        hunter.hunt(target.name, lambda call=call, args=args, kwargs=kwargs: call(*args, **kwargs))
    for text in hunter.found:
        print("finding:", text[:600])
    print(kind, seed, count, dict(sorted(hunter.outcomes.items())))
    return len(hunter.found)


def child(kind: str, seed: int, count: int, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}
    if kind == "engine":
        environment["LD_PRELOAD"] = str(PRELOAD)
    command = [sys.executable, __file__, kind, str(seed), str(count), *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT, check=False)


def hunt(kind: str, first: int, children: int, count: int) -> int:
    failed = 0
    for seed in range(first, first + children):
        ended = child(kind, seed, count)
        print(ended.stdout, end="", flush=True)
        if ended.returncode:
            failed += 1
            print(f"{kind} {seed}: ended with {ended.returncode}\n{ended.stderr[-3000:]}", flush=True)
    return failed


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--hunt"]:
        sys.exit(hunt(words[1], int(words[2]), int(words[3]), int(words[4]) if len(words) > 4 else 300) > 0)
    if "LD_PRELOAD" not in os.environ and words[0] == "engine":
        ended = child(words[0], *(int(word) for word in words[1:3]), *words[3:])
        print(ended.stdout, ended.stderr[-4000:])
        sys.exit(ended.returncode)
    if words[1] == "--only":
        sys.exit(main(words[0], 1, 20, words[2]) > 0)
    sys.exit(main(words[0], int(words[1]), int(words[2]) if len(words) > 2 else 300, *words[3:4]) > 0)
