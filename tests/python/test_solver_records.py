# SPDX-License-Identifier: Apache-2.0
"""Programs with dynamic dimensions and sizes read from data, replayed against what PyTorch 2.4 and 2.5 (where both
agree) said of them: outcome, the whole message with its fixes, range_constraints, and the checks of inputs at run time.

solver_records.json.gz holds programs and answers. VOID lists records whose answer is a fault of the original."""
import gzip
import json
import pathlib
from typing import Any

import pytest

import ingot
from ingot.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

RECORDS = json.loads(gzip.decompress((pathlib.Path(__file__).parent / "solver_records.json.gz").read_bytes()))
# A new root of one value, a bound that is no integer, the name of a derived dim torn apart: the original fails inside.
# An index that is symbolic is refused by the original's own parser of arguments.
VOID = {"p0164", "p0350", "p0358", "p0063", "u0013", "u0074", "u0096", "u0165"}


# Sizes read from data need comparisons that are not decided at once.
KINDS = ["solver", "unbacked"] if hasattr(ingot.SymInt, "node") else ["solver"]


def endless(text: str) -> str:
    """The two releases spell infinity differently."""
    return text.replace("9223372036854775806", "int_oo")


def load(record: dict) -> dict[str, Any]:
    source = record["source"].replace("import torch\n", "import ingot as torch\n", 1)
    space: dict[str, Any] = {}
    exec(compile(source.replace("from torch.export", "from ingot.export", 1), "<source>", "exec"), space)
    return space


def call(module: Any, sizes: list) -> Any:
    try:
        module(*(ingot.randn(size) for size in sizes))
    except Exception as error:
        return [type(error).__name__, str(error)]
    return "ok"


def differs(got: Any, want: Any) -> bool:
    if got == "ok" or want == "ok":
        return got != want
    fixed = want[1].startswith(("Expected input at", "Expected input "))
    return got[0] != want[0] or (fixed and got[1] != want[1])


def compare(record: dict, mode: str, calls: bool) -> str | None:
    """What is different; None: nothing."""
    want = record["modes"][mode]
    try:
        space = load(record)
        program = ingot.export.export(
            space["M"](), space["args"], dynamic_shapes=space["dynamic_shapes"], strict=mode == "strict"
        )
    except Exception as error:
        text = str(error) if record["kind"] == "solver" else str(error).split("\n")[0]
        if want["outcome"] != "error" or type(error).__name__ != want["class"]:
            return f"{type(error).__name__}: {text}"
        return None if endless(text) == endless(want["text"]) else f"text: {text}"
    if want["outcome"] != "ok":
        return "no error"
    ranges = "{" + ", ".join(f"{key}: {value}" for key, value in program.range_constraints.items()) + "}"
    if "ranges" in want and endless(ranges) != endless(want["ranges"]):
        return f"ranges {ranges}"
    if calls:
        module = program.module()
        for sizes, answer in zip(record["sizes"], want["calls"], strict=False):
            got = call(module, sizes)
            if differs(got, answer):
                return f"call {sizes}: {got}, expected {answer}"
    return None


@pytest.mark.parametrize("mode", ["strict", "non_strict"])
@pytest.mark.parametrize("kind", KINDS)
def test_records(kind: str, mode: str) -> None:
    ours = [r for r in RECORDS if r["kind"] == kind and mode in r["modes"] and r["id"] not in VOID]
    wrong = {}
    for record in ours:
        difference = compare(record, mode, calls=kind == "solver")
        if difference is not None:
            wrong[record["id"]] = difference
    assert len(wrong) <= 0.05 * len(ours), "\n".join(f"{key}: {text[:300]}" for key, text in wrong.items())


def test_suggested_fixes_work() -> None:
    """Where PyTorch could apply the fixes of its message, so can we with ours."""
    failed, tried = [], 0
    for record in RECORDS:
        if record["kind"] != "solver" or not record["modes"].get("strict", {}).get("fixed"):
            continue
        tried += 1
        space = load(record)
        shapes = space["dynamic_shapes"]
        for _ in range(3):
            try:
                ingot.export.export(space["M"](), space["args"], dynamic_shapes=shapes)
                break
            except Exception as error:
                try:
                    shapes = refine_dynamic_shapes_from_suggested_fixes(str(error), shapes)
                except ValueError:
                    pass
        else:
            failed.append(record["id"])
    assert tried > 50
    assert len(failed) <= 0.05 * tried, failed
