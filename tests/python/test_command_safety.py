# SPDX-License-Identifier: Apache-2.0
"""The command in bad company: files whose names talk to the terminal, checks that fail, signals, full disks."""
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hostile_files as hostile
import ingot

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
INGOT = BUILD / "ingot"
DATA = ROOT / "tests/model/data"

pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")
ENV = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


def run(folder: pathlib.Path, *args: object, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run([INGOT, *map(str, args)], cwd=folder, env=ENV, capture_output=True, **more)


# ---- what is printed


def talks_to_the_terminal(text: bytes) -> bool:
    shown = text.decode()  # it is UTF-8
    return bool(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", shown))


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("named")
    name = hostile.ESCAPES
    (folder / "a.onnx").write_bytes(hostile.named_model(name))
    (folder / "b.onnx").write_bytes(hostile.named_model(name + "b"))
    (folder / "bad.onnx").write_bytes(hostile.model(hostile.graph([hostile.node(name, [name], [name + "y"])],
        [hostile.info(name, 1, [2])], [hostile.info(name + "y", 1, [2])])))  # fmt: skip
    (folder / "w.safetensors").write_bytes(hostile.safetensors({name: [2], "b\nforged: 1": [3]}))
    (folder / "z.pt").write_bytes(hostile.archive({f"a/{name}": b"x", "a/data.pkl": b"\x80\x02N.", "a/version": b"3"}))
    return folder


LINES = [
    ("info", "a.onnx", "--all"), ("info", "a.onnx", "--json"), ("info", "w.safetensors", "--all"),
    ("info", "z.pt", "--all"),
    ("run", "a.onnx", "--random"), ("run", "a.onnx", "--random", "--json"), ("run", "a.onnx"),
    ("run", "a.onnx", "--random", "--dump-all", "dump"), ("shapes", "a.onnx"), ("shapes", "a.onnx", "--json"),
    ("show", "a.onnx"), ("show", "a.onnx", "--graph"), ("show", "a.onnx", "--tree"),
    ("diff", "a.onnx", "b.onnx"), ("diff", "a.onnx", "b.onnx", "--json"), ("verify", "a.onnx"), ("verify", "bad.onnx"),
    ("verify", "w.safetensors"), ("run", "bad.onnx", "--random"), ("convert", "a.onnx", "out.onnx"),
    ("convert", "a.onnx", "out.pt2"), ("convert", "w.safetensors", "w.npz"),
    ("bench", "a.onnx", "--random", "--runs", "2"),
    ("diff", "w.safetensors", "a.onnx"), ("info", "bad.onnx"), ("verify", "bad.onnx", "--json"),
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_names_of_a_file_do_not_reach_the_terminal(named, line):
    done = run(named, *line)
    assert done.returncode in (0, 1, 2, 3, 5)
    assert done.stdout or done.stderr
    assert not talks_to_the_terminal(done.stdout), done.stdout
    assert not talks_to_the_terminal(done.stderr), done.stderr
    if line[:2] == ("info", "a.onnx") and "--json" not in line:
        assert rb"\x1b]0;owned\x07" in done.stdout


def test_names_forge_no_lines(named):
    assert b"\nforged" not in run(named, "info", "w.safetensors", "--all").stdout


def test_errors_of_the_package_are_escaped(named):
    with pytest.raises(Exception, match=r"\\x1b\[2J") as caught:
        ingot._C.onnx_open(str(named / "bad.onnx")).program()
    assert not talks_to_the_terminal(str(caught.value).encode())


# ---- what is written


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    for name in ("mlp.pt2", "counter.pt2"):
        source = DATA / name if (DATA / name).exists() else ROOT / "tests/pt2/data" / name
        shutil.copy(source, tmp_path / name)
    shutil.copy(DATA / "endless.pt2", tmp_path)
    return tmp_path


class Noise(ingot.nn.Module):
    def forward(self, x):
        return x + ingot.rand_like(x)


def test_a_copy_that_disagrees_replaces_nothing(folder):
    """Random numbers are drawn again by every run, so that the copy cannot agree."""
    ingot.export.save(ingot.export.export(Noise(), (ingot.ones(3),)), str(folder / "noise.pt2"))
    (folder / "out.pt2").write_text("older")
    before = sorted(os.listdir(folder))
    done = run(folder, "convert", "noise.pt2", "out.pt2", text=True)
    assert done.returncode == 1, done.stderr
    assert "disagrees with noise.pt2" in done.stderr and "checked against" not in done.stderr
    assert (folder / "out.pt2").read_text() == "older"
    assert sorted(os.listdir(folder)) == before
    # Who does not want the check gets the file.
    assert run(folder, "convert", "noise.pt2", "out.pt2", "--no-check").returncode == 0
    assert (folder / "out.pt2").read_bytes() != b"older"


def test_a_copy_that_cannot_be_checked_within_limits_replaces_nothing(folder):
    (folder / "out.pt2").write_text("older")
    before = sorted(os.listdir(folder))
    done = run(folder, "convert", "mlp.pt2", "out.pt2", "--max-work", "1", text=True)
    assert done.returncode == 5 and "max_work" in done.stderr, done.stderr
    assert (folder / "out.pt2").read_text() == "older"
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(folder, number):
    """The check of the copy runs the program, which has no end."""
    (folder / "out.pt2").write_text("older")
    before = sorted(os.listdir(folder))
    listens = functools.partial(signal.signal, number, signal.SIG_DFL)  # background jobs ignore some
    command = [INGOT, "convert", "endless.pt2", "out.pt2"]
    with subprocess.Popen(command, cwd=folder, env=ENV, preexec_fn=listens) as child:
        # The copy is whole, in a folder of its own, as long as it is being checked.
        while not (staged := [p for p in folder.glob(".ingot-*/out.pt2") if p.stat().st_size]):
            assert child.poll() is None, "it ended before it had written anything"
            time.sleep(0.01)
        child.send_signal(number)
        try:
            child.wait(timeout=120)
        finally:
            child.kill()
    assert child.returncode == -number
    assert not staged[0].parent.exists()
    assert (folder / "out.pt2").read_text() == "older"
    assert sorted(os.listdir(folder)) == before


def test_a_full_disk_keeps_the_older_file(folder):
    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    (folder / "out.pt2").write_text("older")
    (folder / "out.npy").write_text("older")
    before = sorted(os.listdir(folder))
    done = run(folder, "convert", "mlp.pt2", "out.pt2", preexec_fn=small)
    assert done.returncode == 4
    done = run(folder, "run", "mlp.pt2", "--random", "-o", "out.npy", preexec_fn=small)
    assert done.returncode == 4
    assert (folder / "out.pt2").read_text() == "older" and (folder / "out.npy").read_text() == "older"
    assert sorted(os.listdir(folder)) == before


def test_weights_beside_a_model_come_with_it(folder):
    large = ingot.export.export(ingot.nn.Linear(64, 64), (ingot.ones(2, 64),))
    ingot.export.save(large, str(folder / "large.pt2"))
    done = run(folder, "convert", "large.pt2", "out.onnx", "--external", "always", text=True)
    assert done.returncode == 0 and "out.onnx: checked against large.pt2" in done.stderr, done.stderr
    assert {"out.onnx", "out.onnx.data"} <= set(os.listdir(folder))
    assert run(folder, "run", "out.onnx", "--random").returncode == 0
    assert not [name for name in os.listdir(folder) if name.startswith(".ingot")]


def test_a_link_is_followed(folder):
    (folder / "real.pt2").write_text("older")
    os.symlink("real.pt2", folder / "link.pt2")
    assert run(folder, "convert", "mlp.pt2", "link.pt2").returncode == 0
    assert (folder / "link.pt2").is_symlink() and (folder / "real.pt2").read_bytes()[:2] == b"PK"


# ---- the package's writers


class Boom:
    """An object that cannot be saved."""

    def __reduce__(self):
        raise RuntimeError("not to be saved")


def test_a_save_that_fails_keeps_the_older_file(tmp_path):
    path = tmp_path / "x.pt"
    ingot.save({"a": ingot.ones(2)}, str(path))
    good = path.read_bytes()
    with pytest.raises((RuntimeError, TypeError, ValueError, AttributeError)):
        ingot.save({"a": ingot.ones(2), "b": Boom()}, str(path))
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == ["x.pt"]


WRITERS = {
    "save": 'ingot.save({"a": ingot.zeros(1000)}, "x")',
    "legacy save": 'ingot.save({"a": ingot.zeros(1000)}, "x", _use_new_zipfile_serialization=False)',
    "save_file": 'ingot.save_file({"a": ingot.zeros(1000)}, "x")',
    "export.save": 'ingot.export.save(program, "x")',
    "onnx": 'ingot.onnx.export(program, (), "x", dynamo=True)',
    "onnx serializer": 'ingot.onnx.export(program, ()).save("x", serializer=lambda p, to: to.write(bytes(4000)))',
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_keeps_what_the_package_would_replace(tmp_path, name):
    code = f"""
import os, resource, signal
import ingot
program = ingot.export.export(ingot.nn.Linear(30, 30), (ingot.ones(1, 30),))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    {WRITERS[name]}
except (OSError, NotImplementedError) as error:
    print(type(error).__name__)
"""
    (tmp_path / "x").write_text("older")
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    if done.stdout == "NotImplementedError\n":
        pytest.skip("not written at all")
    assert done.stdout == "OSError\n", done.stderr
    assert (tmp_path / "x").read_text() == "older"
    assert os.listdir(tmp_path) == ["x"]
