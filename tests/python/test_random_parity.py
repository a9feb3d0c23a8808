# SPDX-License-Identifier: Apache-2.0
"""Equal seeds give the numbers of PyTorch 2.13, bit for bit, and consume as much of the sequence."""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def test_draws(tmp_path):
    out = tmp_path / "found.json"
    done = subprocess.run([sys.executable, "-m", "ingot", str(HERE / "random_cases.py"), str(out)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    found, golden = json.loads(out.read_text()), json.loads((HERE / "golden_random.json").read_text())
    assert set(found) == set(golden)
    assert [name for name in golden if found[name] != golden[name]] == []
