# SPDX-License-Identifier: Apache-2.0
"""Cases as users write them, each with what PyTorch 2.5.1 prints (user_cases/golden.json). Every file runs in a process
of its own, where the package stands for torch."""

import functools
import json
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent / "user_cases"
GOLDEN = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))


@functools.cache
def outcomes(area):
    command = [sys.executable, FOLDER / "run.py", "ingot", FOLDER / f"{area}.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("area", "case"), [(area, case) for area, cases in GOLDEN.items() for case in cases])
def test_prints_what_pytorch_prints(area, case):
    assert outcomes(area)[case] == GOLDEN[area][case]


def test_every_case_has_an_expected_outcome():
    for area, cases in GOLDEN.items():
        assert set(outcomes(area)) == set(cases)
