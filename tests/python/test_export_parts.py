# SPDX-License-Identifier: Apache-2.0
"""Parts of programs that passes and tools touch: signatures, constants, constructors, levels."""

import os
import subprocess
import sys

import pytest

import ingot as torch
from ingot import fx, nn
from ingot._export.pass_base import _ExportPassBaseDeprecatedDoNotUse
from ingot._export.passes.constant_folding import constant_fold
from ingot._export.passes.lift_constants_pass import ConstantAttrMap
from ingot._export.passes.replace_view_ops_with_view_copy_ops_pass import ReplaceViewOpsWithViewCopyOpsPass
from ingot._export.serde.dynamic_shapes import _dump_dynamic_shapes, _load_dynamic_shapes
from ingot._export.utils import node_inline_, nodes_count, sequential_split
from ingot._export.verifier import SpecViolationError
from ingot.export import Dim, ExportedProgram, ModuleCallEntry, ModuleCallSignature, export, unflatten
from ingot.export._unlift import _unlift_exported_program_lifted_states
from ingot.export.graph_signature import InputKind, InputSpec, TensorArgument
from ingot.fx.experimental.proxy_tensor import make_fx


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("b", torch.tensor(3.0))

    def forward(self, x):
        y = x * self.w + self.b
        self.b.add_(1.0)
        return y


def program():
    return export(Net(), (torch.tensor(1.0),))


def spoil_parameter(ep):
    ep.graph_signature.input_specs[0] = InputSpec(InputKind.PARAMETER, TensorArgument("p_w"), "bad")


def spoil_weight(ep):
    ep.state_dict["w"] = torch.tensor(2.0)


def spoil_buffer(ep):
    ep.graph_signature.input_specs[1] = InputSpec(InputKind.BUFFER, TensorArgument("b_b"), "bad", True)


def spoil_order(ep):
    output = ep.graph.output_node()
    output.args = (tuple(reversed(output.args[0])),)


def spoil_count(ep):
    output = ep.graph.output_node()
    output.args = (output.args[0][:1],)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_parameter, "Parameter bad is not in the state dict."),
        (spoil_weight, "State dict entry for parameter w is not an instance of torch.nn.Parameter."),
        (spoil_buffer, "Buffer bad is not in the state dict."),
        (spoil_order, "is neither a buffer nor a user input"),
        (spoil_count, "Number of output nodes 1 is different"),
    ],
)
def test_signatures_are_checked(spoil, message):
    ep = program()
    ep._validate()
    spoil(ep)
    with pytest.raises(SpecViolationError, match=message):
        ep._validate()


def test_passes_make_programs():
    class Multiply(_ExportPassBaseDeprecatedDoNotUse):
        def call_operator(self, op, args, kwargs, meta):
            if op == torch.ops.aten.add.Tensor:
                op = torch.ops.aten.mul.Tensor
            return super().call_operator(op, args, kwargs, meta)

    class Add(nn.Module):
        def forward(self, x):
            return x + 3

    changed = export(Add(), (torch.ones(2),))._transform_do_not_use(Multiply())
    changed._validate()
    assert changed.module()(torch.full((2,), 2.0)).tolist() == [6, 6]


def test_views_become_copies():
    class View(nn.Module):
        def forward(self, x):
            return x.view(2, 4).transpose(0, 1)

    code = export(View(), (torch.zeros(4, 2),))._transform_do_not_use(ReplaceViewOpsWithViewCopyOpsPass())
    targets = [str(n.target) for n in code.graph.nodes if n.op == "call_function"]
    assert targets == ["aten.view_copy.default", "aten.transpose_copy.int"]


def test_programs_of_parts():
    ep = program()
    signature = ep.module_call_graph[0].signature
    calls = [ModuleCallEntry("", ModuleCallSignature([], [], signature.in_spec, signature.out_spec))]
    made = ExportedProgram(
        root=ep.graph_module, graph=ep.graph, graph_signature=ep.graph_signature, state_dict=ep.state_dict,
        range_constraints={}, module_call_graph=calls, constants=ep.constants,
    )  # fmt: skip
    assert _unlift_exported_program_lifted_states(made)(torch.tensor(1.0)).item() == 5


def test_shared_modules_have_their_weights_once():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Linear(2, 2))
            self.b = self.a

        def forward(self, x):
            return self.b(self.a(x))

    net = Twice()
    again = unflatten(export(net, (torch.ones(1, 2),)))
    assert again.a[0] is again.b[0] if hasattr(again.a, "__getitem__") else True
    assert len(list(again.parameters())) == 2
    assert torch.equal(again(torch.ones(1, 2)), net(torch.ones(1, 2)))


def test_names_of_constants():
    names = ConstantAttrMap()
    a, b = torch.ones(1), torch.ones(1)
    names.add(a, "x")
    names.add(a, "y")
    assert names[a] == ["x", "y"] and a in names and b not in names and len(names) == 1
    with pytest.raises(NotImplementedError):
        names[b] = ["z"]
    with pytest.raises(TypeError, match="Expected key to be a tensor or ScriptObject"):
        names.add(3, "n")
    del names[a]
    assert len(names) == 0


def test_known_values_are_folded():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + self.p * 2

    module = export(Scaled(), (torch.ones(2),)).module()
    constant_fold(module)
    assert nodes_count(module.graph.nodes, lambda n: n.op == "call_function") == 1
    assert module(torch.ones(2)).tolist() == [3, 3]


def test_graphs_are_cut_and_put_together():
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(torch.ops.aten.add.Tensor, (x, 1))
    graph.call_function(torch._C._set_grad_enabled, (False,))
    b = graph.call_function(torch.ops.aten.sin.default, (a,))
    graph.output((b,))
    module = fx.GraphModule({}, graph)
    cut = sequential_split(module, lambda n: n.target == torch._C._set_grad_enabled)
    calls = [n for n in cut.graph.nodes if n.op == "call_module"]
    assert len(calls) == 2
    for node in calls:
        node_inline_(node)
    assert [n.name for n in cut.graph.nodes if n.op == "call_function"] == [
        "add_tensor", "_set_grad_enabled", "sin_default",
    ]  # fmt: skip


def test_assertions_of_tokens():
    aten = torch.ops.aten
    token = aten._make_dep_token()
    token = aten._functional_assert_async.msg(torch.tensor(1), "holds", token)
    token = aten._functional_sym_constrain_range(3, 2, 5, token)
    assert tuple(aten._functional_sym_constrain_range_for_size(3, 2, 5, token).shape) == ()
    with pytest.raises(RuntimeError, match="fails"):
        aten._functional_assert_async.msg(torch.tensor(0), "fails", token)
    with pytest.raises(RuntimeError, match="Invalid value range for 9 between"):
        aten._functional_sym_constrain_range(9, 2, 5, token)


def test_compatibility_levels():
    class Write(nn.Module):
        def forward(self, x):
            y = x + 1
            y.add_(1)
            return y

    assert torch.compat_level() == "2.5" and torch.version.torch.startswith("2.5")
    assert "add_" not in [n.target._schema.name for n in export(Write(), (torch.ones(1),)).graph.nodes
                          if n.op == "call_function"]  # fmt: skip
    with torch.set_compat("2.13"):
        assert torch.version.torch.startswith("2.13")
        assert "add_" in str(export(Write(), (torch.ones(1),)).graph)
    assert torch.compat_level() == "2.5"
    with pytest.raises(ValueError, match="there is no level '1.0'"):
        torch.set_compat("1.0")


def run_ingot(*words, **environment):
    command = [sys.executable, "-m", "ingot", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_compatibility_level_of_a_program():
    code = """
import ingot, threading, subprocess, sys, torch
print(torch.__version__, flush=True)
thread = threading.Thread(target=lambda: print(ingot.compat_level(), flush=True))
thread.start(), thread.join()
subprocess.run([sys.executable, "-c", "import ingot; print(ingot.compat_level())"])
"""
    assert run_ingot("-c", code).stdout.split() == ["2.5.1+ingot", "2.5", "2.5"]
    assert run_ingot("--compat", "2.13", "-c", code).stdout.split() == ["2.13.0+ingot", "2.13", "2.13"]
    assert run_ingot("-c", code, INGOT_COMPAT="2.13").stdout.split() == ["2.13.0+ingot", "2.13", "2.13"]
    refused = run_ingot("--compat", "1.0", "-c", code).stderr
    assert "there is no compatibility level '1.0'; expected one of 2.5, 2.13" in refused
    assert "INGOT_COMPAT: there is no compatibility level '1.0'" in run_ingot("-c", code, INGOT_COMPAT="1.0").stderr
    assert "takes a level" in run_ingot("--compat", "2.13").stderr


def test_decompositions_in_traces():
    table = {torch.ops.aten.cos.default: lambda x: torch.sin(x) * 2}
    traced = make_fx(lambda x: torch.cos(x) + 1, decomposition_table=table)(torch.ones(2))
    assert [n.name for n in traced.graph.nodes] == ["x_1", "sin", "mul", "add", "output"]
    assert "return add\n" in traced.code


def test_numbers_of_data_are_refused_in_real_traces():
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(lambda x: x if x.sum().item() > 0 else -x)(torch.ones(2))


def test_operators_are_checked():
    @torch.library.custom_op("parts::good", mutates_args=())
    def good(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    good.register_fake(torch.empty_like)
    assert set(torch.library.opcheck(good, (torch.ones(2),)).values()) == {"SUCCESS"}

    @torch.library.custom_op("parts::bad", mutates_args=())
    def bad(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    bad.register_fake(lambda x: torch.empty(7))
    with pytest.raises(torch.library.OpCheckError, match="test_faketensor failed"):
        torch.library.opcheck(bad, (torch.ones(2),))
    found = torch.library.opcheck(bad, (torch.ones(2),), raise_exception=False)
    assert isinstance(found["test_faketensor"], RuntimeError) and found["test_schema"] == "SUCCESS"


def test_dynamic_shapes_as_data():
    batch = Dim("b", min=2, max=9)
    shapes = {"x": {0: batch, 1: 2 * batch + 1}, "y": [None, {0: Dim("c")}], "z": {0: Dim.AUTO}}
    examples = (torch.ones(4, 9), [torch.ones(1), torch.ones(3, 2)], torch.ones(5))
    found = _dump_dynamic_shapes(shapes, examples, to_dict=True)
    assert found == {
        "dynamic_shapes": (["b", "2*b + 1"], [["_DimHint.STATIC"], ["c", 2]], ["_DimHint.AUTO"]),
        "dims": {
            "b": {"min": 2, "max": 9, "derived": ["2*b + 1"]},
            "c": {"min": 0, "max": None, "derived": []},
        },
    }
    first, _, hint = _load_dynamic_shapes(found, from_dict=True)
    assert first[1].root is first[0] and first[1].fn(4) == 9 and hint == [Dim.AUTO]
    assert _load_dynamic_shapes(_dump_dynamic_shapes(shapes, examples))[0][0].max == 9
    with pytest.raises(torch._dynamo.exc.UserError, match="which is not in"):
        _load_dynamic_shapes({"dynamic_shapes": [["q"]], "dims": {}}, from_dict=True)
    with pytest.raises(torch._dynamo.exc.UserError, match="to map `min` to an int, got a: x"):
        _load_dynamic_shapes({"dynamic_shapes": [], "dims": {"a": {"min": "x", "max": 1, "derived": []}}}, True)


def test_a_copy_of_a_program_is_independent() -> None:
    import copy

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count.add_(1)
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (self.linear(x),)) + self.count

    rows = torch.export.Dim("rows", max=7)
    program = torch.export.export(Net(), (torch.ones(3, 2),), dynamic_shapes={"x": {0: rows}})
    again = copy.deepcopy(program)
    assert str(again) == str(program)
    assert again.graph_signature == program.graph_signature and again.range_constraints == program.range_constraints
    again.state_dict["linear.weight"].data.zero_()
    for node in again.graph.nodes:
        if node.op == "call_function":
            del node.meta["val"]
            break
    with pytest.raises(torch._export.verifier.SpecViolationError, match="missing val"):
        again.validate()
    program.validate()
    assert program.state_dict["linear.weight"].abs().sum() > 0
    with pytest.raises(RuntimeError, match="to be <= 7"):
        copy.deepcopy(program).module()(torch.ones(9, 2))


def test_what_a_pass_returns_is_verified() -> None:
    from ingot.fx.passes.infra.pass_base import PassResult

    class Net(torch.nn.Module):
        def forward(self, x):
            return x + 1

    def other_target(gm):
        for node in gm.graph.nodes:
            if node.op == "call_function":
                node.target = torch.add
        gm.recompile()
        return PassResult(gm, True)

    program = torch.export.export(Net(), (torch.ones(2),))
    with pytest.raises(torch._export.verifier.SpecViolationError, match="is not an allowed operator type"):
        program._transform_do_not_use(other_target)


def test_mutating_calls_have_their_operands_by_position() -> None:
    from ingot.export._remove_auto_functionalized_pass import unsafe_remove_auto_functionalized_pass

    with torch.library._scoped_library("positional", "FRAGMENT") as lib:
        lib.define("scale_(Tensor(a!) x, float by) -> ()")
        lib.impl("scale_", lambda x, by: [x.mul_(by)] and None, "CPU")
        torch.library.register_fake("positional::scale_", lambda x, by: None, lib=lib)

        class Net(torch.nn.Module):
            def forward(self, x):
                y = x + 1
                torch.ops.positional.scale_(y, 3.0)
                return y

        program = torch.export.export(Net(), (torch.ones(2),)).run_decompositions()
        program = unsafe_remove_auto_functionalized_pass(program)
        call = next(n for n in program.graph.nodes if n.target is torch.ops.positional.scale_.default)
        assert [str(a) for a in call.args] == ["add", "3.0"] and call.kwargs == {}
        assert program.module()(torch.ones(2)).tolist() == [6.0, 6.0]
