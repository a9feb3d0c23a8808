# SPDX-License-Identifier: Apache-2.0
"""What passes, tools and tests take from torch._export and torch._higher_order_ops, each by itself."""

from __future__ import annotations

import dataclasses
import io
import json
import operator

import pytest

import ingot as torch
from ingot import fx, nn
from ingot._dynamo.testing import normalize_gm
from ingot._export import non_strict_utils, utils, wrappers
from ingot._export.error import InternalError
from ingot._export.passes._node_metadata_hook import _node_metadata_hook
from ingot._export.passes.collect_tracepoints_pass import CollectTracepointsPass
from ingot._export.passes.replace_view_ops_with_view_copy_ops_pass import get_view_copy_of_view_op
from ingot._export.serde import schema
from ingot._export.serde import serialize as serde
from ingot._higher_order_ops import effects, executorch_call_delegate
from ingot._higher_order_ops.hints_wrap import hints_wrapper
from ingot._higher_order_ops.out_dtype import out_dtype
from ingot._higher_order_ops.run_const_graph import run_const_graph
from ingot._higher_order_ops.torchbind import call_torchbind, enable_torchbind_tracing
from ingot._higher_order_ops.wrap import tag_activation_checkpoint, wrap
from ingot.export import Dim, ExportedProgram, export
from ingot.export._remove_effect_tokens_pass import _remove_effect_tokens
from ingot.export.dynamic_shapes import _DerivedDim, _Dim
from ingot.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
    TokenArgument,
)
from ingot.export.passes import move_to_device_pass
from ingot.export.unflatten import _get_submodule, unflatten
from ingot.testing._internal.common_quantized import override_quantized_engine
from ingot.utils import _pytree as pytree

aten = torch.ops.aten


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("steps", torch.ones(2))
        self.offset = torch.ones(2)

    def forward(self, x):
        return self.linear(x) + self.steps + self.offset + torch.zeros(2, device="cpu")


def program(**options) -> ExportedProgram:
    return export(Net(), (torch.ones(3, 2),), **options)


# ---- strict captures ----


_CHECKED = """
class Checked(nn.Module):
    def forward(self, x):
        assert x.sum() > 0, "positive"
        assert x.min() > -5
        return x + 1
"""


def test_assertions_on_tensors_are_part_of_a_strict_program() -> None:
    names = {"nn": nn}  # as text: pytest rewrites the assertions of this file
    exec(compile(_CHECKED, "<checked>", "exec"), names)
    Checked = names["Checked"]  # noqa: N806
    module = export(Checked(), (torch.ones(3),)).module()
    assert module(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="^positive$"):
        module(-torch.ones(3))
    with pytest.raises(RuntimeError, match="^assertion error$"):
        module(torch.tensor([-9.0, 9.0, 9.0]))
    with pytest.raises(torch._C.GuardOnDataDependentSymNode):
        export(Checked(), (torch.ones(3),), strict=False)


def test_constant_results_are_computed_on_the_examples() -> None:
    class Head(nn.Module):
        @torch._dynamo.assume_constant_result
        def count(self, n):
            return n.item() + 1

        def forward(self, x, n):
            return x[: self.count(n)]

    module = export(Head(), (torch.ones(8), torch.tensor(3))).module()
    assert module(torch.ones(8), torch.tensor(6)).shape == (4,)
    assert Head()(torch.ones(8), torch.tensor(6)).shape == (7,)


def test_strict_captures_refuse_defaults_that_are_tensors() -> None:
    class Optional(nn.Module):
        def forward(self, x, y=torch.ones(2)):  # noqa: B008
            return x + y

    x = torch.ones(2)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Tracing through optional input is not supported yet"):
        export(Optional(), (x,))
    assert export(Optional(), (x, x)).module()(x, x).tolist() == [2, 2]
    assert export(Optional(), (x,), strict=False).module()(x).tolist() == [2, 2]


def test_lists_of_tensors_are_not_assigned_in_strict_captures() -> None:
    class Keeps(nn.Module):
        def forward(self, x):
            self.kept = [x + 1]
            return x

    with pytest.raises(AssertionError, match="Mutating module attribute kept during export"):
        export(Keeps(), (torch.ones(2),))


def test_sizes_from_data_split_a_tensor() -> None:
    class Split(nn.Module):
        def forward(self, x, sizes):
            return x.split(sizes.tolist())

    for strict in (True, False):
        module = export(Split(), (torch.arange(6.0), torch.tensor([1, 2, 3])), strict=strict).module()
        assert [len(t) for t in module(torch.arange(6.0), torch.tensor([3, 0, 3]))] == [3, 0, 3]
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression Eq"):
            module(torch.arange(6.0), torch.tensor([3, 1, 3]))


def test_counts_are_bounded_by_dynamic_sizes() -> None:
    class Select(nn.Module):
        def forward(self, x):
            return torch.masked_select(x, x > 0)

    found = export(Select(), (torch.ones(3, 4),), dynamic_shapes=({1: Dim("d", min=2, max=1024)},), strict=False)
    assert sorted({str(r) for r in found.range_constraints.values()}) == ["VR[0, 3072]", "VR[2, 1024]"]


def test_constants_stay_constants_when_a_program_is_captured_again() -> None:
    first = program()
    first.graph_module.meta["custom"] = {"note": 1}
    module = first.module()
    assert sorted(module.state_dict()) == ["linear.bias", "linear.weight", "steps"]
    for strict in (True, False):
        again = export(module, (torch.ones(3, 2),), strict=strict)
        assert again.graph_signature.lifted_tensor_constants == ["offset"] or "offset" in again.constants
        assert sorted(again.state_dict) == ["linear.bias", "linear.weight", "steps"]
        assert again.graph_module.meta["custom"] == {"note": 1}


# ---- passes ----


def test_move_to_device_pass() -> None:
    for location in ("meta", torch.device("meta"), {"cpu": "meta"}):
        moved = move_to_device_pass(program(), location)
        assert {v.device.type for v in (*moved.state_dict.values(), *moved.constants.values())} == {"meta"}
        assert {n.meta["val"].device.type for n in moved.graph.nodes if "val" in n.meta} == {"meta"}
        assert "device(type='meta')" in moved.graph_module.code
        assert isinstance(moved.state_dict["linear.weight"], nn.Parameter)
    assert move_to_device_pass(program(), {"cuda": "meta"}).state_dict["steps"].device.type == "cpu"


def test_remove_effect_tokens() -> None:
    graph = fx.Graph()
    token, x = graph.placeholder("token"), graph.placeholder("x")
    call = graph.call_function(effects.with_effects, (token, aten.add.Tensor, x, x))
    items = [graph.call_function(operator.getitem, (call, i)) for i in (0, 1)]  # fmt: skip  # noqa: E501
    graph.output(tuple(items))
    value = torch.ones(2)
    for node in graph.nodes:
        node.meta["val"] = (value, value) if node is call else value
    signature = ExportGraphSignature(
        [InputSpec(InputKind.TOKEN, TokenArgument("token"), None), InputSpec(InputKind.USER_INPUT, TensorArgument("x"), None)],  # noqa: E501
        [OutputSpec(OutputKind.TOKEN, TokenArgument(items[0].name), None), OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(items[1].name), None)],  # noqa: E501
    )  # fmt: skip

    @dataclasses.dataclass
    class Parts:
        graph_module: fx.GraphModule
        graph_signature: ExportGraphSignature

        @property
        def graph(self):
            return self.graph_module.graph

    parts = _remove_effect_tokens(Parts(fx.GraphModule({}, graph), signature))
    assert [str(n.target) for n in parts.graph.nodes] == ["x", "aten.add.Tensor", "output"]
    assert len(signature.input_specs) == len(signature.output_specs) == 1
    assert parts.graph_module(torch.ones(2))[0].tolist() == [2, 2]


def test_tracepoints_become_signatures() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    into = graph.call_function(wrappers._export_tracepoint, (x, 3), {"kind": "module_call_inputs", "path": "sub"})
    item = graph.call_function(operator.getitem, (into, 0))
    total = graph.call_function(aten.add.Tensor, (item, 1))
    out = graph.call_function(wrappers._export_tracepoint, (total,), {"kind": "module_call_outputs", "path": "sub"})
    graph.output((graph.call_function(operator.getitem, (out, 0)),))
    spec = torch.export.ModuleCallSignature([], [], None, None)
    signature = ExportGraphSignature([InputSpec(InputKind.USER_INPUT, TensorArgument("x"), None)], [])
    gm = CollectTracepointsPass({"sub": spec}, signature)(fx.GraphModule({}, graph)).graph_module
    assert [a.name for a in spec.inputs] == ["x", ""] and spec.inputs[1].value == 3
    assert [a.name for a in spec.outputs] == [total.name]
    assert [n.op for n in gm.graph.nodes] == ["placeholder", "call_function", "output"]


def test_wrapped_modules_note_their_structure() -> None:
    module, found = Net(), {}
    with wrappers._wrap_submodules(module, ["linear"], found):
        module(torch.ones(3, 2))
    assert found["linear"].in_spec.num_leaves == 1 and found["linear"].out_spec.num_leaves == 1
    with pytest.raises(RuntimeError, match="Couldn't find submodule at path nothing"):
        with wrappers._wrap_submodules(module, ["nothing"], {}):
            pass


def test_new_nodes_stand_in_the_module_of_their_operands() -> None:
    graph = program().graph
    add = next(n for n in graph.nodes if n.target is aten.add.Tensor)
    with graph.inserting_after(add):
        node = graph.call_function(aten.mul.Tensor, (add, 2))
    _node_metadata_hook(node, stack_trace="here")
    assert node.meta["nn_module_stack"] == add.meta["nn_module_stack"] and node.meta["val"].shape == (3, 2)


def test_views_without_a_copying_form() -> None:
    assert get_view_copy_of_view_op(aten.transpose.int._schema) is aten.transpose_copy.int
    with pytest.raises(InternalError, match="aten::reshape is missing a view_copy variant"):
        get_view_copy_of_view_op(aten.reshape.default._schema)


def test_names_without_collisions() -> None:
    names: dict[str, str] = {}
    made = [utils._rename_without_collisions(names, *pair) for pair in (("x", "x"), ("y", "x"), ("w", "x_1"))]
    assert made == ["x", "x_1", "x_2"] and names == {"x": "x", "y": "x_1", "w": "x_2"}


def test_inputs_are_checked_against_placeholders() -> None:
    ep = export(Net(), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("d", min=2, max=5)},))
    holders = [n for n in ep.graph.nodes if n.op == "placeholder"][-1:]

    def check(x) -> None:
        leaves = pytree.tree_flatten_with_path(((x,), {}))[0]
        utils._check_input_constraints_for_graph(holders, leaves, ep.range_constraints)

    check(torch.ones(4, 2))
    for bad, message in (
        (torch.ones(4, 3), r"Expected input at \*args\[0\].shape\[1\] to be equal to 2, but got 3"),
        (torch.ones(9, 2), r"Expected input at \*args\[0\].shape\[0\] to be <= 5, but got 9"),
        (torch.ones(2), r"Unexpected number of dimensions in input at \*args\[0\].shape"),
        (3, r"Expected input at \*args\[0\] to be a tensor, but got <class 'int'>"),
    ):
        with pytest.raises(RuntimeError, match=message):
            check(bad)


# ---- graph modules as objects of the schema ----


def test_graph_modules_by_the_serializer_of_graph_modules() -> None:
    ep = program()
    whole = serde.ExportedProgramSerializer({"aten": 5}).serialize(ep)
    writer = serde.GraphModuleSerializer(ep.graph_signature, ep.module_call_graph)
    assert writer.serialize(ep.graph_module).graph == whole.exported_program.graph_module.graph
    assert writer.serialize_signature(ep.graph_signature) == whole.exported_program.graph_module.signature
    read = serde.GraphModuleDeserializer().deserialize(
        whole.exported_program.graph_module, whole.state_dict, whole.constants, whole.example_inputs, {}
    )
    assert read.signature.user_inputs == ep.graph_signature.user_inputs and len(read.example_inputs[0]) == 1
    assert read.signature.parameters == ep.graph_signature.parameters
    assert [str(n.target) for n in read.graph_module.graph.nodes] == [str(n.target) for n in ep.graph.nodes]


def test_values_of_the_schema() -> None:
    writer = serde.GraphModuleSerializer(None, [])
    for value, shown in (
        (2.5, "Argument(as_float=2.5)"), ([1, 2], "Argument(as_ints=[1, 2])"), (None, "Argument(as_none=())"),
        ([], "Argument(as_tensors=[])"), ([True], "Argument(as_bools=[True])"), ("s", "Argument(as_string=s)"),
        (torch.device("cpu"), "Argument(as_device=Device(type='cpu', index=None))"),
    ):  # fmt: skip
        assert str(writer.serialize_input(value)) == shown
    with pytest.raises(serde.SerializeError, match="Unsupported argument type: <class 'object'>"):
        writer.serialize_input(object())
    with pytest.raises(serde.SerializeError, match="Unsupported list/tuple argument type"):
        writer.serialize_input([1.0, 2])
    assert writer.serialize_operator(aten.sin.default) == "torch.ops.aten.sin.default"
    assert writer.serialize_operator(torch.sym_max) == "torch.sym_max"
    reader = serde.GraphModuleDeserializer()
    assert reader.deserialize_operator("torch.ops.aten.sin.default") is aten.sin.default
    assert reader.deserialize_operator("nothing.known") == "nothing.known"


def test_objects_of_the_schema_as_dictionaries() -> None:
    made = serde.ExportedProgramSerializer().serialize(program()).exported_program
    plain = serde._dataclass_to_dict(made)
    assert plain["graph_module"]["graph"]["inputs"][0] == {"as_tensor": {"name": "p_linear_weight"}}
    read = json.loads(json.dumps(plain, cls=serde.EnumEncoder))
    assert serde._dict_to_dataclass(schema.ExportedProgram, read) == made
    with pytest.raises(KeyError):
        serde._dict_to_dataclass(schema.Argument, {"as_nothing": 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'new'"):
        serde._dict_to_dataclass(schema.Device, {"type": "cpu", "index": None, "new": 4})
    packed = serde.serialize_torch_artifact((1, torch.ones(1)))
    assert serde.deserialize_torch_artifact(packed)[0] == 1 and serde.deserialize_torch_artifact(b"") == {}


# ---- higher-order operators ----


def test_higher_order_operators_compute() -> None:
    x = torch.ones(2, 2, dtype=torch.int8)
    assert out_dtype(aten.mm.default, torch.int32, x * 100, x * 100).tolist() == [[20000, 20000], [20000, 20000]]
    with pytest.raises(ValueError, match="first argument must be an OpOverload"):
        out_dtype(torch.mm, torch.int32, x, x)
    with pytest.raises(ValueError, match="needs to be a functional operator"):
        out_dtype(aten.add_.Tensor, torch.int32, x, x)
    y = torch.ones(2)
    assert hints_wrapper(lambda a, b: a + b, (y, y), {}, hints={"fast": True}).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"hints key must be a str, got 1\."):
        hints_wrapper(lambda a: a, (y,), {}, hints={1: 2})
    assert run_const_graph(lambda a: a + 1, (y,)).tolist() == [2, 2]
    assert wrap(lambda a: a + 1, y).tolist() == tag_activation_checkpoint(lambda a: a + 1, y).tolist() == [2, 2]
    with enable_torchbind_tracing():
        assert call_torchbind(y, "add", y).tolist() == [2, 2]
    assert not executorch_call_delegate.is_lowered_module(y)


def test_effects_of_operators() -> None:
    ordered = effects._EffectType.ORDERED
    assert not effects.has_effects(aten.sin.default, (), {}) and effects.has_aliasing(aten.view.default)
    effects._register_effectful_op(aten.sin.default, ordered)
    try:
        assert effects.get_effect_key(aten.sin.default, (), {}) is ordered
        assert effects.has_effects(aten.sin.default, (), {})
    finally:
        effects._deregister_effectful_op(aten.sin.default)
    assert effects.new_token_tensor().shape == (0,)


# ---- small things ----


def test_constants_and_fake_inputs_of_a_module() -> None:
    module = Net()
    found = non_strict_utils._gather_constant_attrs(module)
    assert list(found.values()) == [["offset"]] and module.offset in found
    mode, args, kwargs, *_ = non_strict_utils.make_fake_inputs(module, (torch.ones(3, 2),), {}, {"x": {0: Dim("d")}})
    assert args[0].fake_mode is mode and kwargs == {}


def test_derived_dims_have_a_class() -> None:
    d = Dim("d")
    assert isinstance(d, _Dim) and not isinstance(d, _DerivedDim) and isinstance(2 * d + 1, _DerivedDim)


def test_sub_modules_by_path() -> None:
    made = unflatten(program())
    assert _get_submodule(made, "linear") is made.linear and _get_submodule(made, "linear.nothing") is None


def test_code_without_comments() -> None:
    assert normalize_gm("a  # c\n   # only\n\nb   \n") == "a  # c\n\nb\n"


def test_quantized_engines_in_a_block() -> None:
    before = torch.backends.quantized.engine
    with override_quantized_engine("qnnpack"):
        assert torch.backends.quantized.engine == "qnnpack"
    assert torch.backends.quantized.engine == before


def test_programs_of_converted_scripts_keep_composite_operators() -> None:
    from ingot._export.converter import TS2EPConverter

    found = TS2EPConverter(torch.jit.script(Net()), (torch.ones(3, 2),)).convert()
    assert aten.linear.default in [n.target for n in found.graph.nodes]
    file = io.BytesIO()
    torch.export.save(found, file)
    assert torch.export.load(file).module()(torch.ones(3, 2)).shape == (3, 2)


def test_every_view_of_core_aten_has_a_copying_form() -> None:
    from ingot import _dispatch_keys
    from ingot._export.passes.replace_view_ops_with_view_copy_ops_pass import is_view_op

    names = _dispatch_keys._dispatch_get_registrations_for_dispatch_key("")
    assert {"aten::add.Tensor", "aten::relu", "aten::as_strided"} <= set(names)
    views = []
    for name in names:
        base, _, overload = name.removeprefix("aten::").partition(".")
        op = getattr(getattr(torch.ops.aten, base), overload or "default")
        if torch.Tag.core in op.tags and is_view_op(op._schema):
            views.append(base)
            assert get_view_copy_of_view_op(op._schema) is not None
    assert {"as_strided", "diagonal", "permute", "select", "view"} <= set(views)
    assert _dispatch_keys._dispatch_has_kernel("aten::view_copy.dtype")
    assert not _dispatch_keys._dispatch_has_kernel("aten::view_copy.nothing")
    with pytest.raises(NotImplementedError, match="found 'CPU'"):
        _dispatch_keys._dispatch_get_registrations_for_dispatch_key("CPU")


def test_the_verifier_names_what_it_finds_first() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("factor", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + 1) * self.factor

    program = export(Scaled(), (torch.ones(3),))
    other = InputSpec(InputKind.BUFFER, program.graph_signature.input_specs[1].arg, "other", True)
    program.graph_signature.input_specs[0] = other
    with pytest.raises(Exception, match="Input spec name x does not match node name b_factor"):
        program.validate()
    program = export(Scaled(), (torch.ones(3),))
    del program._state_dict["factor"]
    with pytest.raises(Exception, match="Buffer factor is not in the state dict"):
        program.validate()
    program = export(Scaled(), (torch.ones(3),))
    first, second = (n for n in program.graph.nodes if n.op == "call_function")
    second.append(first)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        program.validate()
