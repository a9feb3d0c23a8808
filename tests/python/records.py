# SPDX-License-Identifier: Apache-2.0
"""What the tests of recorded calls and programs share: a replay in a process of its own, where Ingot stands for torch,
and its comparison with the list of known differences."""
import json
import os
import pathlib
import subprocess
import sys

import ingot

HERE = pathlib.Path(__file__).parent
# For calls and programs: reason -> "name field" or "name mode field" of each difference that has it. A reason that is
# the id of a conformance test: a document demands otherwise.
_LIST = json.loads((HERE / "recorded_known.json").read_text())
KNOWN = {part: {key: why for why, keys in rows.items() for key in keys} for part, rows in _LIST.items()}


def run(script: str, records: str, *names: str):
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(ingot.__file__).parent.parent))
    command = [sys.executable, str(HERE / script), str(HERE / records), *names]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def known_errors(found: dict, known: dict) -> str:
    """What differs without being listed, and what no longer differs though it is listed."""
    new = {key: value for key, value in found.items() if value is not None and key not in known}
    gone = [key for key, value in found.items() if value is None and key in known]
    text = json.dumps(new, indent=1)[:4000] if new else ""
    return text + (f"agree now, remove from the list of known differences: {gone}" if gone else "")
