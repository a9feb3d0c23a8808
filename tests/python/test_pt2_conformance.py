# SPDX-License-Identifier: Apache-2.0
"""Every program that the conformance tests save (their `serdes` variant) is loaded by the real PyTorch, which computes
the same with the examples of the file. Skipped where PyTorch or the conformance tests are not there."""

import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
RUNNERS = [top / "shared/conformance/run" for top in HERE.parents[2:4]]
# Operators and containers that only the tests know; uninitialized results.
UNKNOWN = ("test_dynamic_shapes_builder_pytree_serdes", "test_symint_tensor_return_serdes")
EMPTY = ("test_export_with_inline_constraints_serdes",)


def agrees(torch, found, want):
    if isinstance(found, torch.Tensor):
        if found.device.type == "meta":
            return True
        found = found.detach().resolve_conj()
        found = found.to(torch.complex128 if found.is_complex() else torch.float64).numpy()
        if not isinstance(want, np.ndarray) or found.shape != want.shape:
            return False
        scale = max(1.0, float(np.nanmax(np.abs(want), initial=0)))  # sums of many have errors of their size
        return np.allclose(found, want, rtol=1e-5, atol=2e-5 * scale, equal_nan=True)
    return want is None or found == want


def test_pytorch_computes_the_same(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if "ingot" in (torch.__file__ or "") or tuple(int(x) for x in torch.__version__.split(".")[:2]) < (2, 8):
        pytest.skip("no PyTorch that reads the newest layout")
    runner = next((path for path in RUNNERS if path.exists()), None)
    if runner is None:
        pytest.skip("the conformance tests are not here")
    path = os.pathsep.join([str(HERE), *sys.path])
    env = os.environ | {"PYTHONPATH": path, "PYTEST_ADDOPTS": "-p pt2_dumper", "INGOT_DUMP": str(tmp_path)}
    command = [sys.executable, str(runner), "--provider", "ingot", "--only", "_serdes"]
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, timeout=800)
    files = sorted(tmp_path.glob("*.pt2"))
    assert len(files) > 100
    wrong = []
    for file in files:
        name = file.name.partition("-")[0]
        if name in UNKNOWN + EMPTY:
            continue
        want = pickle.loads(file.with_suffix(".pkl").read_bytes())
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                program = torch.export.load(file)
                args, kwargs = program.example_inputs
                found = torch.utils._pytree.tree_leaves(program.module()(*args, **kwargs))
        except Exception as error:  # noqa: BLE001: all are reported together
            wrong.append(f"{name}: {error}")
            continue
        if len(found) != len(want) or not all(agrees(torch, a, b) for a, b in zip(found, want)):
            wrong.append(f"{name}: other results")
    assert not wrong, "\n".join(wrong)
