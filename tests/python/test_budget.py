# SPDX-License-Identifier: Apache-2.0
"""Limits of memory, work and time; Ctrl-C; files that unfold to more than they seem."""
import functools
import io
import os
import pathlib
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zipfile

import pytest

import hostile_files as hostile
import ingot
from ingot import limits

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
INGOT = BUILD / "ingot"
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")

command = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")


def run(*args: object, memory: int = 0) -> subprocess.CompletedProcess:
    """The command, with at most `memory` bytes of address space."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}

    def bound() -> None:
        if memory and not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run([INGOT, *map(str, args)], capture_output=True, text=True, env=env, preexec_fn=bound)


# ---- the package


def test_work_is_bounded():
    x = ingot.ones(3)
    with limits.limited(max_work=5):
        for _ in range(5):
            x = x + 1
        with pytest.raises(RuntimeError, match="limit of 5 units of work.*max_work"):
            x + 1
        with pytest.raises(RuntimeError, match="max_work"):
            x + 1
    assert (x + 1).tolist() == [7, 7, 7]


def test_memory_is_bounded():
    before = limits.memory_in_use()
    with limits.limited(max_memory=before + (1 << 20)):
        with pytest.raises(MemoryError, match="4194304 bytes for a tensor.*exceed the limit of .*max_memory"):
            ingot.zeros(1 << 20)
        assert ingot.zeros(1 << 10).sum() == 0
    kept = ingot.zeros(1 << 20)
    assert limits.memory_in_use() >= before + kept.numel() * 4


def test_time_is_bounded():
    x = ingot.ones(3)
    with limits.limited(max_time=0.001):
        time.sleep(0.03)
        with pytest.raises(RuntimeError, match="limit of 1 ms.*max_millis"):
            x + 1
    x + 1


def test_limits_are_asked_and_set():
    usual = limits.get_limits()
    assert usual["max_work"] == 10**9 and usual["max_millis"] == 0 and usual["max_memory"] > 1 << 24
    with limits.limited(max_nodes=7, max_work=9):
        assert limits.get_limits()["max_nodes"] == 7
        assert limits.get_limits()["max_entries"] == usual["max_entries"]
    assert limits.get_limits() == usual
    with pytest.raises(ValueError, match="positive"):
        limits.set_limits(max_work=0)
    with pytest.raises(TypeError, match="no limit 'max_fun'"):
        limits.set_limits(max_fun=1)
    assert limits.get_limits() == usual


def test_limits_of_readers_hold_for_the_package(tmp_path):
    path = tmp_path / "two.safetensors"
    path.write_bytes(hostile.safetensors({"a": [1], "b": [1]}))
    assert len(ingot.load_file(str(path))) == 2
    with limits.limited(max_entries=1), pytest.raises(ValueError, match="limit"):
        ingot.load_file(str(path))


def endless(x):
    return ingot._higher_order_ops.while_loop(lambda x: x >= 0, lambda x: (x * 1,), (x,))


def test_an_endless_loop_ends_by_its_work():
    with limits.limited(max_work=1000), pytest.raises(RuntimeError, match="max_work"):
        endless(ingot.zeros(()))


def test_ctrl_c_reaches_a_loop_in_c():
    """The loop is a program that runs without Python code; on its own it would run for ever."""
    code = textwrap.dedent("""
        import os, signal, sys, threading, time
        import ingot
        class M(ingot.nn.Module):
            def forward(self, x):
                return ingot._higher_order_ops.while_loop(lambda x: (x >= 0).all(), lambda x: (x * 1,), (x,))
        ep = ingot.export.export(M(), (ingot.zeros(2),))
        run = ep.module()
        print("ready", flush=True)
        try:
            run(ingot.zeros(2))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print((ingot.ones(2) + 1).tolist())
    """)
    listens = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # background jobs ignore it
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=listens) as child:
        assert child.stdout.readline() == "ready\n"
        timer = threading.Timer(0.5, child.send_signal, (signal.SIGINT,))
        timer.start()
        try:
            out, _ = child.communicate(timeout=120)
        finally:
            child.kill()
    assert out == "interrupted\n[2.0, 2.0]\n"


# ---- files


@command
def test_functions_that_call_each_other_twice_do_not_unfold(tmp_path):
    path = tmp_path / "bomb.onnx"
    path.write_bytes(hostile.doubling_functions(40))
    assert path.stat().st_size < 4000
    assert run("show", path).returncode == 0  # the functions as they are in the file
    for name in (("show", "--aten"), ("shapes",)):
        done = run(*name, path, memory=3 << 30)
        assert done.returncode == 5 and "units of work" in done.stderr, done.stderr
    done = run("run", path, "--random", "--max-work", "1e6")
    assert done.returncode == 5 and "limit of 1000000 units" in done.stderr
    assert run("info", path).returncode == 0
    small = tmp_path / "small.onnx"
    small.write_bytes(hostile.doubling_functions(5))
    assert run("show", "--aten", small).stdout.count("aten.relu.default") == 16


@command
def test_a_loop_that_grows_stops_at_the_memory_it_may_use(tmp_path):
    path = tmp_path / "grow.onnx"
    path.write_bytes(hostile.growing_loop(60))
    done = run("run", path, "--random", "--max-memory", "64M", memory=2 << 30)
    assert done.returncode == 5, done.stderr
    assert "67108864" in done.stderr, done.stderr
    fine = tmp_path / "fine.onnx"
    fine.write_bytes(hostile.growing_loop(3))
    assert run("run", fine, "--random", "--max-memory", "64M").returncode == 0


@command
def test_time_and_sizes_of_the_command_line(tmp_path):
    done = run("run", ROOT / "tests/model/data/endless.pt2", "--random", "--max-time", "0.2")
    assert done.returncode == 5 and "limit of 200 ms" in done.stderr, done.stderr
    for word in ("many", "-1", "4X", "0", "1e30"):
        done = run("info", "x.pt2", f"--max-memory={word}")
        assert done.returncode == 2 and "is not a size" in done.stderr
    assert run("info", "x.pt2", "--max-time=-1").returncode == 2


def bomb_pickle() -> bytes:
    """A hundred megabytes of None and POP, a hundred kilobytes when deflated."""
    return b"\x80\x02" + b"N0" * (50 << 20) + b"N."


@pytest.fixture(scope="module")
def bombs(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("bombs")
    text = bomb_pickle()
    (folder / "pickle.pt").write_bytes(hostile.archive({"a/data.pkl": text, "a/version": b"3"}))
    json = b'{"x": [' + b"0," * (50 << 20) + b"0]}"
    (folder / "json.pt2").write_bytes(
        hostile.archive({"a/archive_format": b"pt2", "a/models/model.json": json, "a/archive_version": b"0"})
    )
    return folder


@pytest.mark.parametrize("name", ["pickle.pt", "json.pt2"])
def test_deflated_texts_do_not_unfold(bombs, name):
    path = bombs / name
    assert path.stat().st_size < 2 << 20
    load = ingot.export.load if name.endswith(".pt2") else ingot.load
    used = limits.memory_in_use()
    with limits.limited(max_memory=used + (64 << 20)), pytest.raises(ValueError, match="is a text of .* the limit is"):
        load(str(path))


def test_deflated_storages_are_bounded_by_the_archive(tmp_path):
    path = tmp_path / "zeros.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for i in range(3):
            data = io.BytesIO()
            head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (104857600,), }"
            data.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head.ljust(117) + b"\n" + bytes(100 << 20))
            z.writestr(f"a{i}.npy", data.getvalue())
    assert path.stat().st_size < 1 << 20
    done = run("info", path) if INGOT.exists() else None
    assert done is None or (done.returncode == 3 and "raise max_inflated" in done.stderr), done


def test_nested_json_and_pickles_do_not_recurse(tmp_path):
    deep = tmp_path / "deep.safetensors"
    text = b'{"a":' * 100000
    deep.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ValueError, match="nest|deep"):
        ingot.load_file(str(deep))
    tower = b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b"."
    path = tmp_path / "deep.pt"
    path.write_bytes(hostile.archive({"a/data.pkl": tower, "a/version": b"3"}, deflated=False))
    with pytest.raises((ValueError, NotImplementedError)):
        ingot.load(str(path))


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float16, ingot.uint8, ingot.int64, ingot.complex64])
def test_products_of_expanded_operands_are_not_added_up_one_by_one(dtype):
    n = 2**40
    x, y = ingot.tensor(3, dtype=dtype).expand(n), ingot.tensor(2, dtype=dtype).expand(n)
    want = ingot.tensor(6 * n % 2**64).to(dtype) if dtype is ingot.uint8 else ingot.tensor(6.0 * n).to(dtype)
    batch = ingot.bmm(x[None, None], y[None, :, None])
    for found in (ingot.inner(x, y), ingot.mm(x[None], y[:, None])[0, 0], batch[0, 0, 0]):
        assert found.dtype is dtype and ingot.equal(found, want)
    total = ingot.addmm(ingot.ones(1, 1, dtype=dtype), x[None], y[:, None], beta=2, alpha=2)[0, 0]
    assert ingot.equal(total, 2 * want + 2)
