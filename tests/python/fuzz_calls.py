# SPDX-License-Identifier: Apache-2.0
"""Random calls of everything public: whatever is passed, the interpreter must not crash.

    python tests/python/fuzz_calls.py SEED [COUNT]            # calls of one seed
    python tests/python/fuzz_calls.py --log SEED [COUNT]      # the same; the call under way is in the file LAST
    python tests/python/fuzz_calls.py --hunt CALLS [JOBS]     # seeds in child processes until so many calls are made

Operators get arguments that follow their schemas most of the time: tensors of all dtypes, ranks, strides, with and
without elements, expanded, huge, quantized, on cpu and meta, results of earlier calls; now and then something else, and
now and then something hostile (hostile.py). Functions and methods get the same by position. The calls are a function of
the seed, so that a child that died is run again with a log, which names the call.
"""

from __future__ import annotations

import faulthandler
import inspect
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import hostile

LAST = pathlib.Path(tempfile.gettempdir()) / f"ingot_fuzz_last_{os.getuid()}.txt"
SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 2), (2, 3, 4), (1, 2, 3, 4), (2, 0, 3), (4, 4), (1, 3, 5, 5), (2, 3, 5, 5)]
DTYPES = (
    "float32 float32 float32 float64 int64 int64 bool uint8 complex64 float16 bfloat16 int8 float8_e4m3fn uint32"
).split()
TEXTS = ["mean", "sum", "none", "floor", "trunc", "reflect", "constant", "ij", "tanh", "amax", "bilinear"]
SPACE = 1 << 30  # bytes of address space that a child may have
MEMORY = 1 << 27  # bytes that its tensors may have, which also bounds the time of a call
WORK = 1000000  # units that a call may use
ROUND = 100000  # calls of one child
LIMIT = 240  # seconds of the processor for one child, whose signal ends it
PATIENCE = 20 * LIMIT  # seconds, for a child that sleeps or a machine that is busy

# What changes the process for the calls that follow, waits, writes files, or takes a program of the user.
LEFT_OUT = frozenset(
    """
    save load save_file load_file pt2_load pt2_save torch_load torch_save tensors_load tensors_save safetensors_save
    set_default_dtype set_default_device set_num_threads set_printoptions set_autocast_enabled set_autocast_dtype
    autocast_set hop_set_grad compile seed initial_seed __init_subclass__ __subclasshook__ __class__ __new__ __del__
    __dir__ __format__ __getattribute__ __setattr__ __delattr__ __getattr__ numpy_T share_memory_
    """.split()
)


class Maker:
    """Arguments of one stream of calls."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.random = random.Random()
        self.dtypes = [getattr(torch, name) for name in DTYPES]
        self.pool: list[Any] = []

    def start(self, seed: int) -> None:
        self.random.seed(seed)
        self.pool = [self.fresh() for _ in range(40)]

    def fresh(self) -> Any:
        torch, pick = self.torch, self.random
        x = (torch.rand(pick.choice(SHAPES)) * 5).to(pick.choice(self.dtypes))
        kind = pick.random()
        if kind < 0.15 and x.dim() >= 2:
            return x.transpose(0, 1)
        if kind < 0.2:
            return x.expand(2, *x.shape)
        if kind < 0.22:
            try:
                return x.expand(pick.choice([2**31, 2**40, 2**61, 2**62]), *x.shape)
            except RuntimeError:
                return x
        if kind < 0.27:
            return x.to("meta")
        if kind < 0.31 and x.dim():
            return x[..., ::2]
        if kind < 0.36:
            return self.quantized(x.float())
        if kind < 0.45 and x.dtype in (torch.float32, torch.float64):
            return x.requires_grad_()
        if kind > 0.98 and "INGOT_SANITIZED" not in os.environ:
            return self.misaligned(x)
        return x

    def misaligned(self, x: Any) -> Any:
        """The same elements in a foreign buffer that starts at an odd address, which PyTorch takes, too."""
        size = x.numel() * x.element_size()
        buffer = bytearray(size + 1)
        if size == 0:
            return x
        return self.torch.frombuffer(buffer, dtype=x.dtype, count=x.numel(), offset=1).view(x.shape).copy_(x)

    def quantized(self, x: Any) -> Any:
        torch, pick = self.torch, self.random
        dtype = pick.choice([torch.quint8, torch.qint8, torch.qint32])
        if x.dim() == 0 or pick.random() < 0.6:
            return torch.quantize_per_tensor(x, 0.1, pick.choice([0, 3]), dtype)
        axis = pick.randrange(x.dim())
        scales = torch.rand(x.shape[axis]) + 0.1
        return torch.quantize_per_channel(x, scales, torch.zeros(x.shape[axis], dtype=torch.int64), axis, dtype)

    def tensor(self) -> Any:
        """A tensor of the pool, which is renewed gradually, because calls write to its members."""
        at = int(self.random.random() * len(self.pool))
        if self.random.random() < 0.1:
            self.pool[at] = self.fresh()
        return self.pool[at]

    def keep(self, result: Any) -> None:
        if isinstance(result, self.torch.Tensor) and self.random.random() < 0.2:
            small = result.dim() < 6 and (result.is_meta or result.numel() < 5000)
            if small:
                place = int(self.random.random() * len(self.pool))
                self.pool[place] = result.detach() if result.requires_grad else result

    def anything(self) -> Any:
        torch, pick = self.torch, self.random
        chance = pick.random()
        if chance < 0.45:
            return self.tensor()
        if chance < 0.6:
            return hostile.value(pick)
        values: list[Any] = [0, 1, 2, -1, 3, True, False, None, 1.5, -0.5, float("nan"), 1j, "mean", "a", 2**40]
        values += [2**63 - 1, -(2**63), [], [1], [2, 3], (1, 1), [-1], [1.5, 2.0], [True, False], torch.float32]
        values += [torch.int64, torch.device("cpu"), torch.device("meta"), torch.strided, torch.preserve_format]
        values += [[self.tensor(), self.tensor()], [None, self.tensor()], torch.Generator(), slice(0, 2), ...]
        return pick.choice(values)

    def integer(self) -> int:
        pick = self.random
        return pick.choice(hostile.HUGE) if pick.random() < 0.04 else int(pick.random() * 8) - 3

    def by_type(self, text: str) -> Callable[[], Any]:
        """The function that makes arguments of a type of the schema."""
        pick = self.random
        if "List[Tensor" in text or "List[Optional" in text:
            return lambda: [self.tensor() for _ in range(pick.randint(0, 3))]
        if "List[int" in text:
            return lambda: [self.integer() for _ in range(pick.randint(0, 4))]
        if "List[" in text:
            return lambda: [pick.choice([0.0, 1.0, 2, True]) for _ in range(pick.randint(0, 3))]
        if "Tensor" in text:
            return self.tensor
        if "int" in text:
            return self.integer
        if "float" in text or "number" in text:
            return lambda: pick.choice([0.0, 1.0, 0.5, -1.0, 2, 3])
        if "bool" in text:
            return lambda: pick.random() < 0.5
        return (lambda: pick.choice(TEXTS)) if "str" in text else self.anything

    def one(self, make: Callable[[], Any], optional: bool) -> Any:
        chance = self.random.random()
        if chance < 0.1:
            return self.anything()
        return None if optional and chance < 0.5 else make()


Plan = list[tuple[str, bool, bool, bool, Callable[[], Any]]]  # name, keyword, default, optional, maker


class Operator:
    """An overload of an operator, called directly or through its name."""

    def __init__(self, maker: Maker, overload: Any, packet: Any) -> None:
        self.name = str(overload)
        self.maker = maker
        self.calls = [overload, packet]
        self.plan: Plan = [
            (
                a.name, a.kwarg_only, a.has_default_value(), str(a.type).startswith("Optional"),
                maker.by_type(str(a.type)),
            )
            for a in overload._schema.arguments
        ]

    def make(self) -> tuple[Any, list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        chance, one = self.maker.random.random, self.maker.one
        for name, keyword, default, optional, make in self.plan:
            if default and chance() < 0.6:
                break
            if keyword:
                kwargs[name] = one(make, optional)
            else:
                args.append(one(make, optional))
        return self.calls[chance() < 0.5], args, kwargs


class Function:
    """Anything else that can be called: what fits is not known."""

    def __init__(self, maker: Maker, name: str, call: Any) -> None:
        self.name = name
        self.maker = maker
        self.call = call

    def make(self) -> tuple[Any, list[Any], dict[str, Any]]:
        maker = self.maker
        n = maker.random.randint(0, 4)
        args = [maker.tensor() if maker.random.random() < 0.6 else maker.anything() for _ in range(n)]
        kwargs = {"dim": maker.integer()} if maker.random.random() < 0.1 else {}
        return self.call, args, kwargs


class Method(Function):
    def make(self) -> tuple[Any, list[Any], dict[str, Any]]:
        maker = self.maker
        n = maker.random.randint(0, 3)
        args = [maker.tensor()]
        args += [maker.integer() if maker.random.random() < 0.4 else maker.anything() for _ in range(n)]
        return self.call, args, {}


def targets(torch: Any, maker: Maker, skip: frozenset[str]) -> list[Any]:
    """Everything public that is called."""
    found: list[Any] = []
    for name in torch._C._op_names():
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else []:
            found.append(Operator(maker, getattr(packet, overload), torch._C.op(name)))
    for kind, owner, prefix in (
        (Function, torch, "torch"),
        (Function, torch.nn.functional, "torch.nn.functional"),
        (Method, torch.Tensor, "torch.Tensor"),
    ):
        for name in dir(owner):
            call = getattr(owner, name, None)
            dunder = name.startswith("__") and kind is Method
            hidden = name in LEFT_OUT or (name.startswith("_") and not dunder)
            if hidden or not callable(call) or inspect.isclass(call) or inspect.ismodule(call):
                continue
            found.append(kind(maker, f"{prefix}.{name}", call))
    return [target for target in found if target.name not in skip]


def shown(torch: Any, value: Any) -> str:
    try:
        if isinstance(value, torch.Tensor):
            grad = " grad" if value.requires_grad else ""
            return f"<{value.dtype} {tuple(value.shape)} {value.stride()} {value.device}{grad}>"
        if type(value) in (list, tuple) and len(value) < 20:
            return "[" + ", ".join(shown(torch, item) for item in value) + "]"
        return repr(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"


def prepare(skip: frozenset[str] = frozenset()) -> tuple[Any, Maker, list[Any]]:
    """The package, and everything public that is called; what follows is the same for every seed."""
    import ingot as torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    maker = Maker(torch)
    return torch, maker, targets(torch, maker, skip)


def run(ready: tuple[Any, Maker, list[Any]], seed: int, count: int, log: bool = False) -> None:
    """The calls of one seed, in a process of their own."""
    torch, maker, calls = ready
    faulthandler.enable()
    if "INGOT_SANITIZED" not in os.environ:  # their shadow memory needs the whole address space
        resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    torch.manual_seed(seed)
    maker.start(seed)
    outcomes: dict[str, int] = {}
    chance = maker.random.random
    last = LAST.open("w", encoding="utf-8", errors="replace") if log else None
    for _ in range(count):
        target = calls[int(chance() * len(calls))]
        torch.limits.set_limits(max_memory=MEMORY, max_work=WORK)  # the call before may have used up its work
        call, args, kwargs = target.make()
        if last:
            words = [shown(torch, a) for a in args] + [f"{k}={shown(torch, v)}" for k, v in kwargs.items()]
            last.seek(0)
            last.truncate()
            last.write(f"{target.name}({', '.join(words)})")
            last.flush()
        try:
            torch.limits.set_limits(max_memory=MEMORY, max_work=WORK)
            result = call(*args, **kwargs)
            outcome = "ok"
            maker.keep(result)
            if chance() < 0.1:
                repr(result)
                if isinstance(result, torch.Tensor) and result.requires_grad and not result.is_meta:
                    result.sum().backward()
        except Exception as error:
            outcome = type(error).__name__
            if isinstance(error, SystemError):  # an extension that broke the interpreter's rules
                raise
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(seed, count, dict(sorted(outcomes.items())), flush=True)


def main(seed: int, count: int, log: bool = False, skip: frozenset[str] = frozenset()) -> None:
    run(prepare(skip), seed, count, log)


def child(seed: int, count: int, log: bool) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, *(["--log"] if log else []), str(seed), str(count)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process: subprocess.Popen[str], seconds: float) -> tuple[int | None, str]:
    """The exit status (None: timed out) and the end of the output."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return None, err[-500:]
    return process.returncode, out.strip() if process.returncode == 0 else err[-3000:]


def explain(seed: int, count: int) -> str:
    """The call that killed a child, by running it again with a log."""
    code, text = finish(child(seed, count, log=True), PATIENCE)
    last = LAST.read_text(encoding="utf-8", errors="replace")
    return f"seed {seed}: {'too long' if code is None else code}: {last}\n{text}"


def fork(ready: tuple[Any, Maker, list[Any]], seed: int) -> int:
    """A child that makes the calls of a seed. It shares what is prepared, which takes longer than many calls."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(PATIENCE)  # its signal ends a child that sleeps
            run(ready, seed, ROUND)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def hunt(calls: int, jobs: int, first: int) -> int:
    start = time.monotonic()
    last = first + -(-calls // ROUND)
    ready = prepare()
    running: dict[int, int] = {}  # the seed of each child
    made = found = 0
    seed = first
    while seed < last or running:
        while len(running) < jobs and seed < last:
            running[fork(ready, seed)] = seed
            seed += 1
        child, status = os.wait()
        ended = running.pop(child)
        if status == 0:
            made += ROUND
        else:
            found += 1
            code = os.waitstatus_to_exitcode(status)
            print(f"seed {ended}: status {code}; again with a log:\n{explain(ended, ROUND)}", flush=True)
        print(f"{made} calls, {found} findings, {made / (time.monotonic() - start):.0f} calls/s", flush=True)
    print(f"{made} calls, {found} findings, {time.monotonic() - start:.0f} s")
    return found


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--hunt"]:
        numbers = [int(word) for word in words[1:]] + [100000, 2, 1][len(words) - 1 :]
        sys.exit(hunt(*numbers) > 0)
    log = words[:1] == ["--log"]
    words = words[log:]
    main(int(words[0]) if words else 0, int(words[1]) if len(words) > 1 else 2000, log, frozenset(words[2:]))
