# SPDX-License-Identifier: Apache-2.0
"""Symbolic traces as PyTorch 2.5 makes them; the expected texts are what it prints for the same programs."""

import copy
import math
import operator
import pickle
import typing

import pytest

import ingot as torch
from ingot import fx, nn
from ingot.fx.annotate import annotate
from ingot.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise
from ingot.nn import functional as F  # noqa: N812


@fx.wrap
def leaf(x, y):
    return x + y + 1


def test_types_are_printed():
    def f(x: torch.Tensor, y: typing.List[int], z: typing.Optional[int] = None) -> torch.Tensor:  # noqa: UP006, UP007, UP045
        return x + y[0]

    traced = fx.symbolic_trace(f)
    assert "def forward(self, x : torch.Tensor, y : typing_List[int], z : typing_Union[int,NoneType] = None)" in (
        traced.code
    )
    assert ") -> torch.Tensor:" in traced.code
    assert "%x : torch.Tensor [num_users=1] = placeholder[target=x]" in str(traced.graph)
    again = pickle.loads(pickle.dumps(traced))
    assert again.code == traced.code == copy.deepcopy(traced).code


def test_types_can_be_removed():
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=int)
    assert x.type is int
    x.type = None
    assert str(graph) == "graph():\n    %x : [num_users=0] = placeholder[target=x]"


def test_wrapped_functions_are_marked():
    traced = fx.symbolic_trace(lambda x: leaf(x, 3))
    assert traced.code.startswith('\ntorch.fx._symbolic_trace.wrap("test_fx_tracing_leaf")\n\ndef forward(self, x):')
    assert traced(torch.ones(1)).item() == 5


def test_functions_of_math_are_recorded():
    traced = fx.symbolic_trace(lambda x: math.sqrt(x.size(0)))
    assert "math_sqrt(size)" in traced.code
    assert traced(torch.ones(4)) == 2


def test_autowrapped_functions():
    def inner(x):
        return x.attribute

    tracer = fx.Tracer(autowrap_functions=(operator.index, inner))
    graph = tracer.trace(eval("lambda x: inner(x)", {"inner": inner}))
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [inner]


def test_star_arguments():
    class Net(nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] + kwargs["k"]

    traced = fx.symbolic_trace(Net())
    assert "def forward(self, *args, **kwargs):\n    _args = args\n    _kwargs = kwargs\n" in traced.code
    assert traced(torch.ones(1), k=torch.ones(1)).item() == 2


def test_concrete_arguments_are_asserted():
    def f(x, flag=None, scale=2):
        return x * scale if flag is None else x

    traced = fx.symbolic_trace(f, concrete_args={"flag": None, "scale": 3})
    assert traced(torch.ones(1), None, 3).item() == 3
    with pytest.raises(AssertionError, match="flag has been specialized to have value None but got another value"):
        traced(torch.ones(1), 1, 3)
    with pytest.raises(AssertionError, match="scale has been specialized to have value 3 but got another value"):
        traced(torch.ones(1), None, 4)


def test_concrete_trees():
    def f(pair):
        return pair["a"] + pair["b"]

    traced = fx.symbolic_trace(f, concrete_args={"pair": {"a": fx.PH, "b": fx.PH}})
    assert traced({"a": torch.ones(1), "b": torch.ones(1)}).item() == 2


def test_parameters_are_read_where_the_program_reads_them():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):
            w = self.w
            return torch.relu(x) + w

    graph = fx.symbolic_trace(Net()).graph
    assert [n.name for n in graph.nodes] == ["x", "w", "relu", "add", "output"]


def test_constant_shapes_of_parameters():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x + self.w if self.w.shape[0] > 1 else x

    assert "getitem" not in str(fx.Tracer(param_shapes_constant=True).trace(Net()))
    with pytest.raises(fx.proxy.TraceError):
        fx.Tracer().trace(Net())


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: F.softmax(x, 1), "softmax = torch.nn.functional.softmax(x, dim = 1, _stacklevel = 3, dtype = None)"),
        (lambda x: F.relu(x), "relu = torch.nn.functional.relu(x, inplace = False)"),
        (lambda x: F.linear(x, x), "linear = torch._C._nn.linear(x, x)"),
        (lambda x: F.sigmoid(x), "sigmoid = x.sigmoid()"),
    ],
)
def test_functional_forms_are_recorded_whole(function, text):
    assert text in fx.symbolic_trace(function).code
    assert F.relu(torch.tensor([-1.0])).item() == 0  # as before, outside of traces


def test_arguments_that_no_node_takes():
    class Leaf(nn.Module):
        def forward(self, x):
            return x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf = Leaf()

        def forward(self, x):
            return self.leaf({x: 1})

    class Tracer(fx.Tracer):
        def is_leaf_module(self, m, name):
            return True

    with pytest.raises(RuntimeError, match="Keys for dictionaries used as an argument cannot contain a Node"):
        Tracer().trace(Net())
    with pytest.raises(NotImplementedError, match="argument of type"):
        fx.symbolic_trace(lambda x: torch.relu(x).foo(object()))


def test_stack_traces_and_module_stacks():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(x)

    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Net())
    call = next(n for n in graph.nodes if n.op == "call_module")
    assert "return self.relu(x)" in call.stack_trace
    assert list(call.meta["nn_module_stack"].values()) == [("relu", nn.ReLU)]
    assert tracer.node_name_to_scope["relu"] == ("relu", nn.ReLU)


def test_own_code_generator():
    class Listed(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, values){maybe_return_annotation}:\n    {', '.join(free_vars)} = values"

        def process_inputs(self, *inputs):
            (values,) = inputs
            return values

    traced = fx.symbolic_trace(lambda a, b: a + b)
    traced.graph.set_codegen(Listed())
    traced.recompile()
    assert traced.code.startswith("\n\n\ndef forward(self, values):\n    a, b = values\n    add = a + b;")
    assert traced([torch.ones(1), torch.ones(1)]).item() == 2


def test_proxyable_classes():
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, a, b):
            self.a, self.b = a, b

        def total(self):
            return self.a + self.b

    traced = fx.symbolic_trace(lambda x: Pair(x, 2).total())
    assert [n.op for n in traced.graph.nodes] == ["placeholder", "call_function", "call_method", "output"]
    assert traced(torch.ones(1)).item() == 3
    assert Pair(1, 2).total() == 3


def test_copies_of_proxies():
    tracer = fx.Tracer()
    graph = tracer.trace(lambda x: x)
    proxy = copy.deepcopy(fx.Proxy(next(iter(graph.nodes)), tracer))
    assert proxy.node.name == "x"
    assert proxy.tracer is not tracer


def test_values_can_be_annotated():
    traced = fx.symbolic_trace(lambda x: annotate(x + 1, TensorType((1, Dyn))))
    add = next(n for n in traced.graph.nodes if n.name == "add")
    assert add.type == TensorType[1, Dyn]
    assert annotate(3, int) == 3
    with pytest.raises(RuntimeError, match="already had a type"):
        fx.symbolic_trace(lambda x: annotate(annotate(x + 1, int), int))


def test_types_of_tensors():
    assert is_consistent(TensorType((1, Dyn)), TensorType((Dyn, 2)))
    assert not is_consistent(TensorType((1, 2)), TensorType((1, 3)))
    assert not is_consistent(TensorType((1,)), TensorType((1, 2)))
    assert is_more_precise(TensorType((1, 2)), TensorType((1, Dyn)))
    assert not is_more_precise(TensorType((1, Dyn)), TensorType((1, 2)))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)

    def forward(self, x):
        return self.lin(x).relu() + 1


def test_code_runs():
    """What a module prints is what it runs: transformers of code, own generators, retracing, scripting."""
    x = torch.ones(2, 3)
    gm = fx.symbolic_trace(Small())
    assert fx.symbolic_trace(gm).code == gm.code
    assert torch.equal(torch.jit.script(gm)(x), gm(x))
    with gm.graph.on_generate_code(lambda _: lambda body: ["y = 5\n", *(line.replace("+ 1", "+ y") for line in body)]):
        gm.recompile()
    assert "    y = 5\n" in gm.code
    assert torch.allclose(gm(x), Small.forward(gm, x) + 4)

    class Twice(fx.CodeGen):
        def generate_output(self, output_args):
            return f"return [{output_args}, {output_args}]"

    gm = fx.symbolic_trace(lambda x: x.neg())
    gm.graph.set_codegen(Twice())
    gm.recompile()
    assert [r.tolist() for r in gm(torch.ones(1))] == [[-1], [-1]]


def test_errors_mark_the_line(capsys):
    g = fx.Graph()
    g.output(g.call_function(torch.add, (g.call_function(torch.neg, (g.placeholder("x"),)),)))
    gm = fx.GraphModule({}, g)
    with pytest.raises(TypeError) as caught:
        gm(torch.ones(1))
    assert "While executing" not in str(caught.value)
    said = capsys.readouterr().err
    assert "Call using an FX-traced Module, line 6 of the traced Module's generated forward function:" in said
    assert "    add = torch.add(neg);  neg = None\n\n~" in said and "~~~ <--- HERE" in said


def test_operators_show_methods():
    """x + proxy is the method of Tensor, and operators of torch.ops record too."""
    def f(x):
        return torch.ones(2) + x, torch.ops.aten.relu.default(x), torch.ops.aten.cat([x, x])

    targets = [n.target for n in fx.symbolic_trace(f).graph.nodes if n.op.startswith("call_")]
    assert targets == ["add", torch.ops.aten.relu.default, torch.ops.aten.cat]


def test_lambdas_and_items_in_code():
    def f(x):
        x[0] = 3
        return abs(x)

    with pytest.raises(TypeError, match="does not support item assignment"):
        fx.symbolic_trace(f)
    g = fx.Graph()
    x = g.placeholder("x")
    double = lambda z: z * 2  # noqa: E731
    y = g.call_function(double, (x,))
    assert y.name == "_lambda_"
    g.output(g.call_function(operator.setitem, (y, 0, 1)))
    code = fx.GraphModule({}, g).code
    assert "_lambda_ = " in code and "double(x)" in code and "_lambda_[0] = 1;  setitem = _lambda_" in code


def test_concrete_trees_print_their_arguments_alone():
    gm = fx.symbolic_trace(lambda d, y: d["a"] + y, concrete_args={"d": {"a": fx.PH}})
    assert "fx_pytree.tree_flatten_spec([d, y], self._in_spec)" in gm.code
    assert gm({"a": torch.ones(1)}, 2).tolist() == [3]


def test_signatures_of_operators():
    from ingot.fx.operator_schemas import (
        check_for_mutable_operation,
        create_type_hint,
        get_signature_for_torch_op,
        normalize_function,
        normalize_module,
        type_matches,
    )

    (first, *_) = get_signature_for_torch_op(torch.relu)
    assert list(first.parameters) == ["input"] and first.return_annotation is torch.Tensor
    assert get_signature_for_torch_op(len) is None
    x = fx.Graph().placeholder("x")
    pair = normalize_function(torch.add, (x, 1), {}, (torch.Tensor, int), {}, normalize_to_only_use_kwargs=True)
    assert pair == ((), {"input": x, "other": 1, "alpha": 1})
    with pytest.raises(RuntimeError, match="the schema match was ambiguous"):
        normalize_function(torch.add, (x, x))
    assert normalize_function(F.relu, (x,)) == ((x,), {"inplace": False})
    root = nn.Sequential(nn.Linear(1, 1))
    assert normalize_module(root, "0", (x,), {}, True) == ((), {"input": x})
    with pytest.raises(RuntimeError, match="root did not have that target"):
        normalize_module(root, "7", (x,))
    with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::relu_"):
        check_for_mutable_operation(torch.relu_, (x,), {})
    check_for_mutable_operation(torch.relu, (x,), {})
    assert type_matches(typing.List[int], int) and not type_matches(int, float)  # noqa: UP006
    assert create_type_hint([int, int]) == typing.List[int]  # noqa: UP006


def test_folders(tmp_path):
    gm = fx.symbolic_trace(Small())
    gm.to_folder(tmp_path, "Made")
    text = (tmp_path / "module.py").read_text()
    assert "class Made(torch.nn.Module):" in text and "self.lin = Linear(in_features=3" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["__init__.py", "module.py", "state_dict.pt"]


def test_rewriting_tracer():
    from ingot.fx.experimental.rewriter import RewritingTracer

    class Asserts(nn.Module):
        def __init__(self):
            super().__init__()
            self.small = Small()

        def forward(self, x):
            assert x.sum() > 0, "positive"
            return self.small(x)

    m = Asserts()
    gm = fx.GraphModule(m, RewritingTracer().trace(m))
    assert torch._assert in [n.target for n in gm.graph.nodes]
    assert not gm.graph.eliminate_dead_code()  # assertions stay
    assert torch.equal(gm(torch.ones(1, 3)), m(torch.ones(1, 3)))
    with pytest.raises(AssertionError, match="positive"):
        gm(-torch.ones(1, 3))


def test_flatten_specs():
    from ingot.fx._pytree import register_pytree_flatten_spec, tree_flatten_spec
    from ingot.utils import _pytree as pytree

    spec = pytree.tree_structure({"a": [1, 2], "b": (3,)})
    assert tree_flatten_spec({"b": [6], "a": (4, 5)}, spec) == [4, 5, 6]
    with pytest.raises(RuntimeError, match="Cannot flatten pytree"):
        tree_flatten_spec({"a": [4, 5, 6], "b": (6,)}, spec, exact_structural_match=True)

    class Own:
        pass

    with pytest.raises(RuntimeError, match="does not have a flatten_fn_spec"):
        tree_flatten_spec(Own(), pytree.TreeSpec(Own, None, []))
    register_pytree_flatten_spec(Own, lambda tree, spec: [])
    assert tree_flatten_spec(Own(), pytree.TreeSpec(Own, None, [])) == []
