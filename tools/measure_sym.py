#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of PyTorch's recorded answers about symbolic sizes Ingot agrees with, field by field.

    python tools/measure_sym.py FOLDER            (with the package of a build on PYTHONPATH)
    python tools/measure_sym.py FOLDER --write    also writes the records and the known differences for the tests

FOLDER holds solver.jsonl and unbacked.jsonl. A field agrees when it is exactly that of PyTorch 2.5.1 or of 2.4.1. Every
difference is listed by record, mode and field with its reason; where the reason is the id of a conformance test, that
test demands what Ingot does, and the field does not count. Where two releases answered, each of them is contradicted,
maybe by different tests, whose ids are joined by " and ". No other field leaves the count.
"""

import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys
from typing import Any

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests/python"
KINDS = ("solver", "unbacked")
TEST = "test_export.py::TestExport::test_"
FORM = TEST + "unbacked_deferred_runtime_retrace"  # not strict: a range is one call, relations have no minus
ONCE = TEST + "redundant_asserts"  # strict: a range is one call, not two assertions
RANGE = TEST + "export_with_inline_constraints"  # what lies outside of a range is refused in these words
SIZE = TEST + "automatic_constrain_size"  # strict: a negative size, too, and by no check before that

FAULT = "the original fails inside of itself"
MIXED = "Dim.AUTO may stand beside Dim; 2.5.1 refuses it"
INFINITE = "a range without an end prints int_oo; only 2.4.1 was recorded, or mixes it with other texts of its own"
INDEX = "an index that stands in the data is asked about; the original's parser of arguments refuses it"
SHAPES = "a suggested check names the size of the input where the original writes the example's number"
SECOND = "the question is asked in the first run of the program, not in the second, whose symbols have other numbers"
EQUAL = "a number that equals a constant stays a number that is checked; the original puts the constant in its place"
NAMES = "nodes that are not kept have no numbers; checks of strict programs are named and placed as in other programs"
SOLVER = "other guards are told: the original asks about strides and broadcasting more often, or words forced values"
FIXES = "fixes are refined to dims that belong together; the original loses roots, or writes other bounds"
RANGES = "ranges after the fixes differ as the fixes do"
CALLS = "the call is refused by another check, or with the operator's own words"
CHECK = re.compile(r"sym_constrain_range|_assert_scalar|_assert_async|scalar_tensor")
ARITHMETIC = re.compile(
    r"^ *\w+ = (?:[\w.-]+ (?:>=|<=|>|<|==|!=|\*|\+|-|//|%) [\w.-]+"
    r"|torch\.sym_not\(.*|torch\.ops\.aten\.sym_size\.int\(.*)"
)
FUNCTIONS = re.compile(CHECK.pattern + r"|^(ge|le|gt|lt|eq|ne|mul|add|sub|mod|floordiv|sym_not)$|sym_size")
COUNTED = re.compile(r"\b(ge|le|gt|lt|eq|ne|mul|add|sub|mod|floordiv|sym_not|sym_size_int)_\d+\b")
NEGATED = re.compile(r"for expression [^\"']*-(\d+\*)?[us]\d")


def without_checks(code: str | list) -> list:
    """The lines or nodes that check nothing; names that checks use, too, without their numbers."""
    if isinstance(code, list):
        return [[COUNTED.sub(r"\1", str(part)) for part in row] for row in code if not FUNCTIONS.search(row[2])]
    rows = [re.split(r";  ", row)[0] for row in code.splitlines() if not CHECK.search(row)]
    return [COUNTED.sub(r"\1", row) for row in rows if not ARITHMETIC.match(row)]


def contradicts_form(mode: str, found: str, answer: str) -> str | None:
    """The test that demands another form of the checks than this answer has."""
    if "sym_constrain_range.default" in found and "sym_constrain_range.default" not in answer:
        return ONCE if mode == "strict" else FORM
    if mode != "strict":
        return FORM if NEGATED.search(answer) else None
    return SIZE if "inline constraint" in answer and "sym_constrain_range_for_size" in found else None


def contradicts_call(mode: str, found: Any, answer: Any) -> str | None:
    got, text = str(found), str(answer)
    if "Invalid value range" in got:
        return RANGE if "Runtime assertion failed" in text else SIZE if "inline constraint" in text else None
    return FORM if mode != "strict" and "Runtime assertion failed" in got and NEGATED.search(text) else None


def contradictions(mode: str, field: str, found: Any, wanted: list) -> set[str] | None:
    """The tests that contradict every answer, if nothing but the checks differs; None: one answer stands."""
    ids = set()
    for answer in wanted:
        if field == "calls":
            why = [contradicts_call(mode, a, b) for a, b in zip(found, answer) if a != b]
            if not why or None in why:
                return None
            ids.update(why)
            continue
        test = contradicts_form(mode, str(found), str(answer))
        if test is None:
            return None
        ids.add(test)
    if field != "calls" and not any(without_checks(found) == without_checks(answer) for answer in wanted):
        return None
    return ids


def is_contradicted(mode: str, field: str, found: Any, wanted: list) -> str | None:
    about_checks = found and wanted and field in ("code", "nodes", "calls")
    ids = contradictions(mode, field, found, wanted) if about_checks else None
    return " and ".join(sorted(ids)) if ids else None


def reason(key: str, kind: str, value: list, answers: list[dict]) -> str:
    _, mode, field = key.split()
    found, wanted = value[0], value[1:]
    contradicted = is_contradicted(mode, field, found, wanted) if kind == "unbacked" else None
    if contradicted is not None:
        return contradicted
    text = str(wanted)
    faults = ("KeyError", "AttributeError", "TypeError", "AssertionError", "ValueError", "IndexError")
    classes = [a.get("class") for a in answers]
    if any("Specifying both `Dim.AUTO`" in a.get("text", "") for a in answers):
        return MIXED
    if "IndexError" in classes:
        return INDEX
    if all(name in faults for name in classes) or "Cannot create Dim with inconsistent" in text:
        return FAULT
    spelled = [re.sub(r"9223372036854775806|9223372036854775807|int_oo", "oo", str(v)) for v in value]
    if spelled[0] in spelled[1:]:
        return INFINITE
    if kind == "unbacked":
        if field == "text":
            first = bool(found) and any(found[0] == w[0] for w in wanted)
            return SHAPES if first else SECOND
        constant = any(re.search(r"VR\[(\d+), \1\]", str(a.get("range_constraints"))) for a in answers)
        return EQUAL if constant else NAMES
    by_field = {"refined": FIXES, "fixed": FIXES, "fixed_range_constraints": RANGES, "calls": CALLS, "code": NAMES}
    return by_field.get(field, SOLVER)


def answers_of(record: dict, mode: str) -> list[dict]:
    return [a for a in (record["oracle"].get(name, {}).get(mode) for name in ("t25", "t24")) if a]


def report(kind: str, found: dict, reasons: dict) -> None:
    fields: dict = collections.defaultdict(lambda: [0, 0, 0])
    for key, value in found.items():
        _, mode, field = key.split()
        for name in ((mode, ""), (mode, field)):
            fields[name][0] += value is None
            fields[name][1] += 1
            fields[name][2] += "::" in reasons.get(key, "")
    print(kind)
    for (mode, field), (good, every, apart) in sorted(fields.items()):
        counted = every - apart
        share = 100 * good / counted if counted else 100.0
        print(f"  {mode:16}{field or 'all':26}{good:5} of {every:5}, {apart:4} contradicted, {share:5.1f} %")
    for why, n in collections.Counter(reasons.values()).most_common():
        print(f"  {n:5} {why}")


def replay(path: pathlib.Path) -> dict:
    command = [sys.executable, str(TESTS / "sym_replay.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def write_records(records: dict[str, list[dict]]) -> None:
    lines = [json.dumps(r, separators=(",", ":")) for kind in KINDS for r in records[kind]]
    path = TESTS / "sym_records.jsonl.gz"
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
        file.write("\n".join(lines).encode() + b"\n")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    known: dict[str, dict[str, list[str]]] = {}
    records = {kind: [json.loads(row) for row in (folder / f"{kind}.jsonl").read_text().splitlines()] for kind in KINDS}
    for kind in KINDS:
        found = replay(folder / f"{kind}.jsonl")
        by_id = {r["id"]: r for r in records[kind]}
        reasons = {
            key: reason(key, kind, value, answers_of(by_id[key.split()[0]], key.split()[1]))
            for key, value in found.items()
            if value is not None
        }
        report(kind, found, reasons)
        rows: dict[str, list[str]] = collections.defaultdict(list)
        for key, why in reasons.items():
            rows[why].append(key)
        known[kind] = {why: sorted(keys) for why, keys in sorted(rows.items())}
    if "--write" in sys.argv:
        write_records(records)
        (TESTS / "sym_known.json").write_text(json.dumps(known, indent=0, separators=(",", ":")) + "\n")


main()
