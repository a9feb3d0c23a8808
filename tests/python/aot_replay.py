# SPDX-License-Identifier: Apache-2.0
"""Replays recorded programs of AOT autograd (aot_records.jsonl.gz: what PyTorch 2.5.1 gave): graphs of forward,
backward and inference under two partitioners, values, gradients, written arguments.

    python aot_replay.py RECORDS [NAME]    prints the differences, how much is equal, and all fields as JSON

`graphs` gives the recorded graphs of the front end to AOT autograd, so that the order of inputs is the recorded one.
`calls` runs the programs through torch.compile.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from ingot._dynamo.backends.common import aot_autograd
from ingot._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from ingot._subclasses.fake_tensor import FakeTensorMode
from ingot.fx.experimental.symbolic_shapes import ShapeEnv

importlib.import_module("ingot.as_torch")  # recorded code says torch
torch = importlib.import_module("torch")
RECORDS = os.path.join(os.path.dirname(__file__), "aot_records.jsonl.gz")
PARTITIONS = {"default": default_partition, "min_cut": min_cut_rematerialization_partition}


def load(path: str = RECORDS) -> list[dict]:
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        return [json.loads(line) for line in file]


def t(*shape: int, k: int = 0, dtype: Any = torch.float32, rg: bool = False) -> torch.Tensor:
    count = 1
    for n in shape:
        count *= n
    values = [(7 * i + 3 + k) % 13 - 6 for i in range(count)]
    if dtype is torch.bool:
        out = torch.tensor([v > 0 for v in values]).reshape(shape)
    elif dtype.is_floating_point:
        out = torch.tensor([v / 4 for v in values], dtype=dtype).reshape(shape)
    else:
        out = torch.tensor(values, dtype=dtype).reshape(shape)
    return out.requires_grad_() if rg else out


def program(record: dict) -> dict[str, Any]:
    scope = {"torch": torch, "F": torch.nn.functional, "t": t, "__name__": "program"}
    exec(record["source"], scope)
    return scope


# ---- graphs ----


def _module_of(graph: dict) -> Callable:
    scope = {"torch": torch, "device": torch.device, "inf": float("inf"), "nan": float("nan")}
    exec("from __future__ import annotations\n" + graph["code"], scope)
    return lambda *args: scope["forward"](None, *args)


def _examples(graph: dict, named: dict[str, Any], dynamic: bool) -> tuple[list, list]:
    """(what describes the inputs, the inputs)"""
    mode = FakeTensorMode(shape_env=ShapeEnv()) if dynamic else None
    fakes: dict[str, Any] = {}

    def fake(source: str) -> Any:
        if source not in fakes:
            fakes[source] = mode.from_tensor(eval(source, {"L": named}))
        return fakes[source]

    described, real = [], []
    for placeholder in graph["placeholders"]:
        source = placeholder["source"]
        value = eval(source, {"L": named})
        size = re.match(r"(.*)\.size\(\)\[(\d+)\]$", source)
        real.append(value)
        if mode is None:
            described.append(value)
        elif size:
            described.append(fake(size.group(1)).shape[int(size.group(2))])
        else:
            number = isinstance(value, int)  # a symbol like a size
            like = torch.empty(value) if number else value
            made = mode.from_tensor(like) if isinstance(like, torch.Tensor) and number else None
            described.append(made.shape[0] if number else fake(source))
    return described, real


def graphs(record: dict, method: str) -> dict[str, list[dict]]:
    """The graphs that the compilers get for the first call: {"inference", "forward", "backward"}."""
    scope = program(record)
    front = record["dynamo"][0]
    found: dict[str, list[dict]] = {"inference": [], "forward": [], "backward": []}

    def keep(kind: str) -> Callable:
        def compiler(gm: Any, inputs: list) -> Callable:
            returned = list(gm.graph.nodes)[-1].args[0]
            found[kind].append({"code": gm.code.strip(), "outputs": [str(a) for a in returned]})
            return gm.forward

        return compiler

    args = scope["INPUTS"][0]()
    named = dict(zip(inspect.signature(scope["f"]).parameters, args))
    described, real = _examples(front, named, scope["DYNAMIC"])
    backend = aot_autograd(
        fw_compiler=keep("forward"),
        bw_compiler=keep("backward"),
        inference_compiler=keep("inference"),
        partition_fn=PARTITIONS[method],
    )
    with torch.set_grad_enabled(scope.get("GRAD_MODE", True)):
        run = backend(_module_of(front), described)
        out = run(*real)
    loss = weighted(out)
    if loss is not None:
        loss.backward()
    return found


def wanted_graphs(record: dict, method: str) -> dict[str, list[dict]]:
    both = record["default"] if method == "default" or record["min_cut"] == "same" else record["min_cut"]
    return {"inference": record.get("inference") or [], **{k: both[k] or [] for k in ("forward", "backward")}}


def canonical(code: str) -> str:
    """The code with names by order of appearance: numbers of names are PyTorch's private matter."""
    names = re.findall(r"^def forward\(self(?:, )?(.*)\):", code)[0].split(", ") if code.startswith("def") else []
    names += re.findall(r"^    (\w+) = ", code, flags=re.M)
    known: dict[str, str] = {}
    pattern = r"(?<![\w.])(" + "|".join(sorted(map(re.escape, filter(None, names)), key=len, reverse=True)) + r")(?!\w)"
    return re.sub(pattern, lambda m: known.setdefault(m.group(0), f"v{len(known)}"), code) if names else code


# ---- calls ----


def weighted(out: Any) -> Any:
    total = None
    for o in out if isinstance(out, (tuple, list)) else [out]:
        if isinstance(o, torch.Tensor) and o.requires_grad and o.is_floating_point():
            weights = (torch.arange(o.numel()) % 7 + 1).reshape(o.shape).to(o.dtype)
            part = (o * weights).sum()
            total = part if total is None else total + part.to(total.dtype)
    return total


def _is_close(found: Any, want: Any) -> bool:
    if found == want:
        return True
    numbers = isinstance(found, (int, float)) and isinstance(want, (int, float))
    return numbers and abs(found - want) <= 2e-5 * max(1.0, abs(found), abs(want))


def agrees(found: Any, want: Any) -> bool:
    """A value with its recorded description."""
    if isinstance(want, dict) and "tensor" in want:
        if not isinstance(found, torch.Tensor) or list(found.shape) != want["shape"]:
            return False
        if str(found.dtype) != "torch." + want["tensor"] or found.requires_grad != bool(want.get("requires_grad")):
            return False
        values = found.detach().reshape(-1).to(torch.float64 if found.is_floating_point() else found.dtype).tolist()
        values = values[: len(want["v"])]
        return all(_is_close(float(f"{a:.6g}") if isinstance(a, float) else a, b) for a, b in zip(values, want["v"]))
    if isinstance(want, dict) and "tuple" in want:
        return len(found) == len(want["tuple"]) and all(map(agrees, found, want["tuple"]))
    if isinstance(want, list):
        return len(found) == len(want) and all(map(agrees, found, want))
    if isinstance(want, dict) and "float" in want:
        return _is_close(found, want["float"])
    return found is None if want is None else found == want


def _aliases(out: Any, args: tuple) -> list[list]:
    def shares(o: Any, a: Any) -> bool:
        tensors = isinstance(o, torch.Tensor) and isinstance(a, torch.Tensor)
        return tensors and a.numel() > 0 and o.untyped_storage().data_ptr() == a.untyped_storage().data_ptr()

    outs = out if isinstance(out, (tuple, list)) else [out]
    return [
        [i for i, a in enumerate(args) if shares(o, a)]
        + [f"is {i}" for i, a in enumerate(args) if o is a and isinstance(a, torch.Tensor)]
        for o in outs
    ]


def calls(record: dict, method: str) -> dict[str, str | None]:
    """What torch.compile of the program gives: None where a field agrees with the record, {"0.out": None}."""
    scope = program(record)
    backend = aot_autograd(fw_compiler=lambda gm, inputs: gm.forward, partition_fn=PARTITIONS[method])
    run = torch.compile(scope["f"], backend=backend, dynamic=scope["DYNAMIC"])
    found: dict[str, str | None] = {}

    def note(field: str, same: bool) -> None:
        found[field] = None if same else "differs"

    for k, (make, want) in enumerate(zip(scope["INPUTS"], record["calls"])):
        args = make()
        leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad and a.is_leaf]
        torch.manual_seed(0)
        with torch.set_grad_enabled(scope.get("GRAD_MODE", True)):
            out = run(*args)
        note(f"{k}.out", agrees(out, want["out"]))
        for i, value in want.get("args_changed", {}).items():
            note(f"{k}.args.{i}", agrees(args[int(i)], value))
        note(f"{k}.alias", _aliases(out, args) == want["alias"])
        loss = weighted(out)
        if loss is not None:
            loss.backward()
            note(f"{k}.grads", all(map(agrees, [leaf.grad for leaf in leaves], want["grads"])))
    return found


def compare(record: dict, method: str) -> dict[str, str | None]:
    """The graphs: None where a field agrees with the record, {"forward.code": None}."""
    fields: dict[str, str | None] = {}
    found, want = graphs(record, method), wanted_graphs(record, method)
    for kind, recorded in want.items():
        if not recorded and not found[kind]:
            continue
        fields[kind] = None if recorded and found[kind] else "missing" if recorded else "superfluous"
        if fields[kind]:
            continue
        one, other = found[kind][0], recorded[0]
        fields[f"{kind}.outputs"] = None if len(one["outputs"]) == len(other["outputs"]) else "another number"
        if one["code"] == other["code"]:
            fields[f"{kind}.code"] = None
        else:
            fields[f"{kind}.code"] = "names" if canonical(one["code"]) == canonical(other["code"]) else "text"
    return fields


def replay(record: dict, method: str) -> dict[str, str | None]:
    fields: dict[str, str | None] = {}
    for part in (compare, calls):
        try:
            fields.update(part(record, method))
        except Exception as error:
            fields[part.__name__] = f"{type(error).__name__}: {error}"[:300]
    return {f"{record['name']} {method} {field}": value for field, value in fields.items()}


def main() -> None:
    records = load(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    fields: dict[str, str | None] = {}
    for record in records:
        if only in record["name"]:
            for method in PARTITIONS:
                fields.update(replay(record, method))
    for field, value in fields.items():
        if value is not None:
            print(field, value)
    texts = [value for field, value in fields.items() if field.endswith(".code")]
    print(f"texts: {sum(value is None for value in texts)} of {len(texts)}")
    print(json.dumps(fields))


if __name__ == "__main__":
    main()
