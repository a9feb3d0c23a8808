# SPDX-License-Identifier: Apache-2.0
"""Graphs of scripts as Python objects: torch._C.Graph, Node, Value, the types and passes."""

import gc

import pytest

import ingot as torch

TEXT = """graph(%x : Tensor,
      %y : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%x, %y, %2)
  %4 : Tensor = aten::mul(%3, %y)
  %5 : Tensor = aten::mul(%3, %y)
  %6 : Tensor = aten::add(%4, %5, %2)
  return (%6)
"""


def parsed():
    return torch._C.parse_ir(TEXT)


def test_reads():
    g = parsed()
    assert str(g) == TEXT
    node = g.findNode("aten::mul")
    assert node.kind() == "aten::mul"
    assert [v.debugName() for v in node.inputs()] == ["3", "y"]
    assert node.schema() == "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"
    assert len(g.findAllNodes("aten::mul")) == 2
    assert g.findNode("aten::relu") is None
    y = list(g.inputs())[1]
    assert (y.type().sizes(), y.type().strides(), y.type().scalarType()) == ([2, 3], [3, 1], "Float")
    assert y.isCompleteTensor() and not y.requires_grad()
    assert [(u.user.kind(), u.offset) for u in y.uses()] == [("aten::add", 1), ("aten::mul", 1), ("aten::mul", 1)]
    assert g.findNode("prim::Constant").kindOf("value") == "i"
    assert g.findNode("prim::Constant").i("value") == 1
    assert g.param_node() == g.param_node() and g.return_node().kind() == "prim::Return"


def test_types():
    c = torch._C
    ints = c.ListType.ofInts()
    assert (str(ints), ints.str(), ints.annotation_str) == ("List[int]", "int[]", "List[int]")
    assert c.ListType(c.TensorType.get()).getElementType().kind() == "TensorType"
    assert (str(c.OptionalType(c.IntType.get())), c.OptionalType(c.IntType.get()).str()) == ("Optional[int]", "int?")
    assert [str(t) for t in c.TupleType([c.TensorType.get(), c.IntType.get()]).elements()] == ["Tensor", "int"]
    assert c.IntType.get().isSubtypeOf(c.NumberType.get()) and not c.FloatType.get().isSubtypeOf(c.IntType.get())
    assert c.IntType.get() == c.IntType.get() and hash(c.IntType.get()) == hash(c.IntType.get())
    made = c.TensorType.get().with_sizes([2, 4])
    assert (str(made), made.str()) == ("Tensor", "Tensor(2, 4)")
    with pytest.raises(TypeError):
        c.ListType()


def test_edits():
    g = parsed()
    torch._C._jit_pass_cse(g)
    assert len(g.findAllNodes("aten::mul")) == 1
    relu = g.insertNode(g.create("aten::relu", list(g.outputs())))
    g.registerOutput(relu.output())
    g.eraseOutput(0)
    numbers = g.insertConstant([1, 2])
    assert numbers.toIValue() == [1, 2] and numbers.type().str() == "int[]"
    tensor = g.insertConstant(torch.ones(2))
    assert torch.equal(tensor.toIValue(), torch.ones(2))
    g.lint()
    torch._C._jit_pass_dce(g)
    assert not any(n.kind() == "prim::Constant" and n.kindOf("value") != "i" for n in g.nodes())
    relu.i_("axis", 3)
    assert relu.i("axis") == 3 and relu.attributeNames() == ["axis"]
    assert "value" not in str(torch._C._jit_pass_canonicalize(g, False).param_node())
    torch._C._jit_pass_erase_shape_information(g)
    assert "Float" not in str(g)


def test_removed_nodes_answer_with_an_error():
    g = parsed()
    one = g.insertConstant(1)
    node = one.node()
    node.destroy()
    for ask in (node.kind, one.debugName, node.destroy):
        with pytest.raises(RuntimeError, match="removed"):
            ask()
    with pytest.raises(RuntimeError, match="still used"):
        g.findNode("aten::add").destroy()
    with pytest.raises(TypeError):
        g.insertNode(parsed().findNode("aten::mul"))


def test_nodes_keep_the_graph_alive():
    g = parsed()
    node = g.findNode("aten::add")
    text = str(g)
    del g
    gc.collect()
    assert str(node.owningGraph()) == text and node.next().kind() == "aten::mul"
    copy = node.owningGraph().copy()
    del node
    gc.collect()
    assert str(copy) == text


def test_lint_finds_a_use_before_its_definition():
    g = parsed()
    add = g.findNode("aten::add")
    add.moveAfter(g.findNode("aten::mul"))
    with pytest.raises(RuntimeError, match="not defined before"):
        g.lint()
    with pytest.raises(RuntimeError, match="expected"):
        torch._C.parse_ir("graph(x")
