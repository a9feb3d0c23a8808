# SPDX-License-Identifier: Apache-2.0
"""Archives of many kinds of modules (archive_zoo.py): those that Ingot writes run in Ingot, and where the real PyTorch
is installed (here, or as $INGOT_TORCH_PYTHON, several separated by colons) each runs what the other wrote."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

import ingot
from ingot import nn

ZOO = pathlib.Path(__file__).with_name("archive_zoo.py")
# What cannot be compiled here: the dynamic quantized LSTM as a script.
UNWRITTEN = {"dynamic_lstm"}


def zoo(python: str, *args: Any) -> list[dict[str, Any]]:
    done = subprocess.run([python, ZOO, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def torch_pythons() -> list[str]:
    names = [*filter(None, os.environ.get("INGOT_TORCH_PYTHON", "").split(":")), sys.executable]
    code = "import torch, sys; sys.exit('ingot' in torch.__file__)"
    return [one for one in names if subprocess.run([one, "-c", code], capture_output=True).returncode == 0]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("zoo")
    assert {row["case"] for row in zoo(sys.executable, "write", folder, "--ingot")} == UNWRITTEN
    return folder


def test_written_archives_run(written: pathlib.Path) -> None:
    rows = zoo(sys.executable, "run", written, "--ingot")
    assert len(rows) > 30
    assert [row for row in rows if not row["ok"]] == []


def test_exchange_with_pytorch(written: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pythons = torch_pythons()
    if not pythons:
        pytest.skip("the real PyTorch is not installed")
    for i, python in enumerate(pythons):
        assert [row for row in zoo(python, "run", written) if not row["ok"]] == []
        zoo(python, "write", tmp_path / str(i))
        rows = zoo(sys.executable, "run", tmp_path / str(i), "--ingot")
        assert len(rows) > 60
        assert [row for row in rows if not row["ok"]] == []


class Chosen(nn.Module):
    def forward(self, x: ingot.Tensor, other: bool) -> ingot.Tensor:
        if other:
            return ingot.frac(x) * 2
        return x + 1


def test_operators_of_later_releases_fail_where_they_are_reached(tmp_path: pathlib.Path) -> None:
    path, later = tmp_path / "a.pt", tmp_path / "later.pt"
    ingot.jit.script(Chosen()).save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(later, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".py"):
                assert b"torch.frac(" in data
                data = data.replace(b"torch.frac(", b"torch.frac_of_tomorrow(")
            new.writestr(name.replace("a/", "later/", 1), data)
    loaded = ingot.jit.load(later)
    assert loaded(ingot.ones(2), False).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"aten::frac_of_tomorrow\(Tensor\): there is no such operator"):
        loaded(ingot.ones(2), True)


def _plain_twice() -> Callable:
    def twice(x: ingot.Tensor) -> ingot.Tensor:
        return x * 2

    return twice


def test_hooks_are_called_as_functions() -> None:
    class Inner(nn.Module):
        def forward(self, x: ingot.Tensor) -> ingot.Tensor:
            return x + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: ingot.Tensor) -> ingot.Tensor:
            return self.inner(x)

    def twice(self: Any, given: tuple[ingot.Tensor]) -> tuple[ingot.Tensor]:
        return (given[0] * 2,)

    def use(x: ingot.Tensor) -> ingot.Tensor:
        return other(x)

    other = _plain_twice()
    assert ingot.jit.script(use)(ingot.ones(1)).tolist() == [2]  # a function of the same name is none of the module's
    module = Outer()
    module.inner.register_forward_pre_hook(twice)
    script = ingot.jit.script(module)
    assert script(ingot.ones(1)).tolist() == [3]
    assert "Inner.twice" in script.code
