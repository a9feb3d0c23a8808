# SPDX-License-Identifier: Apache-2.0
"""Archives of every PyTorch from 2.1 on: they load, run with the numbers that PyTorch had, and survive being saved
again. A selection is in the repository; all of them are beside it where `../shared/goldens` exists."""
import io
import pathlib
from collections import namedtuple

import numpy as np
import pytest

import ingot
from ingot import _C
from ingot.utils import _pytree as pytree

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "pt2" / "data"
SHARED = HERE.parent.parent.parent / "shared" / "goldens"
if not SHARED.exists():  # a worktree
    SHARED = HERE.parent.parent.parent.parent / "shared" / "goldens"

Point = namedtuple("Point", ["x", "y"])
pytree._register_namedtuple(Point, serialized_type_name="golden.Point")


def number(path):
    return [int(part) for part in path.parent.name.split(".")]


SELECTION = sorted(DATA.glob("*/*.pt2"), key=number)
ALL = sorted(SHARED.glob("*/*.pt2"), key=number) if SHARED.exists() else []


def tensor(array, like=None):
    if like is not None and like.dtype == ingot.bfloat16:  # NumPy has none: the bits
        return ingot.from_numpy(array.view(np.int16).copy()).view(ingot.bfloat16)
    return ingot.from_numpy(array.copy())


def compare(found, want, name):
    if isinstance(found, ingot.Tensor):
        found = found.detach()
        bits = found.dtype == ingot.bfloat16
        found = found.view(ingot.int16).numpy().view(np.uint16) if bits else found.numpy()
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (want.dtype, want.shape), name
    if want.dtype.kind in "fc":
        scale = max(float(np.abs(want).max(initial=0)), 1.0)
        tolerance = 2e-3 if want.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance * scale, err_msg=name)
    else:
        np.testing.assert_array_equal(found, want, err_msg=name)


def user_inputs(program):
    return [value for kind, _, _, _, value in program.input_specs if kind == "USER_INPUT"]


def run(program, values):
    args = [tensor(values[f"arg{i}"], like) for i, like in enumerate(user_inputs(program))]
    outs = program(*args)
    outs = outs if isinstance(outs, (tuple, list)) else [outs]
    for i, out in enumerate(outs):
        if f"out{i}" in values:
            compare(out, values[f"out{i}"], f"out{i}")
        else:
            assert out is None
    weights = program.state_dict | program.constants
    for key, want in values.items():
        if key.startswith("mut_arg"):
            compare(args[int(key[7:])], want, key)
        if key.startswith("mut_buf."):
            compare(weights[key[8:]], want, key)


def is_static(program):
    """No size of an input may vary."""
    return not any(isinstance(s, ingot.SymInt) for v in user_inputs(program) if hasattr(v, "shape") for s in v.shape)


def runs_as_recorded(path, load):
    sets = [path.with_suffix(".io.npz"), path.with_suffix(".io2.npz")]
    for i, file in enumerate(sets):
        if not file.exists():
            continue
        program = load()
        values = dict(np.load(file))
        same = all(values[f"arg{k}"].shape == tuple(v.shape) for k, v in enumerate(user_inputs(program)))
        if i == 1 and not same and is_static(program):
            continue  # that PyTorch could only export it with fixed sizes
        run(program, values)


@pytest.mark.parametrize("path", SELECTION, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_runs_and_survives(path):
    runs_as_recorded(path, lambda: _C.pt2_load(str(path)))
    program = ingot.export.load(path)
    for layout in ("newest", "2.6", "2.5"):
        out = io.BytesIO()
        ingot.export.save(program, out, layout=layout)
        again = ingot.export.load(io.BytesIO(out.getvalue()))
        if layout == "newest":
            assert str(again) == str(program)
        else:  # these do not tell the names of calls without results of their own
            assert [n.target for n in again.graph.nodes] == [n.target for n in program.graph.nodes]
        assert again.range_constraints == program.range_constraints
        assert again.graph_signature == program.graph_signature
        assert [n.meta.get("stack_trace") for n in again.graph.nodes] == [
            n.meta.get("stack_trace") for n in program.graph.nodes
        ]
        runs_as_recorded(path, lambda out=out: _C.pt2_load(out.getvalue()))


@pytest.mark.skipif(not ALL, reason="../shared/goldens is not here")
@pytest.mark.parametrize("version", sorted({p.parent.name for p in ALL}, key=lambda v: [int(x) for x in v.split(".")]))
def test_all_of_a_version(version):
    paths = [p for p in ALL if p.parent.name == version]
    assert len(paths) >= 10
    for path in paths:
        runs_as_recorded(path, lambda path=path: _C.pt2_load(str(path)))


def test_what_a_file_tells():
    facts = {p.parent.name: dict(_C.pt2_facts(_C.pt2_load(str(p)))[0]) for p in SELECTION}
    assert {v: f["schema"] for v, f in facts.items()} == {
        "2.1.2": "1", "2.2.2": "2", "2.3.1": "5.1", "2.4.1": "5.3", "2.5.1": "7.3", "2.6.0": "8.2", "2.7.1": "8.7",
        "2.8.0": "8.8", "2.9.1": "8.14", "2.11.0": "8.17", "2.15.0": "8.20",
    }  # fmt: skip
    assert facts["2.8.0"]["torch_version"].startswith("2.8.0")
    assert facts["2.4.1"]["dialect"] == "ATEN"


@pytest.mark.skipif(not ALL, reason="../shared/goldens is not here")
def test_names_of_the_first_schema():
    """PyTorch 2.1 calls weights and modules by expressions; they have their paths here."""
    old = ingot.export.load(SHARED / "2.1.2" / "conv.pt2")
    new = ingot.export.load(SHARED / "2.2.2" / "conv.pt2")
    assert sorted(old.state_dict) == sorted(new.state_dict)
    stack = next(n for n in old.graph.nodes if n.op == "call_function").meta["nn_module_stack"]
    assert list(stack.values()) == [
        ("body", "torch.nn.modules.container.Sequential"), ("body.0", "torch.nn.modules.conv.Conv2d")
    ]  # fmt: skip


def test_examples_of_a_file():
    program = ingot.export.load(DATA / "2.8.0" / "counter.pt2")
    args, kwargs = program.example_inputs
    assert [tuple(a.shape) for a in args] == [(3, 4)]
    assert kwargs == {}
    program.module()(*args)


@pytest.mark.skipif(not ALL, reason="needs the files of all releases")
@pytest.mark.parametrize("name", ["mlp", "derived_dims", "dtypes", "nested"])
def test_calls_of_2_1_have_arguments_and_keywords(tmp_path, name):
    """Schema 1 describes the positional arguments alone; what is written again has the pair that later readers want."""
    program = ingot.export.load(SHARED / "2.1.2" / f"{name}.pt2")
    args, keywords = program.call_spec.in_spec.children_specs
    assert (args.type, keywords.type, keywords.num_children) == (tuple, dict, 0)
    ingot.export.save(program, tmp_path / "again.pt2")
    assert ingot.export.load(tmp_path / "again.pt2").call_spec.in_spec == program.call_spec.in_spec
