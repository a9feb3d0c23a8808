# SPDX-License-Identifier: Apache-2.0
"""One program that was recorded with PyTorch's torch.compile, run here: prints a JSON account of what it showed.

The names in its scope are those of the recorder: t makes tensors, comp compiles, call, do and show are steps.
"""

import contextlib
import importlib
import io
import json
import random
import sys
import types
import warnings

import numpy as np

import ingot as torch
from ingot import nn
from ingot._dynamo.utils import counters

__all__ = ["run_program"]


def number(v):
    if isinstance(v, (bool, int)):
        return v
    if isinstance(v, complex):
        return [number(v.real), number(v.imag)]
    return str(v) if v != v or v in (float("inf"), float("-inf")) else float(f"{v:.6g}")


def of_tensor(value):
    out = {"tensor": str(value.dtype)[6:], "shape": [int(s) for s in value.shape]}
    if type(value) is not torch.Tensor:
        out["class"] = type(value).__name__
    flat = value.detach().reshape(-1)
    if flat.numel() > 64:
        out["sum"] = number(flat.to(torch.float64).sum().item())
        flat = flat[:16]
    out["v"] = [number(v) for v in (flat.float() if value.dtype in (torch.bfloat16, torch.float16) else flat).tolist()]
    if value.requires_grad:
        out["requires_grad"] = True
    if value.is_inference():
        out["inference"] = True
    if not value.is_contiguous():
        out["strides"] = list(value.stride())
    return out


def describe(value, depth=0):
    """Tensors by dtype, shape and values, containers by structure."""
    if isinstance(value, torch.Tensor):
        return of_tensor(value)
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)[:64].tolist()
        return {"ndarray": str(value.dtype), "shape": list(value.shape), "v": [number(v) for v in flat]}
    if isinstance(value, np.generic):
        return {"numpy": str(value.dtype), "v": number(value.item())}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, complex)):
        return {type(value).__name__: number(value)}
    if depth > 4:
        return "..."
    if isinstance(value, dict):
        body = {str(k): describe(v, depth + 1) for k, v in value.items()}
        return body if type(value) is dict else {type(value).__name__: body}
    if isinstance(value, list):
        return [describe(v, depth + 1) for v in value]
    if isinstance(value, tuple):
        return {type(value).__name__: [describe(v, depth + 1) for v in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(map(str, value))}
    if isinstance(value, nn.Module):
        return {"module": type(value).__name__}
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value)
    if callable(value):
        return {"callable": getattr(value, "__name__", type(value).__name__)}
    if not isinstance(value, type) and hasattr(value, "__dict__"):
        return {type(value).__name__: {k: describe(v, depth + 1) for k, v in vars(value).items()}}
    return repr(value)


def t(*shape, k=0, dtype=torch.float32, rg=False):
    """Element i is (((7 * i + 3 + k) mod 13) - 6) / 4, cast; integers without the division, bool: value > 0."""
    n = int(np.prod(shape))
    raw = (torch.arange(n) * 7 + 3 + k) % 13 - 6
    if dtype is torch.bool:
        out = raw > 0
    elif dtype.is_floating_point or dtype.is_complex:
        out = (raw.to(torch.float64) / 4).to(dtype)
    else:
        out = raw.to(dtype)
    out = out.reshape(shape).clone()
    return out.requires_grad_() if rg else out


class Recorder:
    def __init__(self, eager):
        self.eager = eager
        self.steps = []
        self.graphs = 0

    def __deepcopy__(self, memo):
        return self  # a copied compiled module keeps the same backend

    def backend(self, gm, example_inputs):
        self.graphs += 1
        return gm.forward

    def comp(self, fn=None, **options):
        if fn is None:
            return lambda f: self.comp(f, **options)
        return fn if self.eager else torch.compile(fn, backend=options.pop("backend", self.backend), **options)

    def call(self, fn, *args, **kwargs):
        return self._step(fn, args, kwargs)

    def do(self, label, thunk):
        return self._step(thunk, (), {})

    def _step(self, fn, args, kwargs):
        before = describe(list(args)), describe(dict(kwargs))
        entry, out, result = {}, io.StringIO(), None
        with warnings.catch_warnings(), contextlib.redirect_stdout(out):
            warnings.simplefilter("ignore")
            try:
                result = fn(*args, **kwargs)
                entry["out"] = describe(result)
            except Exception as error:
                entry["error"] = type(error).__name__
        after = describe(list(args)), describe(dict(kwargs))
        for name, a, b in zip(("args_after", "kwargs_after"), after, before, strict=True):
            if a != b:
                entry[name] = a
        if out.getvalue():
            entry["stdout"] = out.getvalue()
        self.steps.append(entry)
        return result

    def show(self, label, value):
        self.steps.append({"value": describe(value)})

    def explain(self, fn, *args, **kwargs):
        if not self.eager:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                torch._dynamo.explain(fn)(*args, **kwargs)


def run_program(name, source, path, eager=False):
    """The steps of a program and the number of graphs it compiled. Afterwards the process has Ingot as torch."""
    importlib.import_module("ingot.as_torch")  # programs import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    counters.clear()
    rec = Recorder(eager)
    module = types.ModuleType("program")
    sys.modules["program"] = module
    vars(module).update(
        __name__="program", __file__=path, torch=sys.modules["torch"], nn=nn, F=nn.functional, np=np, t=t,
        comp=rec.comp, call=rec.call, show=rec.show, do=rec.do, explain=rec.explain, backend=rec.backend, EAGER=eager,
        counters=counters, config=torch._dynamo.config,
    )  # fmt: skip
    out = {"name": name, "steps": rec.steps}
    try:
        exec(compile(source, path, "exec"), vars(module))
    except Exception as error:
        out["failed"] = f"{type(error).__name__}: {error}"
    return out | {"graphs": rec.graphs}


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        text = f.read()
    print(json.dumps(run_program("program", text, sys.argv[1], "--eager" in sys.argv)))
