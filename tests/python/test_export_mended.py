# SPDX-License-Identifier: Apache-2.0
"""Parts of exported programs: copies, kept signatures, files that are not there, folded constants."""

import copy

import pytest

import ingot as torch
from ingot import nn
from ingot._export.passes.constant_folding import constant_fold
from ingot._export.serde.serialize import ExportedProgramSerializer
from ingot.export import export, load, unflatten


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return self.lin(x)


class Outer(nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.inner = Inner()
        self.calls = calls

    def forward(self, x):
        for _ in range(self.calls):
            x = self.inner(x) + 1
        return x


X = torch.ones(1, 2)


def test_a_copy_of_an_unflattened_program_has_its_own_weights():
    original = unflatten(export(Outer(1), (X,)))
    copied = copy.deepcopy(original)
    assert torch.equal(copied(X), original(X))
    with torch.no_grad():
        copied.inner.lin.weight.add_(1)
    assert not torch.equal(copied(X), original(X))


@pytest.mark.parametrize("calls", [1, 2])
def test_a_kept_signature_is_that_of_one_call(calls):
    module = Outer(calls)
    program = export(module, (X,), preserve_module_call_signature=("inner",))
    if calls == 1:
        assert torch.equal(unflatten(program)(X), module(X))
        return
    with pytest.raises(RuntimeError, match=r"Could not find output node of the second call of 'inner'"):
        unflatten(program)
    assert torch.equal(unflatten(export(module, (X,)))(X), module(X))


def test_the_serializer_writes_kept_signatures():
    program = export(Outer(1), (X,), preserve_module_call_signature=("inner",))
    entries = ExportedProgramSerializer().serialize(program).exported_program.graph_module.module_call_graph
    found = {entry.fqn: entry.signature for entry in entries}["inner"]
    assert [a.as_tensor.name for a in found.inputs] == ["x"]
    assert [a.as_tensor.name for a in found.outputs] == ["linear"]


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        load("/nonexistent/program.pt2")


def test_folding_keeps_what_only_folded_calls_read():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2, 2))

        def forward(self, x):
            return x @ (self.w + 1).t()

    module = export(Scaled(), (X,)).module()
    with torch.no_grad():
        constant_fold(module)
    assert [name for name, _ in module.named_parameters()] == ["w"]
    assert torch.equal(module(X), X @ torch.full((2, 2), 2.0))


def test_replacing_a_result_updates_the_signature():
    program = export(Inner(), (X,))
    (call,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.linear.default)
    with program.graph_module._set_replace_hook(program.graph_signature.get_replace_hook()):
        with program.graph.inserting_after(call):
            new = program.graph.call_function(torch.ops.aten.neg.default, (call.args[0],))
        call.replace_all_uses_with(new)
    assert program.graph_signature.output_specs[0].arg.name == new.name


def test_tracing_does_not_change_what_a_module_calls_a_function():
    """The names of torch.nn.functional are kept where they were asked for while a function was being traced."""
    import subprocess
    import sys

    code = (
        "import ingot.as_torch, torch, torch.nn.functional as F\n"
        "graph = torch.fx.symbolic_trace(lambda x: F.relu(x)).graph\n"
        "assert [n for n in graph.nodes if n.target is F.relu], F.relu\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
