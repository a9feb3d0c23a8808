#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract recorded calls of the real PyTorch: tests/python/recorded_ops.json.gz.

    python tools/make_recorded.py OPS.JSONL NEEDED.TXT

OPS.JSONL has one recorded call a line (source, inputs, result, gradients, ...), NEEDED.TXT one "tier <tab> name".
Kept are the calls of tier 1 and of their fields those that tests/python/test_recorded.py compares.
"""
import gzip
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = ("name", "op", "source", "seed", "inputs", "out", "grads", "error")


def main() -> None:
    calls, needed = map(pathlib.Path, sys.argv[1:])
    tier = {line.split("\t")[1] for line in needed.read_text().splitlines() if line.startswith("1\t")}
    kept = []
    for line in calls.read_text().splitlines():
        record = json.loads(line)
        if record["op"] not in tier or "differs_in" in record:
            continue
        short = {field: record[field] for field in FIELDS if field in record}
        failed = record.get("error", {}).get("out")
        short.pop("error", None)
        if failed:
            short["error"] = {"class": failed["class"], "text": failed["text"]}
        if "out" in short or failed:
            kept.append(short)
    text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False)
    path = ROOT / "tests/python/recorded_ops.json.gz"
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        f.write(text.encode())
    print(f"{len(kept)} calls, {path.stat().st_size} bytes")


main()
