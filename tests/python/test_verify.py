# SPDX-License-Identifier: Apache-2.0
"""`ingot verify` refuses what a run would refuse whatever the data: programs with one value changed."""
import io
import json
import os
import pathlib
import subprocess
import zipfile

import pytest

import hostile_files as hostile
import ingot

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
INGOT = BUILD / "ingot"
pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")
ENV = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


def command(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run([INGOT, *map(str, args)], capture_output=True, text=True, env=ENV)


def changed(program: bytes, change) -> bytes:
    """The archive with its program's JSON changed in place."""
    source = zipfile.ZipFile(io.BytesIO(program))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("models/model.json"):
                document = json.loads(data)
                change(document["graph_module"]["graph"])
                data = json.dumps(document).encode()
            z.writestr(entry, data)
    return out.getvalue()


def argument(graph: dict, target: str, name: str) -> dict:
    for node in graph["nodes"]:
        if target in node["target"]:
            for item in node["inputs"]:
                if item["name"] == name:
                    return item
    raise KeyError((target, name))


def setting(target: str, name: str, **value):
    def change(graph: dict) -> None:
        argument(graph, target, name)["arg"] = value

    return change


def f_softmax(x):
    return ingot.softmax(x, 1)


def f_select(x):
    return x.select(0, 1)


def f_view(x):
    return x.view(6)


def f_permute(x):
    return x.permute(1, 0)


def f_cat(x):
    return ingot.cat([x, x], 1)


def f_expand(x):
    return ingot.ops.aten.sum.default(x[:, :1].expand(2, 3))


def f_split(x):
    return ingot.ops.aten.split_with_sizes.default(x, [1, 2], 1)


def f_gelu(x):
    return ingot.nn.functional.gelu(x, approximate="tanh")


def f_slice(x):
    return ingot.ops.aten.slice.Tensor(x, 0, 0, 2, 2)


def f_narrow(x):
    return ingot.ops.aten.unfold.default(x, 1, 2, 1)


def f_conv(x):
    return ingot.nn.functional.conv1d(x.view(1, 2, 3), ingot.ones(2, 1, 2), None, 2, 1, 2, 2)


def f_pool(x):
    return ingot.nn.functional.max_pool1d(x.view(1, 2, 3), 2, 1)


def f_full(x):
    return ingot.full((2, 3), 1.0) + x


def f_topk(x):
    return ingot.topk(x, 1, 1)[0]


def f_repeat(x):
    return x.repeat(2, 2)


CASES = {
    "a dim out of range": (f_softmax, setting("softmax", "dim", as_int=7)),
    "an index out of range": (f_select, setting("select", "index", as_int=9)),
    "sizes that do not multiply to the elements": (f_view, setting("view", "size", as_ints=[7])),
    "a size that wraps": (f_view, setting("view", "size", as_ints=[1 << 62, 4])),
    "a dim twice": (f_permute, setting("permute", "dims", as_ints=[0, 0])),
    "a dim of cat": (f_cat, setting("cat", "dim", as_int=-5)),
    "an expanded size that cannot be": (f_expand, setting("expand", "size", as_ints=[2, 1 << 62])),
    "an expanded size of a dim that is not 1": (f_expand, setting("expand", "size", as_ints=[5, 3])),
    "pieces that do not sum up": (f_split, setting("split_with_sizes", "split_sizes", as_ints=[1, 5])),
    "negative pieces": (f_split, setting("split_with_sizes", "split_sizes", as_ints=[-1, 4])),
    "a word that is no choice": (f_gelu, setting("gelu", "approximate", as_string="tan")),
    "a step of zero": (f_slice, setting("slice", "step", as_int=0)),
    "a window larger than the tensor": (f_narrow, setting("unfold", "size", as_int=9)),
    "a stride of zero": (f_conv, setting("conv1d", "stride", as_ints=[0])),
    "a dilation of zero": (f_conv, setting("conv1d", "dilation", as_ints=[0])),
    "groups that do not divide": (f_conv, setting("conv1d", "groups", as_int=7)),
    "a pool without a window": (f_pool, setting("max_pool1d", "kernel_size", as_ints=[0])),
    "a negative size": (f_full, setting("full", "size", as_ints=[-2, 3])),
    "a device that is not there": (f_full, setting("full", "device", as_device={"type": "cuda", "index": 0})),
    "more than there are": (f_topk, setting("topk", "k", as_int=100)),
    "negative repeats": (f_repeat, setting("repeat", "repeats", as_ints=[-1, 2])),
    "repeats beyond memory": (f_repeat, setting("repeat", "repeats", as_ints=[1 << 40, 1 << 40])),
    "a number for a tensor": (f_softmax, setting("softmax", "self", as_int=7)),
    "a text for a number": (f_softmax, setting("softmax", "dim", as_string="x")),
    "a dtype for a number": (f_softmax, setting("softmax", "dim", as_scalar_type=7)),
}


class Wrap(ingot.nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


def saved(fn) -> bytes:
    out = io.BytesIO()
    ingot.export.save(ingot.export.export(Wrap(fn), (ingot.arange(6.0).view(2, 3),)), out)
    return out.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_what_a_run_refuses_is_refused(tmp_path, name):
    fn, change = CASES[name]
    path = tmp_path / "x.pt2"
    program = saved(fn)
    path.write_bytes(program)
    done = command("verify", path)
    assert done.returncode == 0 and "sound" in done.stdout, done.stderr
    path.write_bytes(changed(program, change))
    limited = ("--max-memory", "256M")
    ran = command("run", path, "--random", *limited)
    assert ran.returncode in (3, 5), "the change is harmless"
    done = command("verify", path, *limited)
    assert done.returncode in (3, 5) and "sound" not in done.stdout, ran.stderr


@pytest.mark.parametrize("field, value, words", [
    ("sizes", [{"as_int": 5}, {"as_int": 3}], "found sizes [5, 3], expected [2, 3] by its operands"),
    ("dtype", 8, "found dtype float64, expected float32 by its operands"),
])  # fmt: skip
def test_recorded_values_that_contradict_the_operators_are_refused(tmp_path, field, value, words):
    """Such a program runs, but whoever plans memory or lowers it by what is recorded gets it wrong."""

    def change(graph: dict) -> None:
        graph["tensor_values"]["relu"][field] = value

    path = tmp_path / "x.pt2"
    path.write_bytes(changed(saved(lambda x: ingot.relu(x) + 1), change))
    done = command("verify", path)
    assert done.returncode == 3 and "sound" not in done.stdout
    assert f"node 'relu' (aten.relu.default): {words}" in done.stderr


def test_weights_that_do_not_fit_are_refused(tmp_path):
    """The weight keeps its name and gets other sizes; the calls that read it refuse it."""
    path = tmp_path / "x.onnx"
    weight = hostile.tensor("w", 1, [5, 2], bytes(40))
    main = hostile.graph([hostile.node("MatMul", ["x", "w"], ["y"])], [hostile.info("x", 1, [2, 3])],
                         [hostile.info("y", 1, [2, 2])], [weight])  # fmt: skip
    path.write_bytes(hostile.model(main))
    assert command("run", path, "--random").returncode == 5
    assert command("verify", path).returncode == 3


def test_what_only_data_can_tell_is_left_open(tmp_path):
    """nonzero gives as many rows as the data says; both branches of a condition are looked at."""

    def f(x):
        n = (x > 2).nonzero()
        return n * 2, ingot.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    path = tmp_path / "x.pt2"
    path.write_bytes(saved(f))
    done = command("verify", path)
    assert done.returncode == 0, done.stderr
