#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extract recorded calls of the real PyTorch: tests/python/recorded_ops.json.gz.

    python tools/make_recorded.py OPS.JSONL

OPS.JSONL has one recorded call a line: source, inputs, result, gradients, texts of captured programs. Kept are the
fields that tests/python/test_recorded.py and test_ops_records.py compare; "second" holds the texts of PyTorch 2.4.1
where they differ.
"""
import gzip
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = ("name", "op", "source", "seed", "inputs", "out", "grads", "dynamic", "training_code", "core_code")
TEXTS = ("training_code", "core_code")


def main() -> None:
    kept: dict[str, dict] = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        record = json.loads(line)
        if "differs_in" in record:
            kept[record["name"]]["second"] = {f: record[f] for f in TEXTS if f in record}
            continue
        short = {field: record[field] for field in FIELDS if field in record}
        failed = {f: e for f, e in record.get("error", {}).items() if f == "out" or f in TEXTS}
        if failed:
            short["errors"] = {f: {"class": e["class"], "text": e["text"][:400]} for f, e in failed.items()}
        if "out" in short or "out" in failed:
            kept[record["name"]] = short
    text = json.dumps(list(kept.values()), separators=(",", ":"), ensure_ascii=False)
    path = ROOT / "tests/python/recorded_ops.json.gz"
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        f.write(text.encode())
    print(f"{len(kept)} calls, {path.stat().st_size} bytes")


main()
