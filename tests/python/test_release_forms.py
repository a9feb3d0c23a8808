# SPDX-License-Identifier: Apache-2.0
"""Exports for training are written as PyTorch 2.5 writes them, exports for inference as 2.4 does: names of cond,
clearing of unused values, weights that no call uses, dimensions that a tensor does not have."""
import pytest

import ingot as torch
from ingot._export import capture_pre_autograd_graph
from ingot.export import Dim
from ingot.export._trace import _export_for_training


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.up(x).relu(), lambda x: x.sin(), (x,))


def nodes(graph_module):
    return [n for n in graph_module.graph.nodes if n.op == "call_function"]


def test_cond_is_named_by_the_level():
    args = (torch.ones(2, 3),)
    training = _export_for_training(Branches(), args)
    assert "cond = torch.ops.higher_order.cond" in training.graph_module.code
    (node,) = [n for n in nodes(training.graph_module) if n.name == "cond"]
    assert node.meta["torch_fn"] == ("cond_1", "CondOp.cond")
    inference = torch.export.export(Branches(), args)
    assert "conditional = torch.ops.higher_order.cond" in inference.graph_module.code
    (node,) = [n for n in nodes(inference.graph_module) if n.name == "conditional"]
    assert node.meta["torch_fn"] == ("cond_1", "HigherOrderOperator.cond")


def test_lowered_operands_that_want_gradients_are_a_tuple():
    args = (torch.ones(2, 3),)
    program = _export_for_training(Branches(), args)
    assert "false_graph_0, [x, up_bias" in program.module().code
    lowered = program.run_decompositions({})
    assert "false_graph_0, (x, p_up_bias, p_up_weight))" in lowered.graph_module.code
    assert torch.equal(lowered.module()(*args), program.module()(*args))


@pytest.mark.parametrize("strict", [True, False])
def test_nodes_of_branches(strict):
    """In a strict capture they have the metadata of the call; other captures drop their module stacks."""
    program = torch.export.export(Branches(), (torch.ones(2, 3),), strict=strict)
    (call,) = [n for n in nodes(program.graph_module) if n.name == "conditional"]
    inside = nodes(program.graph_module.true_graph_0)
    assert [n.name for n in inside] == ["linear", "relu"]
    for node in inside:
        if strict:
            assert node.meta["nn_module_stack"] == call.meta["nn_module_stack"]
            assert node.meta["source_fn_stack"] == call.meta["source_fn_stack"]
        else:
            assert node.meta["nn_module_stack"] == {}


class Writes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.unused = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        y = x.clone()
        y[0] = 1.0
        return y


def test_what_nobody_reads_is_cleared():
    program = _export_for_training(Writes(), (torch.zeros(3),), strict=False)
    code = program.graph_module.code
    cleared = "select = lift_fresh_copy = copy_ = None"
    assert f"copy_ = torch.ops.aten.copy_.default(select, lift_fresh_copy);  {cleared}" in code
    assert "unused = self.unused;  unused = None" in program.module().code
    module = torch.export.export(Writes(), (torch.zeros(3),)).module()
    assert "self.unused" not in module.code
    assert program.module()(torch.zeros(3)).tolist() == [1.0, 0.0, 0.0]


def test_a_dimension_that_is_not_there():
    """Exports for inference refuse it, those for training leave it out."""

    class Plus(torch.nn.Module):
        def forward(self, x):
            return x + 1

    shapes = {"x": {2: Dim("a")}}
    with pytest.raises(torch._dynamo.exc.UserError, match=r"in the range \[0:0\] but got 2"):
        torch.export.export(Plus(), (torch.ones(3),), dynamic_shapes=shapes)
    with pytest.warns(UserWarning, match="names dimension 2 of a tensor that has 1"):
        program = _export_for_training(Plus(), (torch.ones(3),), dynamic_shapes=shapes)
    assert not program.range_constraints
    assert program.module()(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


class Named(torch.nn.Module):
    def forward(self, input, max):
        return torch.max(input, max)


@pytest.mark.parametrize("export", [torch.export.export, _export_for_training])
def test_inputs_that_are_called_like_built_in_functions(export):
    """The nodes keep the names of the inputs, the variables of the code cannot."""
    args = (torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0]))
    program = export(Named(), args)
    lines = program.graph_module.code.split("\n")
    assert lines[3:7] == [
        "def forward(self, input, max):",
        "    input_1 = input",
        "    max_1 = max",
        "    max_2 = torch.ops.aten.max.other(input_1, max_1);  input_1 = max_1 = None",
    ]
    assert [n.name for n in program.graph.nodes] == ["input", "max", "max_1", "output"]
    lowered = program.run_decompositions()
    assert [n.name for n in lowered.graph.nodes][:2] == ["input", "max"]
    assert lowered.graph_module.code.split("\n")[3] == lines[3]
    for one in (program, lowered):
        assert one.module()(*args).tolist() == [3.0, 5.0]
        assert one.graph_module(*args)[0].tolist() == [3.0, 5.0]


def test_the_older_capture_reads_sizes_where_they_are_needed():
    class Reshape(torch.nn.Module):
        def forward(self, x):
            y = x.sin()
            return y.reshape(x.shape[0] * 2, 2)

    shapes = ({0: Dim("b", max=8)},)
    module = capture_pre_autograd_graph(Reshape(), (torch.ones(3, 4),), dynamic_shapes=shapes)
    code = [line.split(" = ")[0].strip() for line in module.code.split("\n") if " = torch.ops" in line]
    assert code == ["sin", "sym_size_int", "reshape"]
    assert module(torch.ones(5, 4)).shape == (10, 2)
    code = _export_for_training(Reshape(), (torch.ones(3, 4),), dynamic_shapes=shapes).graph_module.code
    assert code.index("sym_size_int_1 = ") < code.index("sin = ")


def test_the_older_capture_takes_modules_only():
    with pytest.raises(AssertionError, match="Expected an nn.Module instance."):
        capture_pre_autograd_graph(lambda x: x, (torch.ones(1),))
