#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copy recorded calls and programs of the real PyTorch into the test data.

    python tools/make_recorded.py OPS.JSONL PROGRAMS.JSONL

Each line of OPS.JSONL is one call (source, inputs, results, gradients, texts of captured programs), each line of
PROGRAMS.JSONL one program in every way to export it; a line of PyTorch 2.4.1 follows that of 2.5.1 where they differ.
tests/python/ops_replay.py and program_replay.py replay them.
"""
import gzip
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def write(name: str, lines: list[str]) -> None:
    path = ROOT / "tests/python" / name
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        f.write("\n".join(lines).encode() + b"\n")
    print(f"{name}: {len(lines)} records, {path.stat().st_size} bytes")


def main() -> None:
    for name, source in (("recorded_ops.json.gz", sys.argv[1]), ("programs.json.gz", sys.argv[2])):
        records = [json.loads(line) for line in pathlib.Path(source).read_text().splitlines()]
        write(name, [json.dumps(r, separators=(",", ":"), ensure_ascii=False) for r in records])


main()
