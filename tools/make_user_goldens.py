#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/python/user_cases/golden.json: `make_user_goldens.py PYTHON`, a Python with PyTorch 2.5.1."""

import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "python" / "user_cases"


def main() -> None:
    golden = {}
    for path in sorted(FOLDER.glob("*_cases.py")):
        done = subprocess.run(
            [sys.argv[1], FOLDER / "run.py", "torch", path], check=True, capture_output=True, text=True
        )
        golden[path.stem] = json.loads(done.stdout.splitlines()[-1])
    (FOLDER / "golden.json").write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n", encoding="utf-8")


main()
