#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Third-party models under Ingot beside the real PyTorch: builds, runs, exports, agrees, loads.

    model_table.py --ingot PYTHON --peer PYTHON [--loader PYTHON] [--families timm,transformers,...] [--only TEXT]
                   [--work FOLDER]

PYTHON are interpreters that can import the packages, the first together with Ingot, the second with the real PyTorch.
Models are made on either side from the same seed and with inputs from the same seed, so that weights are compared too.
Per model: build, run (weights and results agree with the peer, rtol 1e-4), export non-strict and strict (the programs
agree with the module), ONNX (agrees under onnxruntime), .pt2 (the loader, by default the peer, loads it and agrees).
The list of models is tests/python/models.json.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "python" / "models.json"
STEPS = ("build", "weights", "run", "export", "strict", "onnx", "pt2")
SIDE = ROOT / "tests" / "python" / "model_side.py"


def name_of(model: dict) -> str:
    return f"{model['family']}-{model['name'].replace('/', '_')}"


def side(
    command: list[str], models: list[dict], work: pathlib.Path, steps: str, limit: int
) -> dict[str, dict[str, Any]]:
    """What one side says of the models: per model a dict of steps, "ok" or an error each. A process makes as many
    models as it can; after a crash the next one goes on behind the model that crashed."""
    found: dict[str, dict[str, Any]] = {}
    rest = list(models)
    while rest:
        batch = work / f"batch-{os.getpid()}.json"
        batch.write_text(json.dumps(rest))
        child = subprocess.Popen(
            [*command, str(SIDE), str(batch), str(work), steps, str(limit)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None and child.stderr is not None
        current: str | None = None
        for line in child.stdout:
            if line.startswith("{"):
                told = json.loads(line)
                if "model" in told:
                    current = told["model"]
                    found[current] = {}
                elif current is not None:
                    found[current].update(told)
                    if any(v != "ok" for v in told.values()):
                        print(f"{steps[:6]:6} {current:45} {json.dumps(told)[:300]}", flush=True)
        errors = child.stderr.read()
        if child.wait() == 0:
            break
        told = (errors.strip().splitlines() or ["no output"])[-1][:300]
        if current is None:
            sys.exit(f"model_table: {command[0]} cannot start: {told}")
        found[current]["crash"] = f"exit {child.returncode}: {told}"
        print(f"{steps[:6]:6} {current:45} {json.dumps(found[current])[:300]}", flush=True)
        names = [name_of(m) for m in rest]
        rest = rest[names.index(current) + 1 :]
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--loader", help="the interpreter that loads .pt2 files, with another release of PyTorch")
    parser.add_argument("--families", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("model_table"))
    parser.add_argument("--limit", type=int, default=300, help="seconds per model and side")
    options = parser.parse_args()
    wanted = set(filter(None, options.families.split(",")))
    models = [
        m for m in json.loads(MODELS.read_text())
        if (not wanted or m["family"] in wanted) and options.only in m["name"]
    ]  # fmt: skip
    for model in models:
        (options.work / name_of(model)).mkdir(parents=True, exist_ok=True)
    unknown = [m for m in models if not (options.work / name_of(m) / "peer.json").exists()]
    for name, told in side([options.peer], unknown, options.work, "peer", options.limit).items():
        (options.work / name / "peer.json").write_text(json.dumps(told))
    rows = side([options.ingot, "-m", "ingot"], models, options.work, options.steps, options.limit)
    if "pt2" in options.steps:
        saved = [m for m in models if rows.get(name_of(m), {}).get("saved") == "ok"]
        for name, told in side([options.loader or options.peer], saved, options.work, "load", options.limit).items():
            rows[name].update(told)
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    with (options.work / "table.jsonl").open("a") as out:
        for model in models:
            row = rows.get(name_of(model), {})
            count = counts[model["family"]]
            count["all"] += 1
            for step in STEPS:
                count[step] += row.get(step) == "ok"
            count["every step"] += all(row.get(step) == "ok" for step in STEPS)
            out.write(json.dumps({"family": model["family"], "name": model["name"], **row}) + "\n")
            program = options.work / name_of(model) / "program.pt2"
            if program.exists():
                program.unlink()
    print(f"\n{'family':14}" + "".join(f"{s:>12}" for s in ("all", *STEPS, "every step")))
    for family, found in counts.items():
        print(f"{family:14}" + "".join(f"{found[s]:>12}" for s in ("all", *STEPS, "every step")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
