# SPDX-License-Identifier: Apache-2.0
"""What --json prints has the form that docs/command.schema.json states, whatever the files are."""
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import ingot as torch

jsonschema = pytest.importorskip("jsonschema")

ROOT = pathlib.Path(__file__).resolve().parents[2]
INGOT = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "ingot"
SCHEMA = json.loads((ROOT / "docs/command.schema.json").read_text())
PT2 = sorted((ROOT / "tests/pt2/data").glob("*.pt2"))
OTHERS = [p for p in sorted((ROOT / "tests/model/data").iterdir()) if p.suffix in (".pt2", ".onnx", ".pt", ".npz")]

pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")


def check(kind: str, words: list, codes: tuple[int, ...] = (0,)) -> dict | list | None:
    """Runs `ingot WORDS --json` and validates its documents; None if it failed in another way than `codes`."""
    env = dict(os.environ, INGOT_PYTHON=sys.executable)
    done = subprocess.run([INGOT, *map(str, words), "--json"], capture_output=True, text=True, timeout=100, env=env)
    if done.returncode not in codes:
        return None
    value = json.loads(done.stdout)
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).validate(value)
    return value


def test_the_schema_is_one_and_has_every_command() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    listed = subprocess.run([INGOT, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z][a-z-]*) ", listed.split("commands:")[1], re.M)
    for command in commands:
        text = subprocess.run([INGOT, command, "--help"], capture_output=True, text=True, check=True).stdout
        assert bool(re.search(r"^ +--json\b", text, re.M)) == (command in SCHEMA["$defs"]), command


@pytest.mark.parametrize("path", PT2 + OTHERS, ids=lambda p: p.name)
def test_looking_at_files(path: pathlib.Path) -> None:
    assert check("info", ["info", path, "--all"])
    assert check("verify", ["verify", path], (0, 3))
    check("info --layers", ["info", path, "--layers"])
    check("shapes", ["shapes", path])
    check("stats", ["stats", path])
    check("run", ["run", path, "--random", "--max-memory", "1G", "--max-time", "20"])
    check("run", ["run", path, "--random", "--max-memory", "1G", "--max-time", "20", "--debug-nan"], (0, 1))


SEVERAL = [p for p in PT2 if p.stem in ("mlp", "cnn", "mixed", "derived_dims", "calls")]


@pytest.mark.parametrize("path", SEVERAL, ids=lambda p: p.name)
def test_running_and_comparing(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    onnx = tmp_path / "m.onnx"
    subprocess.run([INGOT, "convert", str(path), str(onnx), "--no-check"], capture_output=True)
    io = path.with_suffix(".out.npz")
    if io.exists():
        assert check("run", ["run", path, "--inputs", path.with_suffix(".in.npz"), "--check", io], (0, 1))
    assert check("bench", ["bench", path, "--seconds", "0"])
    assert check("bench", ["bench", path, "--seconds", "0", "--profile"])
    for other in (path, onnx, PT2[0]):
        if other.exists():
            assert check("diff", ["diff", path, other], (0, 1)) or other == PT2[0]
            check("diff", ["diff", path, other, "--first", "--ulp"], (0, 1))
            check("bisect", ["bisect", path, other], (0, 1))


def test_differences_in_weights_and_values(tmp_path: pathlib.Path) -> None:
    for name, how in (("a", "none"), ("b", "tanh")):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(approximate=how), torch.nn.Linear(4, 2))
        if name == "b":
            with torch.no_grad():
                net[2].weight.add_(1)
        torch.export.save(torch.export.export(net, (torch.ones(2, 4),)), str(tmp_path / f"{name}.pt2"))
    a, b = tmp_path / "a.pt2", tmp_path / "b.pt2"
    found = check("diff", ["diff", a, b, "--first", "--ulp"], (1,))
    assert found and found["first"]["name"] == "gelu" and any("max_abs" in c for c in found["changes"])
    assert len(found["numbers"][0]["ulps"]) == 26 and sum(found["numbers"][0]["ulps"]) == 4
    found = check("bisect", ["bisect", a, b], (1,))
    assert found and found["first"]["a"]["name"] == "gelu"
    assert found["reads"][0]["a"]["operator"] == "aten.linear.default"
    numpy.savez(tmp_path / "nan.npz", w=numpy.float32([numpy.nan, numpy.inf, 1]))
    assert check("stats", ["stats", tmp_path / "nan.npz"])


def test_the_rest(tmp_path: pathlib.Path) -> None:
    assert check("explain", ["explain"]) and check("explain CODE", ["explain", "IG0103"])
    bad = tmp_path / "bad.pt2"
    bad.write_bytes(b"PK\x03\x04 no archive")
    assert check("verify", ["verify", bad], (3,))
    rows = tmp_path / "rows.npz"
    numpy.savez(rows, x=numpy.ones((6, 4), dtype="float32"))
    torch.export.save(torch.export.export(torch.nn.Linear(4, 2), (torch.ones(3, 4),)), str(tmp_path / "m.pt2"))
    words = ["score", tmp_path / "m.pt2", "--data", rows, "--output", tmp_path / "out.npz", "--input", "input=x"]
    assert check("score", words)
