# SPDX-License-Identifier: Apache-2.0
"""Replays recorded programs of the onnxrt backend (onnxrt_records.jsonl.gz: what PyTorch 2.5.1 gave): results, sessions
with their inputs and outputs, models, counters, errors.

    python onnxrt_replay.py RECORDS [NAME]    prints the differences and all fields as JSON
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import importlib
import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from aot_replay import agrees, t, torch

onnx = importlib.import_module("onnx")
onnxruntime = importlib.import_module("onnxruntime")
backends = importlib.import_module("torch.onnx._internal.onnxruntime")
nn = torch.nn


def load(path: str) -> list[dict]:
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        return [json.loads(line) for line in file]


def _value_info(v: Any) -> dict:
    kind = v.type.tensor_type
    dims = [d.dim_param or d.dim_value for d in kind.shape.dim]
    return {"name": v.name, "elem_type": onnx.TensorProto.DataType.Name(kind.elem_type), "dims": dims}


class Scope:
    """The names that programs use; what they record is compared with the record, step by step."""

    def __init__(self, record: dict) -> None:
        self.steps = iter(record["steps"])
        self.wanted_models = record["models"]
        self.models: list[dict] = []
        self.fields: dict[str, str | None] = {}
        self.count = 0

    def names(self) -> dict[str, Any]:
        own = ("make", "state", "call", "show", "do")
        return {
            "torch": torch, "nn": nn, "F": nn.functional, "t": t, "os": os, "np": importlib.import_module("numpy"),
            "onnx": onnx, "onnxruntime": onnxruntime, "dataclasses": dataclasses, "__name__": "program",
            "OrtBackend": torch.onnx._OrtBackend, "OrtBackendOptions": torch.onnx._OrtBackendOptions,
            "ExportOptions": torch.onnx.ExportOptions, "recorder": self._record, "MODELS": self.models,
            **{name: getattr(self, name) for name in own},
        }  # fmt: skip

    def _next(self, kind: str) -> dict:
        step = next(self.steps, {})
        self.count += 1
        self._note(kind, kind in step, f"another step: {list(step)[:1]}")
        return step

    def _note(self, field: str, same: bool, text: str = "differs") -> None:
        self.fields[f"{self.count}.{field}"] = None if same else text[:300]

    def _record(self, model: Any) -> None:
        self.models.append({k: [_value_info(v) for v in getattr(model.graph, k[:-1])] for k in ("inputs", "outputs")})

    def make(self, dynamic: bool | None = True, record: bool = True, transforms: Any = (), **options: Any) -> Any:
        listed = [*transforms, *([self._record] if record else [])]
        if dynamic is not None:
            options["export_options"] = torch.onnx.ExportOptions(dynamic_shapes=dynamic)
        return torch.onnx._OrtBackend(torch.onnx._OrtBackendOptions(pre_ort_model_transforms=listed or None, **options))

    def state(self, b: Any, label: str = "state") -> None:
        step = self._next("state")
        info = b._all_ort_execution_info.execution_info_per_graph_module
        found = {
            "execution_count": b.execution_count,
            "graph_modules": len(info),
            "models_per_graph_module": [len(v) for v in info.values()],
        }
        for name, value in found.items():
            self._note(name, value == step[name], f"{value}, expected {step[name]}")
        sessions = [
            [
                {
                    "inputs": [_value_info(v) for v in s.input_value_infos],
                    "outputs": [_value_info(v) for v in s.output_value_infos],
                    "providers": s.session.get_providers(),
                }
                for s in v
            ]
            for v in info.values()
        ]
        self._compare_sessions(sessions, step["sessions"])

    def _compare_sessions(self, found: list, want: list) -> None:
        flat = [s for group in found for s in group]
        recorded = [s for group in want for s in group]
        self._note("sessions", len(flat) == len(recorded), f"{len(flat)}, expected {len(recorded)}")
        for i, (one, other) in enumerate(zip(flat, recorded)):
            for side in ("inputs", "outputs"):
                kinds = [[(v["elem_type"], v["dims"]) for v in s[side]] for s in (one, other)]
                ordered = [sorted(map(str, k)) for k in kinds]
                self._note(f"{i}.{side}.kinds", ordered[0] == ordered[1], f"{kinds[0]}, expected {kinds[1]}")
                names = [[v["name"] for v in s[side]] for s in (one, other)]
                self._note(f"{i}.{side}.names", names[0] == names[1], f"{names[0]}, expected {names[1]}")
            self._note(f"{i}.providers", one["providers"] == other["providers"])

    def _outcome(self, step: dict, fn: Callable) -> tuple[Any, bool]:
        try:
            return fn(), True
        except BaseException as error:
            name = f"{type(error).__module__}.{type(error).__qualname__}"
            want = step.get("error", {}).get("class")
            self._note("error", name == want, f"{name}: {error}, expected {want}")
            return None, False

    def call(self, fn: Callable, *args: Any, eager: Callable | None = None, **kwargs: Any) -> Any:
        step = self._next("call")
        result, done = self._outcome(step, lambda: fn(*args, **kwargs))
        if done and "error" in step:
            self._note("error", False, f"none, expected {step['error']}")
        elif done:
            self._note("out", agrees(result, step["out"]), f"{result}, expected {step['out']}")
            if "args_after" in step:
                self._note("args_after", agrees(list(args), step["args_after"]))
        self._note("models_built", len(self.models) == step.get("models_built"),
                   f"{len(self.models)}, expected {step.get('models_built')}")  # fmt: skip
        return result

    def show(self, label: str, value: Any) -> None:
        step = self._next("show")
        self._note(label, _plain(value) == _plain(step.get("value")), f"{value}, expected {step.get('value')}")

    def do(self, label: str, thunk: Callable) -> Any:
        step = self._next("do")
        result, done = self._outcome(step, thunk)
        if done:
            wrong = "error" in step or _plain(result) != _plain(step.get("out"))
            self._note(label, not wrong, f"{result}, expected {step.get('out', step.get('error'))}")
        return result


def _plain(value: Any) -> Any:
    """A value as the record describes it, as far as programs show plain ones."""
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return [_plain(v) for v in value["tuple"]]
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    known = value is None or isinstance(value, (bool, int, str))
    return value if known else {"float": value} if isinstance(value, float) else type(value).__name__


def replay(record: dict) -> dict[str, str | None]:
    scope = Scope(record)
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch.onnx._OrtBackend.clear_cached_instances()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(record["source"], scope.names())
        scope.fields["program"] = None if "program_error" not in record else f"expected {record['program_error']}"
    except Exception as error:
        scope.fields["program"] = None if "program_error" in record else f"{type(error).__name__}: {error}"[:300]
    models = len(scope.models) == len(scope.wanted_models)
    scope.fields["models"] = None if models else f"{len(scope.models)}, expected {len(scope.wanted_models)}"
    return {f"{record['name']} {field}": value for field, value in scope.fields.items()}


def main() -> None:
    warnings.simplefilter("ignore")
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    fields: dict[str, str | None] = {}
    for record in load(sys.argv[1]):
        if only in record["name"]:
            fields.update(replay(record))
    for field, value in fields.items():
        if value is not None:
            print(field, value)
    print(sum(v is None for v in fields.values()), "of", len(fields))
    print(json.dumps(fields))


if __name__ == "__main__":
    main()
