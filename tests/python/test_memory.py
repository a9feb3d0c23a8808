# SPDX-License-Identifier: Apache-2.0
"""A failing allocation is a MemoryError and leaves everything as it was (fuzz_memory.py says what is called)."""

import os

import pytest

import fuzz_memory

SANITIZED = "INGOT_SANITIZED" in os.environ


@pytest.mark.skipif(SANITIZED, reason="a sanitizer stands before the allocator itself")
@pytest.mark.parametrize("seed", [1, 2])
def test_allocations_of_the_engine(seed):
    ended = fuzz_memory.child("engine", seed, 40)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-3000:]
    assert "'MemoryError'" in ended.stdout


@pytest.mark.parametrize("seed", [1, 2])
def test_allocations_of_the_interpreter(seed):
    pytest.importorskip("_testcapi")
    ended = fuzz_memory.child("interpreter", seed, 40)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-3000:]
    assert "'MemoryError'" in ended.stdout
