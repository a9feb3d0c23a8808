# SPDX-License-Identifier: Apache-2.0
"""Equal seeds give PyTorch's numbers, bit for bit, and consume as much of the sequence."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import ingot

HERE = pathlib.Path(__file__).parent


def test_draws(tmp_path):
    out = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, "-m", "ingot", str(HERE / "random_cases.py"), str(out)],
        capture_output=True,
        env={**os.environ, "INGOT_COMPAT": "2.13"},  # golden_random.json is of that release
    )
    assert done.returncode == 0, done.stderr.decode()
    found, golden = json.loads(out.read_text()), json.loads((HERE / "golden_random.json").read_text())
    assert set(found) == set(golden)
    assert [name for name in golden if found[name] != golden[name]] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.08365228772163391, -0.7977502346038818, 0.3906378448009491, 0.38465026021003723]),
        (
            {"mean": 0.5, "std": 3.0, "a": 0.0, "b": 1.0},
            [0.5347623229026794, 0.1996910274028778, 0.6585514545440674, 0.6562375426292419],
        ),
    ],
)
def test_trunc_normal_of_2_5(options, expected):
    ingot.manual_seed(7)
    assert ingot.nn.init.trunc_normal_(ingot.empty(4), **options).tolist() == expected
    assert ingot.rand(1).item() == 0.23276156187057495


def test_trunc_normal_of_2_13_consumes_more():
    with ingot.set_compat("2.13"):
        ingot.manual_seed(7)
        values = ingot.nn.init.trunc_normal_(ingot.empty(1000))
        assert values.abs().max().item() <= 2
    with ingot.set_compat("2.5"):
        ingot.manual_seed(7)
        assert not ingot.equal(values, ingot.nn.init.trunc_normal_(ingot.empty(1000)))
