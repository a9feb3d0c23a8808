# SPDX-License-Identifier: Apache-2.0
"""Equal seeds give PyTorch's numbers, bit for bit, and consume as much of the sequence."""

import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

import ingot

HERE = pathlib.Path(__file__).parent


# The last bit of logarithms and of the inverse error function, for which PyTorch's builds use Intel's library.
LAST_BITS = {
    "2.5": {"init trunc_normal_ (20, 30)", *(f"exponential_ {n} float32" for n in (15, 16, 17, 33, 1000)),
            "exponential_ 1000 float64"},
    "2.13": set(),
}  # fmt: skip


@pytest.mark.parametrize("level", ["2.5", "2.13"])
def test_draws(tmp_path, level):
    out = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, "-m", "ingot", str(HERE / "random_cases.py"), str(out)],
        capture_output=True,
        env={**os.environ, "INGOT_COMPAT": level},
    )
    assert done.returncode == 0, done.stderr.decode()
    golden = json.loads((HERE / f"golden_random_{level.replace('.', '_')}.json").read_text())
    found = json.loads(out.read_text())
    assert set(found) == set(golden)
    assert {name for name in golden if found[name] != golden[name]} == LAST_BITS[level]
    assert all(found[name][1] == golden[name][1] for name in golden)


def test_exponential_numbers_of_2_5():
    ingot.manual_seed(7)
    found = ingot.empty(5).exponential_(1.5)
    recorded = [1.2532176971435547, 0.15492497384548187, 0.19911551475524902, 0.6838639974594116, 1.0888546705245972]
    ingot.testing.assert_close(found, ingot.tensor(recorded), rtol=2e-7, atol=0)
    ingot.manual_seed(7)
    assert ingot.equal(ingot.empty(1, 5).t().exponential_(1.5).flatten(), found)


def test_rows_are_drawn_in_order_whatever_the_layout():
    ingot.manual_seed(7)
    rows = ingot.empty(2, 3, 4).bernoulli_(0.4)
    ingot.manual_seed(7)
    assert ingot.equal(ingot.empty(4, 3, 2).permute(2, 1, 0).bernoulli_(0.4), rows)
    ingot.manual_seed(7)
    assert ingot.empty(()).bernoulli_(0.4).item() == rows.flatten()[0].item()


def test_the_level_is_that_of_the_thread():
    def numbers():
        ingot.manual_seed(7)
        return ingot.empty(24).bernoulli_(0.5).tolist()

    standard, elsewhere = numbers(), []
    with ingot.set_compat("2.13"):
        newer = numbers()
        thread = threading.Thread(target=lambda: elsewhere.append(numbers()))
        thread.start()
        thread.join()
    assert newer != standard == elsewhere[0] == numbers()


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
