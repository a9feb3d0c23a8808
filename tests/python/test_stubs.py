# SPDX-License-Identifier: Apache-2.0
"""The types that editors and type checkers see: complete, right on programs as users write them, and able to refuse."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import ingot

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
STUBS = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "python/ingot-stubs"
pytestmark = pytest.mark.skipif(not STUBS.exists(), reason="a sanitized build has no stubs")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The package as a type checker sees it once it is installed: stubs over sources."""
    folder = tmp_path_factory.mktemp("typed")
    shutil.copytree(ROOT / "python/ingot", folder / "ingot", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(STUBS, folder / "ingot", dirs_exist_ok=True)
    return folder


def mypy(package: pathlib.Path, name: str) -> list[str]:
    pytest.importorskip("mypy", reason="mypy is not installed")
    cache = str(package / "cache")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--cache-dir",
        cache,
        str(HERE / "typed" / name),
    ]
    done = subprocess.run(command, env=dict(os.environ, MYPYPATH=str(package)), capture_output=True, text=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if ": error: " in line]


@pytest.mark.parametrize("name", ["train.py", "transformer.py"])
def test_programs_of_users_are_accepted_and_run(package, tmp_path, name):
    assert mypy(package, name) == []
    done = subprocess.run([sys.executable, HERE / "typed" / name, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_mistakes_are_found(package):
    lines = (HERE / "typed/wrong.py").read_text().splitlines()
    expected = [(i, m[1]) for i, line in enumerate(lines, 1) if (m := re.search(r"  # ([a-z-]+)$", line))]
    found = [re.search(r":(\d+): error: .*\[([a-z-]+)\]$", line) for line in mypy(package, "wrong.py")]
    assert [(int(m[1]), m[2]) for m in found] == expected


def names(path: pathlib.Path) -> set[str]:
    found = re.findall(r"^ *(?:def|class) (\w+)|^ *(\w+): | as (\w+)$", path.read_text(), re.M)
    return {name for match in found for name in match if name}


def test_every_public_name_has_a_type():
    top = {n for n in dir(ingot) if n[0] != "_"}
    assert top - names(STUBS / "__init__.pyi") == set()
    methods = {n for n in dir(ingot.Tensor) if n[0] != "_"}
    # What the stub leaves out: properties of the devices that this machine cannot have, and internals of fake tensors.
    left_out = {
        "fake_device",
        "fake_mode",
        "is_mkldnn",
        "is_mps",
        "is_mtia",
        "is_sparse_csr",
        "is_vulkan",
        "is_xla",
        "is_xpu",
        "xpu",
    }
    assert methods - names(STUBS / "_C.pyi") == left_out & methods
    for name in ("fft", "linalg", "special"):
        listed = {n for n in dir(getattr(ingot, name)) if n[0] != "_"}
        assert len(listed) > 10 and listed - names(STUBS / f"{name}.pyi") == set()
