# SPDX-License-Identifier: Apache-2.0
"""Every program that the conformance tests of torch.export capture: written as ONNX, accepted by onnx.checker with
full_check, and run by onnxruntime with the results of the program; the exceptions are those that docs/onnx_writing.md
lists. Skipped where onnxruntime or the conformance tests are not there."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

HERE = pathlib.Path(__file__).resolve().parent
RUNNERS = [top / "shared/conformance/run" for top in HERE.parents[2:4]]
RUNNER = next((path for path in RUNNERS if path.exists()), None)
CUSTOM = "this higher-order operator cannot be written", "testlib.returns_tensor_symint.default: this operator cannot"
FAKE = ("has no data: it is a fake tensor",)
KNOWN = {
    "test_custom_op_auto_functionalize": CUSTOM,
    "test_custom_op_auto_functionalize_pre_dispatch": CUSTOM,
    "test_custom_op_auto_warn_pre_dispatch": CUSTOM,
    "test_symint_tensor_return": CUSTOM,
    "test_export_with_fake_tensor_inputs": FAKE,
    "test_export_with_fake_tensor_inputs_on_cuda_devices": FAKE,
    "test_fake_weights": FAKE,
    "test_trace_under_fake": FAKE,
    "test_basic_non_strict_fake_tensor": ("not run: its examples are fake",),
    "test_fake_inputs": ("not run: its examples are fake",),
    "test_export_constraints_error": ("not run: the program refuses its examples",),
}


@pytest.mark.skipif(RUNNER is None, reason="the conformance tests are not here")
@pytest.mark.skipif("INGOT_SANITIZED" in os.environ, reason="a minute without sanitizers, and many with them")
def test_programs_are_written_and_agree(tmp_path: pathlib.Path) -> None:
    path = os.pathsep.join([str(HERE), *sys.path])
    env = os.environ | {"PYTHONPATH": path, "PYTEST_ADDOPTS": "-p onnx_dumper", "INGOT_DUMP": str(tmp_path)}
    command = [sys.executable, str(RUNNER), "--provider", "ingot", "--only", "test_export.py::TestExport::"]
    subprocess.run(command, env=env, check=False, stdout=subprocess.DEVNULL, timeout=800)
    verdicts = [json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.read_text().splitlines()]
    strange = [(name, text) for name, text in verdicts
               if text != "ok" and not any(known in text for known in KNOWN.get(name, ()))]
    assert not strange
    assert sum(text == "ok" for _, text in verdicts) > 150
    assert {name for name, text in verdicts if text != "ok"} <= set(KNOWN)
