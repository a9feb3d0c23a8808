# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them (detection, decoding, packed sequences, hooks, unused methods, mistakes): results,
texts, errors and marked places are those of PyTorch 2.5.1. And what a script function tells about itself."""

import inspect

import pytest

import ingot
from ingot import nn
from records import known_errors, run

PARTS = 2
FIELDS = ("outcome", "values", "grad", "error", "place", "type", "code", "call_errors", "post", "schema")


@pytest.mark.parametrize("part", range(PARTS))
def test_records(part: int) -> None:
    found = run("script_replay.py", "script_programs.jsonl.gz", f"{part}/{PARTS}")
    assert found
    assert not known_errors({key: row for key, row in found.items() if key.split(" ", 1)[1] in FIELDS}, {})


def _sum(x: ingot.Tensor, n: int = 3, k: float | None = None) -> tuple[ingot.Tensor, int]:
    return x + n, n


def test_schema() -> None:
    f = ingot.jit.script(_sum)
    schema = f.schema
    assert str(schema) == repr(schema) == "_sum(Tensor x, int n=3, float? k=None) -> ((Tensor, int))"
    assert (schema.name, schema.overload_name) == ("_sum", "")
    rows = [(one.name, str(one.type), one.has_default_value(), one.default_value) for one in schema.arguments]
    assert rows == [("x", "Tensor", False, None), ("n", "int", True, 3), ("k", "Optional[float]", True, None)]
    assert [(one.name, str(one.type)) for one in schema.returns] == [("", "Tuple[Tensor, int]")]
    assert schema == f.schema and hash(schema) == hash(f.schema)
    assert list(inspect.signature(f).parameters) == ["x", "n", "k"]


class _Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        return self.layer(x) * 2


def test_graph_for_and_constants() -> None:
    script = ingot.jit.script(_Scaled())
    assert str(script.forward.schema).startswith("forward(__torch__.")
    graph = script.graph_for(ingot.ones(1, 2))
    node = graph.findNode("aten::linear")
    assert node.hasUses()
    assert not graph.findAllNodes("prim::CallMethod")
    traced = ingot.jit.trace(lambda x: x + ingot.tensor([1.0, 2.0]), ingot.ones(2))
    text, constants = traced.code_with_constants
    assert "CONSTANTS.c0" in text
    assert constants.c0.tolist() == constants.const_mapping["c0"].tolist() == [1.0, 2.0]


def test_passes() -> None:
    graph = ingot._C.parse_ir(
        "graph(%x : Tensor):\n"
        "  %n : NoneType = prim::Constant()\n"
        "  %b : bool = aten::__is__(%x, %n)\n"
        "  %y : Tensor = aten::relu(%x)\n"
        "  return (%y, %b)\n"
    )
    ingot._C._jit_pass_peephole(graph)
    ingot._C._jit_pass_constant_propagation_immutable_types(graph)
    assert graph.findNode("aten::__is__") is None


class _Normalized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        return self.norm(self.conv(x))


def test_a_frozen_normalization_is_part_of_the_convolution() -> None:
    module = _Normalized().eval()
    frozen = ingot.jit.freeze(ingot.jit.script(module))
    assert not frozen.graph.findAllNodes("aten::batch_norm") and not frozen.graph.findAllNodes("prim::If")
    x = ingot.randn(2, 1, 5, 5)
    ingot.testing.assert_close(frozen(x), module(x))


def test_printed_scale(capfd: pytest.CaptureFixture) -> None:
    @ingot.jit.script
    def show(x: ingot.Tensor):
        print(x)

    show(ingot.tensor([[-0.016848, -0.320119]]))
    assert capfd.readouterr().out == "0.01 *\n-1.6848 -32.0119\n[ CPUFloatType{1,2} ]\n"
