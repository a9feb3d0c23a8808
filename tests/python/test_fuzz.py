# SPDX-License-Identifier: Apache-2.0
"""Random calls never kill the interpreter (fuzz_calls.py says what is called)."""

import pathlib
import subprocess
import sys

import pytest

import fuzz_calls


@pytest.mark.parametrize("seed", [101, 102, 103])
def test_calls(seed):
    script = pathlib.Path(fuzz_calls.__file__)
    done = subprocess.run([sys.executable, script, str(seed), "1000"], capture_output=True, text=True, check=False)
    last = fuzz_calls.LAST.read_text(encoding="utf-8")
    assert done.returncode == 0, f"{last}\n{done.stderr}"
    assert "'ok'" in done.stdout
