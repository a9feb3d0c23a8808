# SPDX-License-Identifier: Apache-2.0
"""Programs that lie about sizes, nesting, containers and names: refused when they are loaded, or, where only running
can tell, when they run; nothing is allocated for what they claim."""

import io
import json
import os
import pathlib
import subprocess
import zipfile

import pytest

import ingot
from ingot import nn
from ingot.export import export, load, save

X = ingot.ones(3)
INGOT = pathlib.Path(os.environ.get("INGOT_BUILD", pathlib.Path(__file__).parents[2] / "build/release")) / "ingot"


def of(forward):
    return type("Module", (nn.Module,), {"forward": forward})()


def packed(forward):
    out = io.BytesIO()
    save(export(of(forward), (X,)), out)
    return out.getvalue()


FULL = packed(lambda self, x: (ingot.full((3,), 1.0) + x, x.index_select(0, ingot.tensor([0, 2, 1]))))
COND = packed(lambda self, x: ingot.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), [x]))


def forged(archive, change=None, replace=None):
    """The archive with its text changed as a tree or as bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith("models/model.json"):
                if change:
                    model = json.loads(text)
                    change(model)
                    text = json.dumps(model).encode()
                if replace:
                    assert replace[0] in text
                    text = text.replace(*replace, 1)
            new.writestr(name, text)
    return io.BytesIO(out.getvalue())


def node(model, target):
    return next(n for n in model["graph_module"]["graph"]["nodes"] if n["target"].endswith(target))


def sizes(*numbers):
    def change(model):
        node(model, "full.default")["inputs"][0]["arg"] = {"as_ints": list(numbers)}

    return change


@pytest.mark.parametrize(
    ("numbers", "error", "text"),
    [
        ((1 << 30, 1 << 20), MemoryError, "out of memory: 4503599627370496 bytes"),
        ((1 << 40, 1 << 20), RuntimeError, "a tensor has at most 2\\^56 elements"),
        ((1 << 62, 4), RuntimeError, "Storage size calculation overflowed"),
        ((-1,), RuntimeError, "negative"),
    ],
)
def test_sizes_that_nobody_has(numbers, error, text):
    module = load(forged(FULL, sizes(*numbers))).module()
    with pytest.raises(error, match=text):
        module(X)


def forged_weight(sizes, strides, offset=0):
    """A program with one weight of one element, which claims other sizes."""
    module = of(lambda self, x: x + self.w.sum())
    module.register_buffer("w", ingot.ones(1))
    out = io.BytesIO()
    save(export(module, (X,)), out)
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as old, zipfile.ZipFile(archive, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith("model_weights_config.json"):
                config = json.loads(text)
                meta = config["config"]["w"]["tensor_meta"]
                meta["sizes"] = [{"as_int": n} for n in sizes]
                meta["strides"] = [{"as_int": n} for n in strides]
                meta["storage_offset"] = {"as_int": offset}
                text = json.dumps(config).encode()
            new.writestr(name, text)
    return io.BytesIO(archive.getvalue())


@pytest.mark.parametrize(
    ("sizes", "strides", "offset"),
    [
        ((1 << 62,), (0,), 0),
        ((2, 1 << 61), (0, 0), 0),
        ((1 << 57,), (0,), 0),
        ((2,), (1 << 62,), 0),
        ((1,), (1,), (1 << 63) - 1),
        ((2,), (1,), 0),
        ((1 << 32, 1 << 32), (0, 0), 0),
    ],
)
def test_weights_that_cannot_be_addressed(sizes, strides, offset, tmp_path):
    archive = forged_weight(sizes, strides, offset)
    with pytest.raises((RuntimeError, ValueError), match="reaches beyond|overflow"):
        load(io.BytesIO(archive.getvalue()))
    path = tmp_path / "model.pt2"
    path.write_bytes(archive.getvalue())
    if INGOT.exists():
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        done = subprocess.run([INGOT, "verify", path], capture_output=True, text=True, env=env)
        assert done.returncode > 0 and "sound" not in done.stdout, done.stdout


def test_more_sections_than_memory_has():
    def change(model):
        call = node(model, "split_with_sizes.default")
        call["target"] = "torch.ops.aten.tensor_split.sections"
        call["inputs"] = [call["inputs"][0], {"name": "sections", "arg": {"as_int": 1 << 62}, "kind": 1}]

    archive = packed(lambda self, x: x.split_with_sizes([1, 2])[0])
    with pytest.raises((MemoryError, RuntimeError, ValueError)):
        load(forged(archive, change)).module()(X)


def test_places_outside_of_a_tensor():
    def change(model):
        node(model, "index_select.default")["inputs"][1]["arg"]["as_int"] = 7

    with pytest.raises(IndexError, match="Dimension out of range"):
        load(forged(FULL, change)).module()(X)


def test_keys_and_unions():
    with pytest.raises(ValueError, match="key occurs twice: graph_module"):
        load(forged(FULL, replace=(b'"graph_module":', b'"graph_module": {}, "graph_module":')))
    with pytest.raises(ValueError, match="expected an object with exactly one member"):
        load(forged(FULL, replace=(b'{"as_ints": [3]}', b'{"as_ints": [3], "as_int": 3}')))


@pytest.mark.parametrize("times", [1, 40])
def test_sub_graphs_inside_each_other(times):
    """What is read inside must be defined inside, however deep; and there is a limit."""

    def change(model):
        inner = node(model, "cond")
        text = json.dumps(inner)
        for _ in range(times):
            copy = json.loads(text)
            sub = inner["inputs"][1]["arg"]["as_graph"]["graph"]
            sub["nodes"], sub["outputs"] = [copy], copy["outputs"]
            inner = copy

    with pytest.raises(ValueError, match="nested too deeply|no tensor called 'gt' was defined before"):
        load(forged(COND, change))


def test_containers_outside_of_the_table():
    def change(model):
        signature = model["graph_module"]["module_call_graph"][0]["signature"]
        signature["in_spec"] = signature["in_spec"].replace("builtins.tuple", "os.system")

    with pytest.raises(NotImplementedError, match="os.system in pytree is not registered"):
        load(forged(FULL, change)).module()


def test_expressions_that_are_code():
    def change(model):
        model["range_constraints"] = {"__import__('os')": {"min_val": 5, "max_val": 9}}

    with pytest.raises(ValueError, match="expected a function of symbolic expressions"):
        load(forged(FULL, change))


@pytest.mark.parametrize(
    ("text", "stack"),
    [
        ("k,p,T;l,p.q,U", {"k": ("p", "T"), "l": ("p.q", "U")}),
        ("L['self'],,T;L['self'].s[0, 2],s[0, 2],U", {"L['self']": ("", "T"), "L['self'].s[0, 2]": ("s[0, 2]", "U")}),
        ("L__self__a,b,a,b,T", {"L__self__a,b": ("a,b", "T")}),  # PyTorch writes it, but does not read it
        ("k", {"k": ("", "")}),
        ("k,p", {"k": ("p", "")}),
        ("k,p,T,U", {"k": ("p", "T,U")}),
        (",,;k,(p,T;;,", {"": ("", ""), "k": ("(p", "T")}),
        ("k" + ";" * 50000, {"k": ("", ""), "": ("", "")}),
    ],
)
def test_module_stacks_that_nobody_quoted(text, stack):
    def change(model):
        node(model, "add.Tensor")["metadata"]["nn_module_stack"] = text

    program = load(forged(FULL, change))
    read = next(n for n in program.graph.nodes if n.name == "add").meta["nn_module_stack"]
    assert read == stack
    again = io.BytesIO()
    save(program, again)
    load(io.BytesIO(again.getvalue()))
