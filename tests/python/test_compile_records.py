# SPDX-License-Identifier: Apache-2.0
"""Programs under torch.compile, recorded with PyTorch 2.5.1: outcomes, values, effects and errors are the same or
those of eager PyTorch, and no more graphs are compiled. What differs is listed in compile_known.json, with reasons.

compile_records.jsonl.gz has, per program, its source, what each step showed ("compiled" and "eager" where these
differed in PyTorch) and the number of graphs.
"""

import gzip
import json
import os
import pathlib
import signal

import pytest

np = pytest.importorskip("numpy")
from compile_program import run_program  # noqa: E402

HERE = pathlib.Path(__file__).parent
KEYS = ("out", "args_after", "kwargs_after", "stdout", "value", "error")


def records():
    with gzip.open(HERE / "compile_records.jsonl.gz", "rt") as f:
        return [json.loads(line) for line in f]


def in_child(record, folder):
    """Programs change settings of the process: each has one of its own."""
    path = folder / f"{record['name']}.py"
    path.write_text(record["source"])
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        status = 1
        try:
            signal.alarm(60)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(write, "w") as f:
                f.write(json.dumps(run_program(record["name"], record["source"], str(path))))
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"steps": [], "graphs": 0, "failed": "crashed"}


def is_close(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        a, b = ({k: v for k, v in x.items() if k != "grad_fn"} for x in (a, b))
        return set(a) == set(b) and all(is_close(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_close, a, b))
    if isinstance(a, float) or isinstance(b, float):
        both = isinstance(a, (int, float)) and isinstance(b, (int, float))
        return both and abs(a - b) <= 1e-4 * max(1, abs(a), abs(b))
    return a == b and type(a) is type(b)


def fits(got, wanted):
    return all((k in got) == (k in wanted) and is_close(got.get(k), wanted.get(k)) for k in KEYS)


def differences(record, got):
    """Numbers of steps that differ, and "graphs: found > recorded"."""
    out = []
    for i, wanted in enumerate(record["steps"]):
        options = [wanted["eager"], wanted["compiled"]] if "eager" in wanted else [wanted]
        if i >= len(got["steps"]) or not any(fits(got["steps"][i], w) for w in options):
            out.append(f"step {i}")
    if got["graphs"] > record["graphs"]:
        out.append(f"graphs: {got['graphs']} > {record['graphs']}")
    return out


def test_records(tmp_path):
    known = json.loads((HERE / "compile_known.json").read_text())
    found = {}
    for record in records():
        different = differences(record, in_child(record, tmp_path))
        if different:
            found[record["name"]] = different
    wrong = {k: v for k, v in found.items() if known.get(k, {}).get("differences") != v}
    gone = [k for k in known if k not in found]
    assert not wrong, f"unexpected: {json.dumps(wrong, indent=1)}"
    assert not gone, f"no longer different, remove from compile_known.json: {gone}"
    assert all(entry["reason"] for entry in known.values())
