# SPDX-License-Identifier: Apache-2.0
"""Whole recorded programs (state, containers, control flow, sizes that vary) as ONNX: what the writer takes, the
checker accepts, and onnxruntime and Ingot's own reader run it alike."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import ingot

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

HERE = pathlib.Path(__file__).parent
SHARED = HERE.parents[1].parent / "shared/graphs/programs.jsonl"


def verdicts(path: pathlib.Path) -> dict[str, str]:
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(ingot.__file__).parent.parent))
    command = [sys.executable, str(HERE / "onnx_replay.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict[str, str], at_least: float) -> None:
    wrong = {name: text for name, text in found.items() if text.startswith("wrong")}
    assert not wrong, json.dumps(wrong, indent=1)
    written = [name for name, text in found.items() if text == "ok"]
    refused = [name for name, text in found.items() if text.startswith("refused")]
    assert len(written) >= at_least * (len(written) + len(refused)), [found[name] for name in refused]


def test_recorded_programs() -> None:
    check(verdicts(HERE / "programs.json.gz"), 0.9)


@pytest.mark.skipif(
    not SHARED.exists() or "INGOT_ALL_PROGRAMS" not in os.environ,
    reason="all programs take a minute: set INGOT_ALL_PROGRAMS, where their records are",
)
def test_all_recorded_programs() -> None:
    check(verdicts(SHARED), 0.9)
