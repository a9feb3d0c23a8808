# SPDX-License-Identifier: Apache-2.0
"""Random calls of random operators: whatever is passed, the interpreter must live on.

    python tests/python/fuzz_calls.py [SEED [COUNT]]      # calls of one seed; the last one is in the file LAST
    python tests/python/fuzz_calls.py --hunt [ROUNDS]     # seeds in child processes; prints the calls that killed one

Arguments follow the schema most of the time: tensors of all dtypes, ranks, strides, with and without elements, on cpu
and meta; now and then something else entirely.
"""

from __future__ import annotations

import faulthandler
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from typing import Any

LAST = pathlib.Path(tempfile.gettempdir()) / "ingot_fuzz_last.txt"
SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 2), (2, 3, 4), (1, 2, 3, 4), (2, 0, 3), (4, 4), (1, 3, 5, 5), (2, 3, 5, 5)]
DTYPES = (
    "float32 float32 float32 float64 int64 int64 bool uint8 complex64 float16 bfloat16 int8 float8_e4m3fn uint32"
).split()
TEXTS = ["mean", "sum", "none", "floor", "trunc", "reflect"]
LIMIT = 20  # seconds for one call


class Maker:
    """Arguments of one stream of calls."""

    def __init__(self, torch: Any, seed: int) -> None:
        self.torch = torch
        self.random = random.Random(seed)

    def tensor(self) -> Any:
        torch, pick = self.torch, self.random
        x = (torch.rand(pick.choice(SHAPES)) * 5).to(getattr(torch, pick.choice(DTYPES)))
        kind = pick.random()
        if kind < 0.15 and x.dim() >= 2:
            return x.transpose(0, 1)
        if kind < 0.2:
            return x.expand(2, *x.shape)
        if kind < 0.25:
            return x.to("meta")
        if kind < 0.4 and x.dtype in (torch.float32, torch.float64):
            return x.requires_grad_()
        return x

    def anything(self) -> Any:
        torch = self.torch
        if self.random.random() < 0.5:
            return self.tensor()
        values: list[Any] = [0, 1, 2, -1, 3, True, False, None, 1.5, -0.5, float("nan"), 1j, "mean", "a", 2**40]
        values += [2**63 - 1, -(2**63), [], [1], [2, 3], (1, 1), [-1], [1.5, 2.0], [True, False], torch.float32]
        values += [torch.int64, torch.device("cpu"), torch.device("meta"), torch.strided, torch.preserve_format]
        values += [[self.tensor(), self.tensor()], [None, self.tensor()], torch.Generator()]
        return self.random.choice(values)

    def argument(self, argument: Any) -> Any:
        pick, text = self.random, str(argument.type)
        if pick.random() < 0.12:
            return self.anything()
        if text.startswith("Optional") and pick.random() < 0.5:
            return None
        if "List[Tensor" in text or "List[Optional" in text:
            return [self.tensor() for _ in range(pick.randint(0, 3))]
        if "List[int" in text:
            return [pick.randint(-2, 4) for _ in range(pick.randint(0, 4))]
        if "Tensor" in text:
            return self.tensor()
        if "int" in text:
            return pick.randint(-3, 4)
        if "float" in text or "number" in text:
            return pick.choice([0.0, 1.0, 0.5, -1.0, 2, 3])
        if "bool" in text:
            return pick.random() < 0.5
        return pick.choice(TEXTS) if "str" in text else self.anything()

    def arguments(self, schema: Any) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for argument in schema.arguments:
            if argument.has_default_value() and self.random.random() < 0.6:
                break
            if argument.kwarg_only:
                kwargs[argument.name] = self.argument(argument)
            else:
                args.append(self.argument(argument))
        return args, kwargs


def shown(torch: Any, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        grad = " grad" if value.requires_grad else ""
        return f"<{value.dtype} {tuple(value.shape)} {value.stride()} {value.device}{grad}>"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(torch, item) for item in value) + "]"
    return repr(value)


def main(seed: int, count: int, skip: frozenset[str]) -> None:
    import ingot as torch

    faulthandler.enable()
    warnings.simplefilter("ignore")
    maker = Maker(torch, seed)
    names = [name for name in torch._C._op_names() if name not in skip and hasattr(torch.ops.aten, name)]
    outcomes: dict[str, int] = {}
    with LAST.open("w", encoding="utf-8") as last:
        for _ in range(count):
            packet = getattr(torch.ops.aten, maker.random.choice(names))
            overload = getattr(packet, maker.random.choice(packet.overloads()))
            args, kwargs = maker.arguments(overload._schema)
            call = torch._C.op(packet.__name__) if maker.random.random() < 0.5 else overload
            last.seek(0)
            last.truncate()
            words = [shown(torch, a) for a in args] + [f"{k}={shown(torch, v)}" for k, v in kwargs.items()]
            last.write(f"{overload}({', '.join(words)})")
            last.flush()
            signal.alarm(LIMIT)
            try:
                result = call(*args, **kwargs)
                if isinstance(result, torch.Tensor):
                    repr(result)
                    if result.requires_grad and not result.is_meta:
                        result.sum().backward()
                outcome = "ok"
            except Exception as error:
                outcome = type(error).__name__
            signal.alarm(0)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(seed, dict(sorted(outcomes.items())))


def hunt(rounds: int) -> int:
    skip: set[str] = set()
    for seed in range(rounds):
        command = [sys.executable, __file__, str(seed), "2000", *sorted(skip)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            print(done.stdout.strip())
            continue
        call = LAST.read_text(encoding="utf-8")
        print(f"died ({done.returncode}): {call}")
        skip.add(call.split(".")[1])
    return len(skip)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--hunt"]:
        sys.exit(hunt(int(words[1]) if len(words) > 1 else 20) > 0)
    main(int(words[0]) if words else 0, int(words[1]) if len(words) > 1 else 2000, frozenset(words[2:]))
