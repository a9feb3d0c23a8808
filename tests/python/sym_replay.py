# SPDX-License-Identifier: Apache-2.0
"""Replays recorded programs with dynamic dimensions ("solver") and with data-dependent numbers ("unbacked"):
each is exported in every recorded mode and called with the recorded inputs. Prints one JSON object: "id mode field" ->
null if Ingot gives exactly what PyTorch 2.5.1 or PyTorch 2.4.1 gave, else [found, expected of each release].

    python sym_replay.py RECORDS.jsonl[.gz] [ID... | PART/PARTS | list]

Every field of the record counts. Which fields there are follows from what PyTorch did: a release that exports the
program gives ranges, placeholders, code, nodes and calls; one that refuses gives the class, the text and what becomes
of the suggested fixes. Where the releases do the same, Ingot is compared with both; where one exports and the other
refuses, with the one that did what Ingot does. If none did, all fields of 2.5.1 are missed.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import ingot
from ingot.export import _trace
from ingot.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

SECONDS = 60  # for one program in one mode
EXPORTED = ("range_constraints", "placeholders", "code", "nodes", "calls")
REFUSED = ("class", "text", "refined", "fixed", "fixed_range_constraints")
FLAGS = {
    "complex_asserts": {"_allow_complex_guards_as_runtime_asserts": True},
    "no_forced": {"_disable_forced_specializations": True},
}


def load(source: str) -> dict[str, Any]:
    """The program with Ingot for torch."""
    space: dict[str, Any] = {"__name__": "source"}
    source = source.replace("import torch\n", "import ingot as torch\n", 1)
    exec(compile(source.replace("from torch.export", "from ingot.export", 1), "<source>", "exec"), space)
    return space


def export(mode: str, space: dict, shapes: Any) -> Any:
    module, args = space["M"](), space["args"]
    if mode in FLAGS:
        flags = FLAGS[mode]
        return _trace._export(module, args, dynamic_shapes=shapes, strict=False, pre_dispatch=True, **flags)
    return ingot.export.export(module, args, dynamic_shapes=shapes, strict=mode == "strict")


def clean(text: str) -> str:
    text = re.sub(r"/[\w./+-]*/(site-packages|dist-packages)/", "", text)
    text = re.sub(r"/(work|tmp|usr|home|root|opt)/[\w./+-]*", "<path>", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x<addr>", text)


def error_of(error: Exception, limit: int) -> dict[str, str]:
    return {"class": type(error).__name__, "text": clean(str(error))[:limit]}


def target_of(node: Any) -> str:
    if node.op != "call_function":
        return str(node.target)
    return str(node.target) if hasattr(node.target, "_schema") else getattr(node.target, "__name__", str(node.target))


def answer_of(result: Any) -> str:
    return str(list(result.shape)) if isinstance(result, ingot.Tensor) else repr(result)


def spec_text(spec: Any) -> str:
    """A dynamic_shapes tree as the records spell it."""
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key!r}: {spec_text(value)}" for key, value in spec.items()) + "}"
    if isinstance(spec, (tuple, list)):
        return "(" + "".join(spec_text(value) + ", " for value in spec).rstrip(" ") + ")"
    root = getattr(spec, "root", None)
    if root is not None and root is not spec:
        return f"{spec.__name__} [{root.__name__} = {spec_text(root)}]"
    if hasattr(spec, "__name__"):
        return f"Dim({spec.__name__!r}, min={spec.min}, max={'int_oo' if spec.max == 2**63 - 1 else spec.max})"
    return str(spec)


def call_sizes(module: Any, record: dict) -> list:
    calls: list = []
    for sizes in record["sizes"]:
        try:
            module(*(ingot.ones(size) for size in sizes))
            calls.append("ok")
        except Exception as error:
            calls.append(error_of(error, 500))
    return calls


def call_alternatives(module: Any, record: dict, space: dict) -> list:
    calls: list = []
    for arguments in record["alternatives"]:
        ingot.manual_seed(0)
        try:
            calls.append({"ok": [answer_of(result) for result in module(*eval(arguments, space))]})
        except Exception as error:
            calls.append(error_of(error, 400))
    return calls


def describe(program: Any, record: dict, space: dict) -> dict[str, Any]:
    nodes = list(program.graph.nodes)
    values = [(n.name, n.meta.get("val")) for n in nodes if n.op == "placeholder"]
    found = {
        "outcome": "ok",
        "range_constraints": str(program.range_constraints),
        "placeholders": [[name, answer_of(value)] for name, value in values],
        "code": clean(program.graph_module.code.strip()),
    }
    if "sizes" in record:
        found["calls"] = call_sizes(program.module(), record)
    else:
        found["nodes"] = [[n.op, n.name, target_of(n), str(n.args)[:200]] for n in nodes]
        found["calls"] = call_alternatives(program.module(), record, space)
    return found


def refuse(error: Exception, mode: str, space: dict, record: dict) -> dict[str, Any]:
    found: dict[str, Any] = {"outcome": "error", **error_of(error, 6000 if "sizes" in record else 5000)}
    if "Suggested fixes:" not in str(error) or "sizes" not in record:
        return found
    found["fixed"] = False
    try:
        shapes = refine_dynamic_shapes_from_suggested_fixes(str(error), space["dynamic_shapes"])
        found["refined"] = spec_text(shapes)
        program = export(mode, space, shapes)
        found["fixed"] = True
        found["fixed_range_constraints"] = str(program.range_constraints)
    except Exception as again:
        found["fix_error"] = str(again)
    return found


def run(record: dict, mode: str) -> dict[str, Any]:
    space = load(record["source"])
    try:
        program = export(mode, space, space["dynamic_shapes"])
    except Exception as error:
        return refuse(error, mode, space, record)
    return describe(program, record, space)


def stripped(field: str, kind: str, value: Any) -> Any:
    """Of a data-dependent error: the first line and the suggested checks; what is between them is about PyTorch.
    Of a failed call: the text only if the program made it; what operators and kernels say is recorded elsewhere."""
    if field == "text" and kind == "unbacked":
        fixes = re.search(r"To fix the error, insert.*?\n\n", value + "\n\n", re.S)
        return [value.split("\n")[0], fixes[0].rstrip() if fixes else None]
    if field == "calls":
        return [stripped_call(answer) for answer in value]
    return value


OWN = ("Expected input ", "Runtime assertion failed", "Invalid value range", "Unexpected number of dimensions")


def stripped_call(answer: Any) -> Any:
    if not isinstance(answer, dict) or "ok" in answer or answer["text"].startswith(OWN):
        return answer
    return answer["text"] if "inline constraint" in answer["text"] else answer["class"]


def releases(record: dict, mode: str) -> dict[str, dict]:
    """What each release answered, the later one first; where a release timed out or has no such mode it did not."""
    answers = {name: record["oracle"].get(name, {}).get(mode) for name in ("t25", "t24")}
    return {name: a for name, a in answers.items() if a and a["outcome"] != "timeout" and not a.get("timeout")}


def fields_of(answer: dict) -> list[str]:
    names = EXPORTED if answer["outcome"] == "ok" else REFUSED
    return ["outcome", *(name for name in names if name in answer)]


def compare(record: dict, mode: str, found: dict) -> Iterator[tuple[str, list | None]]:
    kind = "solver" if "sizes" in record else "unbacked"
    answers = releases(record, mode)
    same = [a for a in answers.values() if a["outcome"] == found["outcome"]]
    for field in fields_of((same or list(answers.values()))[0]):
        got = stripped(field, kind, found[field]) if field in found else None
        wanted = [stripped(field, kind, a[field]) for a in answers.values() if field in a]
        yield field, None if got in wanted else [got, *wanted]


def modes_of(record: dict) -> list[str]:
    known = ("non_strict", "strict", "complex_asserts", "no_forced")
    return [mode for mode in known if releases(record, mode)]


def late(*_: object) -> None:
    raise TimeoutError(f"not done in {SECONDS} s")


def replay(record: dict) -> Iterator[tuple[str, list | None]]:
    for mode in modes_of(record):
        signal.alarm(SECONDS)
        try:
            found = run(record, mode)
        except Exception as error:  # the program itself cannot be read, or it takes too long
            found = {"outcome": "error", **error_of(error, 6000)}
        finally:
            signal.alarm(0)
        for field, difference in compare(record, mode, found):
            yield f"{record['id']} {mode} {field}", difference


def read(path: pathlib.Path) -> list[dict]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        return [json.loads(line) for line in file]


def main() -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    records = read(pathlib.Path(sys.argv[1]))
    chosen = set(sys.argv[2:])
    if chosen == {"list"}:
        print(json.dumps([record["id"] for record in records]))
        return
    part = re.fullmatch(r"(\d+)/(\d+)", sys.argv[2]) if len(chosen) == 1 else None
    if part:
        records = records[int(part[1]) :: int(part[2])]
    elif chosen:
        records = [record for record in records if record["id"] in chosen]
    found: dict[str, list | None] = {}
    for record in records:
        found.update(replay(record))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
