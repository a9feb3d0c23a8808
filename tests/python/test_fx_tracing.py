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
