# SPDX-License-Identifier: Apache-2.0
"""load(save(p)) prints and runs as p, in every layout, for programs of every shape; and, where PyTorch is installed,
the real torch.export.load reads what was written and computes the same."""
import copy
import dataclasses
import importlib
import io
import json
import re
import zipfile
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import ingot
from ingot import _C, nn
from ingot._higher_order_ops.map import map as map_over
from ingot.export import Dim, export, export_for_training, load, save
from ingot.utils import _pytree as pytree

Pair = namedtuple("Pair", ["left", "right"])
pytree._register_namedtuple(Pair, serialized_type_name="test_pt2_roundtrip.Pair")


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("steps", ingot.zeros(3))
        self.register_buffer("scale", ingot.ones(1), persistent=False)
        self.constant = ingot.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        self.steps.add_(1)
        return ingot.relu(self.fc(x)) * self.scale + self.constant + self.steps


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(ingot.ones(4))

    def forward(self, x):
        return ingot.cond(x.sum() > 0, lambda x: (x * self.w, x.sin()), lambda x: (x - self.w, x.cos()), [x])


def of(forward):
    """A module without state."""
    return type(forward.__name__.title(), (nn.Module,), {"forward": forward})()


def derived(self, x, y):
    return x + y[1:]


def data(self, x, n):
    k = n.item()
    ingot._check_is_size(k)
    ingot._check(k >= 2)
    ingot._check(k <= 20)
    return ingot.zeros(k) + x.sum(), k


def sizes(self, x):
    return x.shape[0] * 2, x.shape[0] > 3, x.numel() / 2, x + x.shape[0]


def containers(self, a, b, *, key):
    return {"sum": a["x"] + a["y"][0], "both": Pair(b[0], key), "none": None, "seven": 7, "list": [b[1].sin()]}


def several(self, x):
    top, where = ingot.topk(x, 2)
    first, second = ingot.split(x, [1, 2], dim=1)
    return top, where, second, ingot.chunk(x, 3, dim=1)[2], ingot.sort(x)[0]


def dtypes(self, h, b, d, i, z):
    return h * 2, b + 1, d.to(ingot.float32), (i // 3).to(ingot.int16), z * z.conj(), i.to(ingot.bool)


def mutated(self, x):
    x.mul_(2)
    return x + 1


def arguments(self, x):
    y = nn.functional.conv2d(x, ingot.ones(2, 3, 3, 3), stride=(1, 2), padding=1)
    y = nn.functional.pad(y, (1, 1), value=float("inf"))
    y = y.to(memory_format=ingot.channels_last).masked_fill(y > 1e9, -float("inf"))
    return ingot.full((2, 2), float("nan")), y, ingot.arange(0, 5, 2, dtype=ingot.float64), y.mean([2, 3], keepdim=True)


def looped(self, x):
    return ingot._higher_order_ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (ingot.tensor(0), x))


def scanned(self, x):
    return ingot._higher_order_ops.scan(lambda c, a: (c + a, c * a), ingot.zeros(2), x)


def reversed_numbers(self, x):
    return 1 - x, 2 / x, ingot.rsub(x, 3)


def quiet(self, x):
    with ingot.no_grad():
        y = x * 2
    return y + x


R = ingot.manual_seed(0) and ingot.randn
CASES = {
    "linear": (Linear(), (R(5, 4),), {}, ({0: Dim("b", max=50)},)),
    "tied": (Tied(), (R(2, 4),), {}, None),
    "cond": (Branch(), (R(3, 4),), {}, None),
    "derived": (of(derived), (R(4), R(5)), {}, (lambda d: ({0: d}, {0: d + 1}))(Dim("d", min=3, max=9))),
    "data": (of(data), (R(3), ingot.tensor(5)), {}, None),
    "sizes": (of(sizes), (R(4, 2),), {}, ({0: Dim("n", min=2, max=64)},)),
    "containers": (
        of(containers), ({"x": R(2), "y": [R(2)]}, (R(3), R(2))), {"key": OrderedDict(b=R(1), a=R(2))}, None),
    "several": (of(several), (R(2, 3),), {}, None),
    "dtypes": (
        of(dtypes),
        (R(2).half(), R(2).bfloat16(), R(2).double(), ingot.arange(4, dtype=ingot.int32), ingot.complex(R(2), R(2))),
        {}, None),
    "mutated": (of(mutated), (R(3),), {}, None),
    "arguments": (of(arguments), (R(1, 3, 4, 4),), {}, None),
    "while_loop": (of(looped), (R(3),), {}, None),
    "no_grad": (of(quiet), (R(3),), {}, None),
    "scan": (of(scanned), (R(4, 2),), {}, None),
    "numbers": (of(reversed_numbers), (R(3),), {}, None),
}  # fmt: skip


NEWER = {  # than PyTorch 2.5
    "sizes": "symbolic float, which PyTorch 2.5 cannot read",
    "scan": "calls scan, which PyTorch 2.5 does not have",
}


def leaves(tree):
    return pytree.tree_leaves(tree)


def same(a, b):
    a, b = leaves(a), leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        if isinstance(x, ingot.Tensor):
            assert x.dtype == y.dtype
            x, y = (t.detach().to(ingot.complex128).numpy() for t in (x, y))
            np.testing.assert_array_equal(x, y)
        else:
            assert x == y and type(x) is type(y)


def programs():
    for name, (module, args, kwargs, shapes) in CASES.items():
        yield name, module, args, kwargs, shapes


def make(name, how):
    module, args, kwargs, shapes = CASES[name]
    ep = (export_for_training if how == "training" else export)(
        copy.deepcopy(module), copy.deepcopy(args), copy.deepcopy(kwargs), dynamic_shapes=shapes
    )
    return ep.run_decompositions() if how == "core" else ep


def to_bytes(ep, **options):
    out = io.BytesIO()
    save(ep, out, **options)
    return out.getvalue()


def metadata(ep):
    keys = ("stack_trace", "nn_module_stack", "torch_fn", "source_fn_stack")
    calls = [n for n in ep.graph.nodes if n.op == "call_function"]
    return [[str(n.meta.get(k)) for k in keys] for n in calls]


def in_file(signature):
    """The signature as the format holds it: it has no word for constants of a strict capture that persist."""
    constant = ingot.export.graph_signature.InputKind.CONSTANT_TENSOR
    specs = [dataclasses.replace(s, persistent=None) if s.kind is constant else s for s in signature.input_specs]
    return dataclasses.replace(signature, input_specs=specs)


def shown(ep):
    """What the program prints; files do not tell whether a constant was a buffer in a strict capture."""
    return re.sub(r"(CONSTANT_TENSOR: 4>, .*?persistent=)\w+", r"\1None", str(ep))


@pytest.mark.parametrize("how", ["plain", "training", "core"])
@pytest.mark.parametrize("name", CASES)
def test_prints_and_runs_the_same(name, how):
    _, args, kwargs, _ = CASES[name]
    ep = make(name, how)
    again = load(io.BytesIO(to_bytes(ep)))
    assert shown(again) == shown(ep)
    assert again.graph_module.code == ep.graph_module.code
    assert again.graph_signature == in_file(ep.graph_signature)
    assert again.call_spec == ep.call_spec
    assert again.range_constraints == ep.range_constraints
    assert metadata(again) == metadata(ep)
    assert {str(n.target) for n in ep.graph.nodes} <= {str(n.target) for n in again.graph.nodes}
    assert list(again.state_dict) == list(ep.state_dict)
    assert list(again.constants) == list(ep.constants)
    assert str(again.module().code) == str(ep.module().code)
    same(again.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)),
         ep.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)))  # fmt: skip
    same(again.example_inputs, ep.example_inputs)


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_the_same(name):
    ep = make(name, "plain")
    for layout in ("newest", "2.6", "2.5"):
        if layout == "2.5" and name in NEWER:
            continue
        first = to_bytes(ep, layout=layout)
        assert to_bytes(ep, layout=layout) == first
        assert to_bytes(load(io.BytesIO(first)), layout=layout) == first or layout != "newest"


@pytest.mark.parametrize("layout", ["2.6", "2.5"])
@pytest.mark.parametrize("name", CASES)
def test_older_layouts(name, layout):
    _, args, kwargs, _ = CASES[name]
    ep = make(name, "plain")
    if layout == "2.5" and name in NEWER:
        with pytest.raises(NotImplementedError, match=NEWER[name]):
            to_bytes(ep, layout=layout)
        return
    again = load(io.BytesIO(to_bytes(ep, layout=layout)))
    assert again.range_constraints == ep.range_constraints
    same(again.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)),
         ep.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)))  # fmt: skip


def test_bools_that_were_written_as_integers():
    """PyTorch 2.5 wrote a constant input True as {"as_int": true}."""

    class Scaled(nn.Module):
        def forward(self, x, twice):
            return x * 2 if twice else x

    data = to_bytes(ingot.export.export(Scaled(), (ingot.ones(2), True)), layout="2.5")
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith(".json"):
                assert b'{"as_bool": true}' in text
                text = text.replace(b'{"as_bool": true}', b'{"as_int": true}')
            new.writestr(name, text)
    changed.seek(0)
    again = load(changed).module()
    assert again(ingot.ones(2), True).tolist() == [2, 2]
    with pytest.raises(RuntimeError):
        again(ingot.ones(2), False)


@pytest.mark.parametrize("layout", ["newest", "2.6", "2.5"])
def test_kept_signatures_are_in_every_layout(layout):
    from ingot._export.serde.serialize import deserialize, serialize

    class Pair(ingot.nn.Module):
        def forward(self, x):
            return {"a": x + 1, "b": x}

    class Whole(ingot.nn.Module):
        def __init__(self):
            super().__init__()
            self.pair = Pair()

        def forward(self, x):
            return self.pair(x)["a"] * 2

    ep = ingot.export.export(Whole(), (ingot.ones(2),), preserve_module_call_signature=("pair",))
    known = ep.module_call_graph[1]
    assert load(io.BytesIO(to_bytes(ep, layout=layout))).module_call_graph[1] == known
    assert deserialize(serialize(ep)).module_call_graph[1] == known


@pytest.mark.parametrize("name", CASES)
def test_serialize(name):
    from ingot._export.serde import schema
    from ingot._export.serde.serialize import (
        ExportedProgramDeserializer,
        ExportedProgramSerializer,
        SerializeError,
        canonicalize,
        deserialize,
        serialize,
    )

    ep = make(name, "plain")
    pieces = serialize(ep)
    assert shown(deserialize(pieces)) == shown(ep)
    if name in ("scan", "sizes"):  # newer than the schema of 2.5: scan, symbolic floats
        with pytest.raises(SerializeError, match=r"PyTorch 2\.5"):
            ExportedProgramSerializer().serialize(ep)
        return
    whole = ExportedProgramSerializer().serialize(ep)
    tree = whole.exported_program
    assert tree.schema_version == schema.SchemaVersion(*schema.SCHEMA_VERSION)
    assert len(tree.graph_module.graph.inputs) == len(ep.graph_signature.input_specs)
    again = ExportedProgramDeserializer().deserialize(tree, whole.state_dict, whole.constants, whole.example_inputs)
    if name != "no_grad":  # a region of 2.5 returns a tuple
        assert [n.target for n in again.graph.nodes] == [n.target for n in ep.graph.nodes]
    same = ExportedProgramSerializer().serialize(ep).exported_program
    assert canonicalize(tree) == canonicalize(same)
    assert schema.from_plain(schema.ExportedProgram, schema.to_plain(tree)) == tree
    tree.schema_version.major = -1
    with pytest.raises(SerializeError, match="Serialized schema version .* does not match our current"):
        ExportedProgramDeserializer().deserialize(tree, whole.state_dict, whole.constants)


def test_loaded_programs_go_on():
    """What was loaded can be lowered, traced again and checked like what was captured."""
    ep = make("linear", "plain")
    again = load(io.BytesIO(to_bytes(ep)))
    assert shown(again.run_decompositions()) == shown(ep.run_decompositions())
    with pytest.raises(RuntimeError, match="to be <= 50, but got 60"):
        again.module()(ingot.zeros(60, 4))
    traced = export(again.module(), (R(6, 4),), dynamic_shapes=({0: Dim("b", max=50)},))
    same(traced.module()(ingot.ones(3, 4)), load(io.BytesIO(to_bytes(ep))).module()(ingot.ones(3, 4)))
    data = load(io.BytesIO(to_bytes(make("data", "plain"))))
    assert tuple(data.run_decompositions().module()(ingot.ones(3), ingot.tensor(4))[0].shape) == (4,)
    with pytest.raises(RuntimeError, match="Invalid value range for 30 between \\[2, 20\\]"):
        data.module()(ingot.ones(3), ingot.tensor(30))


def test_tied_weights_share_a_record():
    ep = make("tied", "plain")
    with zipfile.ZipFile(io.BytesIO(to_bytes(ep))) as archive:
        config = json.loads(archive.read("archive/data/weights/model_weights_config.json"))["config"]
        assert config["a.weight"]["path_name"] == config["b.weight"]["path_name"]
        assert not any(name.endswith(".pkl") for name in archive.namelist())
    again = load(io.BytesIO(to_bytes(ep)))
    assert again.state_dict["a.weight"].data_ptr() == again.state_dict["b.weight"].data_ptr()


def test_paths_file_objects_and_extra_files(tmp_path):
    ep = make("linear", "plain")
    path = tmp_path / "deep.name.pt2"
    save(ep, path, extra_files={"notes/a.txt": "grüße", "b": b"\x00\x01"}, opset_version={"mylib": 2})
    wanted = {"notes/a.txt": ""}
    assert shown(load(path, extra_files=wanted)) == shown(ep)
    assert wanted == {"notes/a.txt": "grüße"}
    with path.open("rb") as f:
        assert shown(load(f)) == shown(ep)
    with pytest.raises(RuntimeError, match="no extra file 'c', only \\['b', 'notes/a.txt'\\]"):
        load(path, extra_files={"c": ""})
    with pytest.raises(RuntimeError, match="version 2 of the operators of 'mylib', expected at most 1"):
        load(path, expected_opset_version={"mylib": 1})
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        save(ep.module(), path)
    with pytest.raises(ValueError, match="layout '1.0'"):
        save(ep, path, layout="1.0")

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save(ep, Full())
    assert to_bytes(ep)  # the failure is not remembered


def test_custom_operators_by_name():
    library = ingot.library.Library("pt2_test", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x * 2, "CompositeExplicitAutograd")
    ingot.library.register_fake("pt2_test::double", lambda x: ingot.empty_like(x))
    ep = export(of(lambda self, x: ingot.ops.pt2_test.double(x) + 1), (R(3),))
    packed = to_bytes(ep)
    same(load(io.BytesIO(packed)).module()(ingot.ones(3)), ingot.full((3,), 3.0))
    library._destroy()
    with pytest.raises(NotImplementedError, match="operator 'pt2_test.double.default' is not known: a custom operator"):
        load(io.BytesIO(packed))


def test_metadata_of_the_user():
    ep = make("several", "plain")
    node = next(n for n in ep.graph.nodes if n.op == "call_function")
    node.meta["custom"] = {"quantize": [1, 2]}
    ep.graph_module.meta["custom"] = {"author": "me"}
    again = load(io.BytesIO(to_bytes(ep)))
    assert next(n for n in again.graph.nodes if n.op == "call_function").meta["custom"] == {"quantize": [1, 2]}
    assert again.graph_module.meta["custom"] == {"author": "me"}
    fields = {"test_pt2_roundtrip.Pair": ["left", "right"]}
    again = load(io.BytesIO(to_bytes(make("containers", "plain"))))
    assert again.graph_module.meta["treespec_namedtuple_fields"] == fields


def test_examples_that_no_file_may_hold_are_told():
    class Box:
        def __init__(self, x):
            self.x = x

    pytree.register_pytree_node(
        Box, lambda b: ([b.x], None), lambda x, _: Box(*x), serialized_type_name="test_pt2_roundtrip.Box",
        flatten_with_keys_fn=lambda b: ([(pytree.GetAttrKey("x"), b.x)], None),
    )
    ep = export(of(lambda self, b: b.x + 1), (Box(R(3)),))
    with pytest.warns(UserWarning, match="example inputs are left out of the file: .*Box") as caught:
        packed = to_bytes(ep)
    assert caught[0].filename.endswith("test_pt2_roundtrip.py")
    again = load(io.BytesIO(packed))
    assert again.example_inputs is None
    same(again.module()(Box(ingot.ones(3))), ingot.full((3,), 2.0))


def test_edited_weights_are_saved():
    ep = make("linear", "plain")
    ep.state_dict["fc.bias"] = nn.Parameter(ingot.full((3,), 5.0))
    assert load(io.BytesIO(to_bytes(ep))).state_dict["fc.bias"].tolist() == [5.0] * 3


def readable_layouts(torch):
    """The layouts that the installed PyTorch reads."""
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    return ["newest", "2.6"] if release >= (2, 8) else ["2.6"] if release >= (2, 6) else ["2.5"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["newest", "2.6", "2.5"])
def test_pytorch_loads_and_computes_the_same(name, layout, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if layout not in readable_layouts(torch):
        pytest.skip(f"PyTorch {torch.__version__} does not read this layout")
    if name in ("containers", "sizes"):
        pytest.skip("PyTorch does not know the class, or how to write an output that is a symbolic bool")
    if layout == "2.6" and name in ("cond", "scan", "no_grad") and not torch.__version__.startswith("2.6"):
        pytest.skip("only PyTorch 2.6 reads the one result of such calls")
    if layout != "newest" and name == "while_loop":
        pytest.skip("PyTorch 2.5 and 2.6 cannot load what they save themselves: the operands come as a list")
    if layout == "2.5" and name in NEWER:
        pytest.skip("PyTorch 2.5 does not have it")
    _, args, kwargs, _ = CASES[name]
    ep = make(name, "plain")
    save(ep, tmp_path / "x.pt2", layout=layout)
    if layout != "newest":  # these releases know their operators only after such an import
        importlib.import_module("torch._higher_order_ops.wrap")
    theirs = torch.export.load(tmp_path / "x.pt2").module()

    def convert(x):
        if not isinstance(x, ingot.Tensor):
            return x
        if x.dtype == ingot.bfloat16:
            return torch.from_numpy(x.float().numpy()).bfloat16()
        return torch.from_numpy(x.detach().numpy().copy())

    found = theirs(*[convert(a) for a in args])
    want = ep.module()(*copy.deepcopy(args))
    for a, b in zip(torch.utils._pytree.tree_leaves(found), leaves(want)):
        if isinstance(b, ingot.Tensor):
            a = a.detach().to(torch.complex128).numpy()
            np.testing.assert_allclose(a, b.detach().to(ingot.complex128).numpy(), rtol=1e-5, atol=1e-6)
        else:
            assert a == b


def test_programs_with_objects_are_refused():
    text = to_bytes(make("several", "plain"))
    with zipfile.ZipFile(io.BytesIO(text)) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    model = json.loads(members["archive/models/model.json"])
    obj = {"arg": {"name": "obj_thing", "class_fqn": "__torch__.Thing"}, "custom_obj_name": "thing"}
    model["graph_module"]["signature"]["input_specs"].insert(0, {"custom_obj": obj})
    model["graph_module"]["graph"]["inputs"].insert(0, {"as_custom_obj": obj["arg"]})
    members["archive/models/model.json"] = json.dumps(model).encode()
    members["archive/data/constants/custom_obj_0"] = b"cposix\nsystem\n(S'true'\ntR."
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    with pytest.raises(NotImplementedError, match="'thing' is a custom object of class '__torch__.Thing'"):
        load(io.BytesIO(out.getvalue()))
    program = _C.pt2_load(out.getvalue(), True)
    assert program.input_specs[0][:3] == ("CUSTOM_OBJ", "obj_thing", "thing")
    assert _C.pt2_facts(program)[1] == [
        ("data/constants/custom_obj_0", "a custom object, as a pickle: not loaded")
    ]


# ---- other releases


def _document(path):
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith("serialized_exported_program.json"))
        return name, json.loads(archive.read(name))


class _Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", ingot.zeros(2))

    def forward(self, x):
        self.seen.add_(1)
        return x * self.seen


@pytest.mark.parametrize("capture, dialect", [("export", "ATEN"), ("export_for_training", "TRAINING")])
def test_programs_for_2_5_name_their_dialect(tmp_path, capture, dialect):
    path = tmp_path / "program.pt2"
    ingot.export.save(getattr(ingot.export, capture)(_Writes(), (ingot.ones(2),)), path, layout="2.5")
    assert _document(path)[1]["verifiers"] == [dialect]


def test_dtypes_that_2_5_lacks_are_refused(tmp_path):
    class Narrow(nn.Module):
        def forward(self, x):
            return x.to(ingot.float8_e4m3fn).to(ingot.float32)

    program = ingot.export.export(Narrow(), (ingot.ones(3),))
    with pytest.raises(NotImplementedError, match="PyTorch 2.5 cannot read .* of dtype float8_e4m3fn"):
        ingot.export.save(program, tmp_path / "old.pt2", layout="2.5")
    assert not (tmp_path / "old.pt2").exists()
    ingot.export.save(program, tmp_path / "new.pt2")


def test_map_with_a_number_and_one_row_of_values(tmp_path):
    """As PyTorch 2.1 and 2.2 write it."""

    class Mapped(nn.Module):
        def forward(self, x, y):
            return map_over(lambda a, b: a * 2 + b, x, y)

    x, y = ingot.arange(6.0).reshape(3, 2), ingot.ones(2)
    path = tmp_path / "new.pt2"
    ingot.export.save(ingot.export.export(Mapped(), (x, y), strict=False), path, layout="2.5")
    name, document = _document(path)
    for count in (1, 0, 3):
        for node in document["graph_module"]["graph"]["nodes"]:
            if node["target"].endswith("map_impl"):
                graph, *rest = node["inputs"]
                given = [a["arg"] for a in rest if "as_int" not in a["arg"]]
                lists = [arg.get("as_tensors", [arg.get("as_tensor")]) for arg in given]
                values = [{"name": "", "arg": {"as_tensor": v}} for row in lists for v in row]
                node["inputs"] = [graph, {"name": "", "arg": {"as_int": count}}, *values]
        old = tmp_path / f"old_{count}.pt2"
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(old, "w") as target:
            for member in source.namelist():
                target.writestr(member, json.dumps(document) if member == name else source.read(member))
        if count == 1:
            assert ingot.export.load(old).module()(x, y).tolist() == (x * 2 + y).tolist()
        else:
            with pytest.raises(ValueError, match=f"found {count} values to map over, expected 1 to 2"):
                ingot.export.load(old)


@pytest.mark.parametrize("version", ["-1", "0.1", "9.0", "77"])
def test_a_file_of_another_version_is_refused(version: str) -> None:
    class Net(nn.Module):
        def forward(self, x):
            return x + 1

    file = io.BytesIO()
    save(export(Net(), (ingot.ones(2),)), file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("version", version)
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"Serialized version .* does not match our current"):
        load(file)
