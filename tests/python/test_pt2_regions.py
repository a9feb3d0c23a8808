# SPDX-License-Identifier: Apache-2.0
"""Programs of the real PyTorch with regions of autocast, calls that write without writing, effects in order, and
layouts that later views rely on: they load, run with its numbers, lose their tokens as modules, survive being saved and
lowered."""

import io
import json
import pathlib
import zipfile

import numpy as np
import pytest

import ingot
from ingot.export import load, save, unflatten

DATA = pathlib.Path(__file__).parent.parent / "pt2" / "data"
notes = []


def bump(x, y):
    x.add_(y)
    return y * 2


def note(x, sizes=(1, 2), *, scale=1.0):
    notes.append((list(sizes), scale))
    return x * scale, x + sum(sizes)


@pytest.fixture(scope="module", autouse=True)
def operators():
    library = ingot.library.Library("golden", "DEF")
    library.define("bump(Tensor(a!) x, Tensor y) -> Tensor")
    library.define("note(Tensor x, int[] sizes=[1, 2], *, float scale=1.0) -> (Tensor, Tensor)")
    library.impl("bump", bump, "CompositeExplicitAutograd")
    library.impl("note", note, "CompositeExplicitAutograd")
    ingot.library.register_fake("golden::bump", lambda x, y: ingot.empty_like(y))
    ingot.library.register_fake("golden::note", lambda x, sizes=(1, 2), *, scale=1.0: (x * 1, x * 1))
    yield
    library._destroy()


def compare(found, name):
    found = found if isinstance(found, (tuple, list)) else [found]
    with np.load(DATA / f"{name}.out.npz") as want:
        assert len(found) == len(want.files)
        for a, key in zip(found, want.files):
            np.testing.assert_allclose(a.detach().numpy(), want[key], rtol=1e-5, atol=1e-6)


def inputs(name):
    with np.load(DATA / f"{name}.in.npz") as file:
        return [ingot.from_numpy(file[key]) for key in file.files]


def saved(program):
    out = io.BytesIO()
    save(program, out)
    return out.getvalue()


@pytest.mark.parametrize("name", ["attention", "autocast", "functional", "effects"])
def test_runs_and_survives(name):
    program = load(DATA / f"{name}.pt2")
    compare(program.module()(*inputs(name)), name)
    again = load(io.BytesIO(saved(program)))
    assert str(again) == str(program)
    assert again.graph_signature == program.graph_signature
    compare(again.module()(*inputs(name)), name)
    compare(unflatten(program)(*inputs(name)), name)
    compare(program.run_decompositions().module()(*inputs(name)), name)
    compare(ingot.export.export(program.module(), tuple(inputs(name))).module()(*inputs(name)), name)


def test_as_the_file_has_them():
    targets = {
        "autocast": "wrap_with_autocast", "functional": "auto_functionalized_v2", "effects": "with_effects"
    }  # fmt: skip
    for name, target in targets.items():
        program = load(DATA / f"{name}.pt2")
        found = [n.target for n in program.graph.nodes if str(n.target) == target]
        assert found and all(t is getattr(ingot.ops.higher_order, target) for t in found)
    assert program.graph_signature.input_tokens == ("token",)
    assert program.graph_signature.output_tokens == ("getitem_3",)
    assert "token" not in program.module().code and "with_effects" not in program.module().code


def test_effects_happen_once_and_in_order():
    module = load(DATA / "effects.pt2").module()
    notes.clear()
    module(*inputs("effects"))
    assert notes == [([3, 4], 0.5), ([1, 2], 1.0)]


def test_called_by_hand():
    hop = ingot.ops.higher_order
    x, y = ingot.ones(2, 2), ingot.ones(2, 2)
    half = hop.wrap_with_autocast("cpu", ingot.bfloat16, True, False, lambda a, b: a @ b, x, y)
    assert half.dtype == ingot.bfloat16
    token, a, b = hop.with_effects(None, ingot.ops.golden.note.default, x, scale=2.0)
    assert token is None and a.tolist() == [[2.0] * 2] * 2 and b.tolist() == [[4.0] * 2] * 2
    out, base = hop.auto_functionalized_v2(
        ingot.ops.golden.bump.default, y=y[0], _x_base_index=0, _x_slice_dim=0, _x_slice_start=1, _x_slice_end=2,
        _all_bases=[x],
    )  # fmt: skip
    assert x.tolist() == [[1.0] * 2] * 2 and base.tolist() == [[1.0] * 2, [2.0] * 2] and out.tolist() == [2.0] * 2


def edited(name, change):
    """The archive with its text changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(DATA / f"{name}.pt2") as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            text = old.read(member)
            if member.endswith("models/model.json"):
                model = json.loads(text)
                change(model["graph_module"]["graph"])
                text = json.dumps(model).encode()
            new.writestr(member, text)
    return io.BytesIO(out.getvalue())


def calls(graph, name):
    return [n for n in graph["nodes"] if n["target"].endswith(name)]


def argument(node, name):
    return next(i["arg"] for i in node["inputs"] if i["name"] == name)


def test_bent_ones_are_refused_when_they_run():
    def far(graph):
        argument(calls(graph, "_v2")[0], "_x_base_index")["as_int"] = 7

    with pytest.raises(ValueError, match="argument 'x' names none of the 1 bases"):
        load(edited("functional", far)).module()(*inputs("functional"))

    def outside(graph):
        argument(calls(graph, "_v2")[1], "_x_size")["as_ints"] = [3000]

    with pytest.raises(RuntimeError, match="out of bounds|storage"):
        load(edited("functional", outside)).module()(*inputs("functional"))

    def no_bases(graph):
        node = calls(graph, "_v2")[0]
        node["inputs"] = [i for i in node["inputs"] if i["name"] != "_all_bases"]

    with pytest.raises(ValueError, match="no list of bases"):
        load(edited("functional", no_bases)).module()(*inputs("functional"))

    def as_tensor(graph):
        argument(calls(graph, "add.Tensor")[0], "other")["as_tensor"]["name"] = "token"

    with pytest.raises(ValueError, match="token 'token' is read as if it were a tensor"):
        load(edited("effects", as_tensor)).module()

    def no_graph(graph):
        del calls(graph, "autocast")[0]["inputs"][4:]

    with pytest.raises(ValueError, match="a sub-graph and operands"):
        load(edited("autocast", no_graph)).module()(*inputs("autocast"))


def test_signatures_of_modules_are_kept():
    program = load(DATA / "calls.pt2")
    compare(program.module()(*inputs("calls")), "calls")
    compare(unflatten(program)(*inputs("calls")), "calls")
    entries = {e.fqn: e.signature for e in program.module_call_graph}
    assert list(entries) == ["", "first", "first.0", "first.1", "second", "second.fc"]
    assert entries["first.0"] is None and entries[""].forward_arg_names == ["x"]
    second = entries["second"]
    assert [a.name for a in second.inputs] == ["relu", "x"]
    assert [type(a).__name__ for a in second.outputs] == ["TensorArgument", "ConstantArgument"]
    assert second.outputs[1].value == 3
    args, kwargs = ingot.utils._pytree.tree_unflatten([1, 2], second.in_spec)
    assert (args, kwargs) == ((1,), {"y": {"key": 2}})
    again = load(io.BytesIO(saved(program)))
    assert again.module_call_graph == program.module_call_graph
    lowered = program.run_decompositions()  # its values have other names
    assert [e.signature for e in lowered.module_call_graph[1:]] == [None] * 5


def test_signatures_that_name_nothing_are_not_written():
    with zipfile.ZipFile(DATA / "calls.pt2") as archive:
        member = next(n for n in archive.namelist() if n.endswith("models/model.json"))
        model = json.loads(archive.read(member))
    calls_of = model["graph_module"]["module_call_graph"]
    entry = next(e for e in calls_of if e["fqn"] == "second")
    entry["signature"]["inputs"][0]["as_tensor"]["name"] = "nothing"
    out = io.BytesIO()
    with zipfile.ZipFile(DATA / "calls.pt2") as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, json.dumps(model) if name == member else old.read(name))
    again = load(io.BytesIO(saved(load(io.BytesIO(out.getvalue())))))
    entries = {e.fqn: e.signature for e in again.module_call_graph}
    assert entries["second"] is None and entries["first"] is not None
