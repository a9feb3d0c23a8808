# SPDX-License-Identifier: Apache-2.0
"""The Python front of export: Dim and dynamic_shapes, binding of arguments, state around a capture, metadata."""

import collections
import dataclasses
import io
import re
from typing import NamedTuple

import pytest

import ingot as torch
from ingot._dynamo import config, exc
from ingot.export import Dim, ShapesCollection, dims, dynamic_dim, export, export_for_training, register_dataclass
from ingot.export._trace import _export, _export_to_torch_ir
from ingot.export.dynamic_shapes import read_shapes, refine_dynamic_shapes_from_suggested_fixes


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


def placeholders(program):
    return [spec.arg.name for spec in program.graph_signature.input_specs]


# Dim


def test_dim_arithmetic():
    d = Dim("d", min=3, max=6)
    assert [str(e) for e in (2 * d, d * 2 + 1, 3 + d - 5, (d + 1) * 4, d + 1 - 1)] == [
        "2*d", "2*d + 1", "d - 2", "4*d + 4", "Dim('d', min=3, max=6)",
    ]  # fmt: skip
    derived = 2 * d + 1
    assert (derived.min, derived.max, derived.root) == (7, 13, d)
    assert [x.name for x in dims("a", "b", max=4)] == ["a", "b"]


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda d: d + 1.0, NotImplementedError, "Attempted to add 1.0 to d, where an integer was expected."),
        (lambda d: d - "1", NotImplementedError, "Attempted to subtract 1 from d, where an integer was expected."),
        (lambda d: 1 - d, NotImplementedError, "Attempted to negate d."),
        (
            lambda d: d * 0,
            NotImplementedError,
            "Attempted to multiply 0 with d, where a positive integer was expected.",
        ),
        (lambda d: (d - 9).min, AssertionError, "Expected derived min value of d - 9 to be >= 0."),
        (lambda d: Dim("2d"), AssertionError, "Dim name must be a valid identifier, got 2d"),
        (lambda d: Dim("d", min=4, max=4), AssertionError, "Cannot create Dim with inconsistent min=4, max=4"),
    ],
)
def test_dim_errors(make, error, text):
    with pytest.raises(error) as caught:
        make(Dim("d", min=2))
    assert str(caught.value).startswith(text)


def test_dynamic_dim():
    mark = 2 <= dynamic_dim(torch.ones(3, 4), 1)
    assert (mark.dim, (mark <= 8).max, mark.min) == (1, 8, 2)
    with pytest.raises(TypeError, match="truth value"):
        bool(mark)


# dynamic_shapes


def test_shapes_by_name_and_place():
    x, y = torch.ones(3, 2), [torch.ones(4)]
    d = Dim("d")
    for shapes in ({"x": {0: d}, "y": [(2 * d,)]}, ((d, None), [{0: 2 * d}])):
        found = read_shapes(Add(), (x, y), {}, shapes)
        assert found == {("x",): (("d", 0, None), None), ("y", 0): (("2*d", "d", 0, None, 2, 0),)}
    assert read_shapes(Add(), (x, y), {}, {"x": (Dim.AUTO, Dim.DYNAMIC), "y": [None]})["x",] == (True, ...)


@pytest.mark.parametrize(
    "shapes, text",
    [
        ({"x": {0: None}}, "top-level keys must be the arg names ['x', 'y'] of `inputs`, but here they are ['x']"),
        (({0: None},), "`inputs` has 2 elements, but `dynamic_shapes` has 1 elements"),
        ({"x": None, "y": {"b": None}}, "`inputs['y']` has keys ['a'], but `dynamic_shapes['y']` has keys ['b']"),
        ({"x": None, "y": [None]}, "`inputs['y']` is a <class 'dict'>, but `dynamic_shapes['y']` is a <class 'list'>"),
        ({"x": None, "y": None}, "`inputs['y']` is a <class 'dict'>, but `dynamic_shapes['y']` is not"),
        ({"x": {0: "n"}, "y": {"a": None}}, "Unexpected dimension mapped to index 0 in input tensor shape"),
        ({"x": (None, 2.5), "y": {"a": None}}, "Unexpected dimension #1 in input tensor shape"),
        ({"x": 3, "y": {"a": None}}, "Unexpected input tensor shape 3 specified at `dynamic_shapes['x']`"),
        ({"x": "d", "y": {"a": None}}, "Unexpected input tensor shape d specified at `dynamic_shapes['x']`"),
        ({"x": {2: Dim("n")}, "y": {"a": None}}, "to be in the range [0:1] but got 2"),
        (({0: Dim("n", max=4)}, {"a": {0: Dim("n", max=5)}}), "Found different definitions Dim('n', min=0, max=4) and"),
    ],
)
def test_wrong_shapes(shapes, text):
    with pytest.raises(exc.UserError) as caught:
        read_shapes(Add(), (torch.ones(2, 3), {"a": torch.ones(2)}), {}, shapes)
    assert text in str(caught.value)


class Two(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


@dataclasses.dataclass
class Fields:
    a: torch.Tensor


register_dataclass(Fields)


def test_containers_of_shapes_have_the_type_of_the_inputs():
    n = Dim("n")
    x, y = torch.ones(2), Two(torch.ones(2), torch.ones(2))
    assert read_shapes(Add(), (x, y), {}, (None, Two({0: n}, None)))["y", 0] == (("n", 0, None),)
    for shapes in ([{0: n}, None], ({0: n}, None)):
        with pytest.raises(exc.UserError, match="is a <function namedtuple .*, but `dynamic_shapes"):
            read_shapes(Add(), (x, y), {}, (None, shapes))
    with pytest.raises(exc.UserError, match="is a <class 'list'>, but `dynamic_shapes\\[1\\]` is a <class 'tuple'>"):
        read_shapes(Add(), (x, [x]), {}, (None, (None,)))


def test_shapes_of_a_class_are_a_list():
    x, y = torch.ones(2), Fields(torch.ones(2))
    assert read_shapes(Add(), (x, y), {}, (None, [(Dim("n"),)]))["y", 0] == (("n", 0, None),)
    with pytest.raises(ValueError, match="Node type mismatch; expected <class 'list'>, but got <class 'NoneType'>."):
        read_shapes(Add(), (x, y), {}, (None, None))
    with pytest.raises(ValueError, match="Node arity mismatch; expected 1, but got 2."):
        read_shapes(Add(), (x, y), {}, (None, [None, None]))


def test_a_cache_filled_during_the_export_is_not_state():
    class Cached(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = None

        def forward(self, x):
            if self.table is None:
                self.table = torch.arange(3.0)
            return x + self.table

    module = Cached()
    ep = torch.export.export(module, (torch.ones(3),), strict=False)
    assert module.table is None
    assert ep.module()(torch.ones(3)).tolist() == [1.0, 2.0, 3.0]
    module.table = torch.ones(3)
    module.forward = lambda x: setattr(module, "table", x + 1) or x
    with pytest.raises(ValueError, match="tensor attribute self.table was assigned during export"):
        torch.export.export(module, (torch.ones(3),), strict=False)


def test_a_derived_dim_computes_sizes():
    n = Dim("n", min=2, max=10)
    assert (2 * n + 1).fn(5) == 11
    assert n.fn(5) == 5


def test_a_buffer_is_loaded_where_saving_left_it():
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), buffer)
    assert torch.export.load(buffer).module()(torch.ones(1, 2)).shape == (1, 2)


def test_shape_of_a_number():
    with pytest.raises(
        exc.UserError, match="to non-tensor type <class 'int'> at `inputs\\['y'\\]` \\(expected None\\)"
    ):
        read_shapes(Add(), (torch.ones(2), 3), {}, {"x": None, "y": {0: Dim("n")}})


def test_shapes_collection():
    x, y = torch.ones(4), torch.ones(4)
    shapes = ShapesCollection()
    shapes[y] = (Dim("n"),)
    assert shapes.dynamic_shapes(Add(), (x,), {"y": y}) == {"x": None, "y": shapes[y]}
    shapes[torch.ones(1)] = {0: Dim("m")}
    with pytest.raises(ValueError, match="not found in args"):
        shapes.dynamic_shapes(Add(), (x, y))


def test_refined_shapes_export():
    class Rows(torch.nn.Module):
        def forward(self, x, y):
            return x.view(-1, 3).sum(1), y[:2] if y.shape[0] <= 7 else y

    shapes = {"x": (Dim("n", max=90),), "y": (Dim("m"),)}
    args = (torch.ones(12), torch.ones(5))
    with pytest.raises(exc.UserError, match="Constraints violated") as caught:
        export(Rows(), args, dynamic_shapes=shapes)
    module = export(
        Rows(), args, dynamic_shapes=refine_dynamic_shapes_from_suggested_fixes(str(caught.value), shapes)
    ).module()
    assert module(torch.ones(9), torch.ones(7))[0].shape == (3,)
    with pytest.raises(RuntimeError, match="shape\\[0\\]"):
        module(torch.ones(9), torch.ones(8))


# Binding


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor | None = None


register_dataclass(Pair, serialized_type_name="test_export_front.Pair")
Point = collections.namedtuple("Point", "a b")


@pytest.mark.parametrize("strict", [True, False])
def test_names_of_placeholders(strict):
    class M(torch.nn.Module):
        def forward(self, first, pair, *rest, key, **more):
            return first["k-1"][0] + pair.left + rest[0].a + rest[0].b + key + more["Late"]

    one = torch.ones(2)
    args = ({"k-1": [one]}, Pair(one), Point(one, one))
    kwargs = {"Late": one, "key": one}
    program = export(M(), args, kwargs, strict=strict)
    late = "late" if strict else "more_late"
    assert placeholders(program) == ["first_k_1_0", "pair_left", "rest_0_a", "rest_0_b", late, "key"]
    assert program.module()(*args, key=one, Late=one).tolist() == [6.0, 6.0]


def test_arguments_of_the_wrong_kind():
    with pytest.raises(exc.UserError, match="to be a tuple of example positional inputs"):
        export(Add(), [torch.ones(1)])
    with pytest.raises(ValueError, match="instance of `torch.nn.Module`"):
        export(lambda x: x, (torch.ones(1),))
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        export(Add(), (torch.ones(1),))
    with pytest.raises(ValueError, match="Unsupported input type <class 'object'>"):
        export(Add(), (torch.ones(1), object()), strict=False)
    with pytest.raises(exc.UserError, match="one of the inputs with type"):
        export(Add(), (torch.ones(1), object()))


# State


class Stateful(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.weight.note = "kept"
        self.register_buffer("count", torch.zeros(2))
        self.log = []
        self.nested = {"n": [1]}

    def forward(self, x):
        assert self.weight.note == "kept" and isinstance(self.weight, torch.nn.Parameter)
        self.count.add_(1)
        self.log.append(x)
        self.nested["n"].append(len(self.log))
        return x * self.weight + self.count


@pytest.mark.parametrize("strict", [True, False])
def test_module_is_as_before(strict):
    m = Stateful()
    weight, count, log, inner = m.weight, m.count, m.log, m.nested["n"]
    try:
        export(m, (torch.ones(2),), strict=strict)
    except ValueError as error:  # a tensor in a list is an attribute that was assigned
        assert not strict or "self.log[0]" in str(error)
    assert m.weight is weight and m.count is count and m.log is log and m.nested["n"] is inner
    assert log == [] and inner == [1] and count.tolist() == [0.0, 0.0]


def test_buffers_may_be_written_by_assignments_in_place() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += x.sum()
            return x + self.count

    for strict in (True, False):
        program = torch.export.export(Counter(), (torch.ones(2),), strict=strict)
        assert program.graph_signature.buffers_to_mutate == {"add": "count"}
        assert program.module()(torch.ones(2)).tolist() == [3, 3]


def test_assigned_buffer_is_a_mutation():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x):
            self.mean = self.mean * 0.5 + x
            return self.mean - x

    program = export(M(), (torch.ones(2),), strict=False)
    assert dict(program.graph_signature.buffers_to_mutate) == {"add": "mean"}
    module, eager = program.module(), M()
    for _ in range(3):
        x = torch.rand(2)
        assert torch.equal(module(x), eager(x)) and torch.equal(module.mean, eager.mean)
    with pytest.raises(AssertionError, match="Mutating module attribute mean during export"):
        export(M(), (torch.ones(2),))


def test_shared_weights_and_constants():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight
            self.c = torch.full((2,), 3.0)
            self.unread = torch.ones(1)

        def forward(self, x):
            return self.b(self.a(x)) + self.c + torch.tensor(1.0)

    program = export(M(), (torch.ones(1, 2),), strict=False)
    assert placeholders(program) == ["p_a_weight", "p_b_weight", "c_c", "c_lifted_tensor_0", "x"]
    assert list(program.constants) == ["c", "lifted_tensor_0"]
    assert list(program.state_dict) == ["a.weight", "b.weight"]
    flat = _export_to_torch_ir(M(), (torch.ones(1, 2),))
    assert {"a_weight", "b_weight"} <= set(flat.state_dict())


# Metadata


class Leaf(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.relu(x.mul(2) + 1)[0]


class Tree(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf = Leaf()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.leaf(self.fc(x))


def test_metadata():
    nodes = {n.name: n.meta for n in export(Tree(), (torch.ones(1, 2),), strict=False).graph.nodes}
    assert nodes["mul"]["torch_fn"] == ("mul_1", "method_descriptor.mul")
    assert nodes["add"]["torch_fn"] == ("add_1", "method_descriptor.add")
    assert nodes["relu"]["torch_fn"] == ("relu_1", "function.relu")
    assert nodes["select"]["torch_fn"] == ("__getitem___1", "wrapper_descriptor.__getitem__")
    assert nodes["linear"]["torch_fn"] == ("linear_1", "builtin_function_or_method.linear")
    stack = nodes["mul"]["nn_module_stack"]
    assert list(stack) == ["L__self__", "L__self__leaf"] and stack["L__self__leaf"] == ("leaf", f"{__name__}.Leaf")
    assert list(nodes["linear"]["nn_module_stack"].values())[1] == ("fc", "torch.nn.modules.linear.Linear")
    trace = nodes["relu"]["stack_trace"]
    assert trace.count("File") == 2 and "in forward\n    return self.leaf(self.fc(x))" in trace
    assert trace.rstrip().endswith("return torch.nn.functional.relu(x.mul(2) + 1)[0]")
    assert "source_fn_stack" not in nodes["mul"]


def test_strict_metadata():
    program = export(Tree(), (torch.ones(1, 2),))
    nodes = {n.name: n.meta for n in program.graph.nodes}
    names = {k: [(a, b if isinstance(b, str) else b.__name__) for a, b in nodes[k]["source_fn_stack"]]
             for k in ("linear", "mul", "p_fc_weight")}  # fmt: skip
    assert names == {
        "linear": [("l__self___fc", "Linear")], "mul": [("mul", "mul")], "p_fc_weight": [("l__self___fc", "Linear")],
    }  # fmt: skip
    assert program.graph_module.meta["input_shape_constraints"] == []


def test_grad_modes_of_training_programs():
    class M(torch.nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x + 1
            with torch.set_grad_enabled(True):
                return y * 2

    code = export_for_training(M(), (torch.ones(1),)).graph_module.code
    switches = [line.split("_set_grad_enabled(")[1][:5].strip(");") for line in code.splitlines() if "torch._C" in line]
    assert switches == ["False", "True"]
    assert torch.is_grad_enabled()


# Switches


def test_is_compiling():
    class M(torch.nn.Module):
        def forward(self, x):
            return x * 2 if torch.compiler.is_compiling() and torch._utils.is_compiling() else x

    assert M()(torch.ones(1)).item() == 1.0 and export(M(), (torch.ones(1),)).module()(torch.ones(1)).item() == 2.0


def test_config_patch():
    with config.patch(do_not_emit_runtime_asserts=True):
        assert config.do_not_emit_runtime_asserts
    assert not config.do_not_emit_runtime_asserts
    with pytest.raises(AttributeError, match="no setting 'nope'"):
        config.patch(nope=1)


def test_user_errors_in_strict_mode():
    class M(torch.nn.Module):
        def forward(self, x):
            raise KeyError("mine")

    with pytest.raises(exc.Unsupported, match="Observed exception\n\nfrom user code:\n   File") as caught:
        export(M(), (torch.ones(1),))
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(KeyError, match="mine"):
        export(M(), (torch.ones(1),), strict=False)
    assert not torch._C.capture_is_open()


def test_calls_give_way_to_inputs_at_the_end():
    class Model(torch.nn.Module):
        def forward(self, mul, add_1):
            y = mul * 2 + add_1
            with torch.no_grad():
                z = y * y
            return z + 1

    ep = export(Model(), (torch.ones(2), torch.ones(2)))
    names = [n.name for n in ep.graph.nodes if n.op == "call_function"]
    assert names == ["mul_1", "add", "mul_2", "add_2"]
    inner = [n.name for n in ep.graph_module.submod_1.graph.nodes]
    assert inner == ["add", "mul_1", "output"]  # the sub-graph has its own names


def test_names_are_in_small_letters():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.Weight = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("Mean", torch.ones(2))

        def forward(self, X):
            return X["A"] * self.Weight + self.Mean

    ep = export(Model(), ({"A": torch.ones(2)},))
    assert [s.arg.name for s in ep.graph_signature.input_specs] == ["p_weight", "b_mean", "x_a"]
    assert list(ep.state_dict) == ["Weight", "Mean"]


@pytest.mark.parametrize(
    ("strict", "names"),
    [
        (True, ["c___table_0", "c___table_1", "c_plain"]),
        (False, ["c_lifted_tensor_0", "c_lifted_tensor_1", "c_plain"]),
    ],
)
def test_tensors_in_containers(strict, names):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = [torch.ones(2), torch.full((2,), 3.0)]
            self.plain = torch.zeros(2)

        def forward(self, x):
            return x + self.table[0] * self.table[1] + self.plain

    model = Model()
    ep = export(model, (torch.ones(2),), strict=strict)
    assert [s.arg.name for s in ep.graph_signature.input_specs[:-1]] == names
    torch.testing.assert_close(ep.module()(torch.ones(2)), model(torch.ones(2)))


def test_assertions_stand_where_the_data_is_read():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            def some(x, y):
                n = x.max().item()
                torch._check_is_size(n)
                torch._check(n <= 4)
                return y + torch.ones(n).sum()

            return torch.cond(x.sum() > 0, some, lambda x, y: y - 1, [x, y])

    old = torch._dynamo.config.do_not_emit_runtime_asserts
    torch._dynamo.config.do_not_emit_runtime_asserts = False
    try:
        ep = export(Model(), (torch.tensor([1, 2]), torch.ones(3)), strict=False)
    finally:
        torch._dynamo.config.do_not_emit_runtime_asserts = old
    inner = [str(n.target) for n in ep.graph_module.true_graph_0.graph.nodes]
    assert "aten.sym_constrain_range.default" in inner
    assert not any("assert" in str(n.target) or "constrain" in str(n.target) for n in ep.graph.nodes)
    module = ep.module()
    torch.testing.assert_close(module(torch.tensor([1, 3]), torch.ones(3)), torch.full((3,), 4.0))
    with pytest.raises(RuntimeError, match=r"Invalid value range for 6 between \[0, 4\]"):
        module(torch.tensor([1, 6]), torch.ones(3))
    module(torch.tensor([-9, 6]), torch.ones(3))  # the other branch reads nothing


# What metadata, signatures and messages call things


class _Odd(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [torch.ones(2), {"deep": torch.zeros(2)}]

    def forward(self, x):
        a, b = x.double().split([1, 1])
        y = torch.nn.functional.silu(torch.nn.functional.silu(a)) + b
        return torch.sigmoid(y) + self.parts[0] - self.parts[1]["deep"]


@pytest.mark.parametrize("strict", [True, False])
def test_functions_inside_of_functions_do_not_count(strict):
    program = export(_Odd(), (torch.ones(2),), strict=strict)
    meta = {n.name: n.meta for n in program.graph.nodes}
    assert meta["split_with_sizes"]["torch_fn"] == ("split_1", "function.split")
    assert meta["_to_copy"]["torch_fn"] == ("to_1", "method_descriptor.to")
    assert meta["silu_1"]["torch_fn"] == ("silu_2", "function.silu")
    assert meta["sigmoid"]["torch_fn"] == ("sigmoid_1", "builtin_function_or_method.sigmoid")
    if strict:
        assert [meta[n]["source_fn_stack"][0][0] for n in ("silu", "silu_1")] == ["silu", "silu_1"]
        assert meta["_to_copy"]["source_fn_stack"][0][0] == "double"
    training = export_for_training(_Odd(), (torch.ones(2),), strict=strict)
    assert next(n for n in training.graph.nodes if n.name == "to").meta["torch_fn"][0] == "double_1"


def test_tensors_inside_of_containers():
    program = export(_Odd(), (torch.ones(2),), strict=True)
    assert list(program.constants) == ["self___parts_0", "self___parts_1__deep__"]
    specs = program.graph_signature.input_specs
    assert specs[0].arg.name == "c___parts_0" and specs[0].persistent is True
    assert [s.persistent for s in export(_Odd(), (torch.ones(2),), strict=False).graph_signature.input_specs][0] is None


def test_sizes_among_the_outputs_are_no_tensors():
    class M(torch.nn.Module):
        def forward(self, x):
            return x.shape[0] * 2, x.shape[0] / 2, x

    program = export(M(), (torch.ones(3),), dynamic_shapes={"x": {0: Dim("b")}})
    kinds = [type(s.arg).__name__ for s in program.graph_signature.output_specs]
    assert kinds == ["SymIntArgument", "SymFloatArgument", "TensorArgument"]


def test_messages_about_keywords_and_kinds():
    class M(torch.nn.Module):
        def forward(self, x, *, mask):
            return x * mask["m"]

    dim = Dim("b")
    shapes = {"x": {0: dim}, "mask": {"m": {0: dim}}}
    module = export(M(), (torch.ones(3),), {"mask": {"m": torch.ones(3)}}, dynamic_shapes=shapes).module()
    with pytest.raises(RuntimeError, match=r"Expected input at 'mask'\['m'\].shape\[0\] to be equal to 4, but got 3"):
        module(torch.ones(4), mask={"m": torch.ones(3)})
    with pytest.raises(RuntimeError, match="to be a tensor, but got <class 'float'>"):
        module(2.0, mask={"m": torch.ones(3)})


def test_literals_below_autograd_are_not_detached():
    class M(torch.nn.Module):
        def forward(self, x):
            return x + torch.tensor(1.0)

    before, after = (_export(M(), (torch.ones(2),), pre_dispatch=p).graph_module.code for p in (True, False))
    assert "detach" in before and "detach" not in after
    assert "detach" not in export_for_training(M(), (torch.ones(2),)).run_decompositions({}).graph_module.code


def test_chunks_keep_the_dimension_as_it_was_given():
    class M(torch.nn.Module):
        def forward(self, x):
            return x.chunk(2, -1)

    assert "split.Tensor(x, 2, -1)" in export(M(), (torch.ones(3, 4),)).graph_module.code


def test_sizes_that_depend_on_data_are_checked_once():
    class M(torch.nn.Module):
        def forward(self, x):
            return torch.masked_select(x, x > 0).sum()

    loose = export(M(), (torch.ones(3),), strict=False)
    assert "assert" not in loose.graph_module.code
    program = export(M(), (torch.ones(3),), strict=True)
    text = "masked_select.shape[0] is outside of inline constraint [0, 3]."
    for step in (program, program.run_decompositions(), export(program.module(), (torch.ones(3),), strict=True)):
        calls = [n for n in step.graph.nodes if n.op == "call_function" and "_assert_async" in str(n.target)]
        assert [n.args[1] for n in calls] == [text, text]
        assert step.module()(torch.tensor([1.0, -1.0, 2.0])).item() == 3
    size = next(n for n in program.graph.nodes if n.name == "sym_size_int")
    assert size.meta["torch_fn"] == ("sym_size.int_0", "OpOverload.sym_size.int")
    upper = [n for n in program.graph.nodes if n.name == "le"]
    upper[0].args = (upper[0].args[0], 1)  # as if the data had more than the capture knew
    program.graph_module.recompile()
    with pytest.raises(RuntimeError, match="is outside of inline constraint"):
        program.module()(torch.ones(3))


def test_symbols_of_further_traces_have_ranges():
    class M(torch.nn.Module):
        def forward(self, n):
            k = n.item()
            torch._check_is_size(k)
            torch._check(k <= 7)
            return torch.zeros(k)

    def names(program):
        return [str(symbol) for symbol in program.range_constraints]

    args = (torch.tensor(3),)
    program = export(M(), args, strict=True)
    assert names(program) == ["u0", "u1", "u2"]
    assert len({str(r) for r in program.range_constraints.values()}) == 1
    assert names(export_for_training(M(), args, strict=True)) == ["u0", "u1"]
    assert names(export(M(), args, strict=False)) == ["u0", "u1"]
    of_input = export(module_of_nonzero(lambda x: x), (torch.ones(3),), strict=True)
    assert names(of_input) == ["u0", "u1", "u2"]
    of_result = export(module_of_nonzero(torch.cos), (torch.ones(3),), strict=True)
    assert names(of_result) == ["u0", "u1", "u2", "u3"]


def module_of_nonzero(function):
    class M(torch.nn.Module):
        def forward(self, x):
            return function(x).nonzero().sum()

    return M()


def test_symbols_of_numbers_that_nothing_reads_are_not_made_again():
    class M(torch.nn.Module):
        def forward(self, x):
            first, second = x.tolist()
            return torch.ones(3) * second

    program = export(M(), (torch.tensor([1, 2]),), strict=True)
    assert [str(symbol) for symbol in program.range_constraints] == ["u0", "u1", "u2", "u3", "u4"]


def test_state_goes_as_in_the_module():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("own", torch.zeros(2))
            self.register_buffer("passing", torch.zeros(2), persistent=False)
            self.norm = torch.nn.BatchNorm1d(2)
            self.fc = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.fc(self.norm(x + self.own + self.passing))

    model = M().eval()
    for strict in (True, False):
        program = export(model, (torch.ones(3, 2),), strict=strict)
        assert list(program.state_dict) == list(model.state_dict())
        assert list(program.run_decompositions().state_dict) == list(model.state_dict())
        assert placeholders(program)[:4] == ["p_norm_weight", "p_norm_bias", "p_fc_weight", "p_fc_bias"]


@pytest.mark.parametrize("level", ["inference", "training"])
def test_products_of_sizes_stand_where_the_releases_have_them(level):
    """2.4 computes a product when it is first read, 2.5 when the formula asks for it."""
    dim = Dim("b", max=9)
    args = (torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 4))
    shapes = {"x": {0: dim}, "y": {0: dim}}

    class Product(torch.nn.Module):
        def forward(self, x, y):
            return x @ y

    how = export if level == "inference" else export_for_training
    program = how(Product(), args, dynamic_shapes=shapes).run_decompositions()
    lines = [line.split(" = ")[0].strip() for line in program.graph_module.code.splitlines()]
    assert (lines.index("mul") < lines.index("expand")) == (level == "training")
    assert lines.index("mul") < lines.index("view")
    assert re.search(r"mul = sym_size_int\w* \* 3", program.graph_module.code)
    more = (torch.randn(5, 3, 4, 4), torch.randn(5, 3, 4, 4))
    assert torch.allclose(program.module()(*more), more[0] @ more[1], atol=1e-6)


@pytest.mark.parametrize(("batch", "dim"), [(1, 1), (3, 0)])
def test_last_states_of_an_lstm_lose_their_time(batch, dim):
    model = torch.nn.LSTM(2, 4).eval()
    x = torch.randn(5, batch, 2)
    program = _export(model, (x,), strict=False, pre_dispatch=False)
    squeezed = [n.args[1] for n in program.graph.nodes if "squeeze.dim" in str(n.target) and "unsqueeze" not in n.name]
    assert squeezed == [dim, dim]
    out, (h, c) = program.module()(x)
    want, (wanted_h, wanted_c) = model(x)
    assert torch.allclose(out, want, atol=1e-6) and h.shape == wanted_h.shape
    assert torch.allclose(h, wanted_h, atol=1e-6) and torch.allclose(c, wanted_c, atol=1e-6)


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(2, 2)
        self.two = self.one
        self.seq = torch.nn.Sequential(self.one, torch.nn.Tanh())

    def forward(self, x):
        return self.two(self.one(x)) + self.seq(x)


def test_a_strict_capture_shows_the_name_that_was_read_first():
    program = torch.export.export(Shared(), (torch.ones(1, 2),), strict=True)
    assert [(s.arg.name, s.target) for s in program.graph_signature.input_specs][:2] == [
        ("p_two_weight", "seq.0.weight"), ("p_two_bias", "seq.0.bias"),
    ]  # fmt: skip
    calls = [n for n in program.graph.nodes if n.name.startswith("linear")]
    stacks = [[(k, v[0]) for k, v in n.meta["nn_module_stack"].items()] for n in calls]
    assert stacks == [
        [("L__self__", ""), ("L__self___two", "one")],
        [("L__self__", ""), ("L__self___two", "two")],
        [("L__self__", ""), ("L__self___seq", "seq"), ("L__self___two", "seq.0")],
    ]
    assert [n.meta["source_fn_stack"][0][0] for n in calls] == ["l__self___two", "l__self___two_1", "l__self___two_2"]
    assert torch.equal(program.module()(torch.ones(1, 2)), program.run_decompositions().module()(torch.ones(1, 2)))


@pytest.mark.parametrize("strict", [False, True])
def test_a_strict_capture_calls_attributes_persistent(strict):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.tensor([3.0, 4.0])

        def forward(self, x):
            return x * self.plain + torch.tensor([1.0, 2.0])

    specs = torch.export.export(Net(), (torch.ones(2),), strict=strict).graph_signature.input_specs
    found = {s.target: s.persistent for s in specs if s.kind.name == "CONSTANT_TENSOR"}
    assert found == {"plain": True if strict else None, "lifted_tensor_0": None}


def torch_fns(module, *args, strict=False):
    nodes = torch.export.export(module, args, strict=strict).graph.nodes
    return [(n.name, *n.meta["torch_fn"]) for n in nodes if n.op == "call_function"]


def test_calls_inside_a_python_function_do_not_count():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = torch.nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            return self.mha(x, x, x, need_weights=False)[0].transpose(0, 1)

    found = torch_fns(Net(), torch.ones(2, 3, 4))
    inner = {fn for name, _, fn in found[1:-2]}
    assert inner == {"function.multi_head_attention_forward"}
    assert [number for _, number, fn in found if fn == "method_descriptor.transpose"] == [
        "transpose_1", "transpose_2", "transpose_3",
    ]  # fmt: skip


def test_functions_are_what_pytorch_calls():
    class Net(torch.nn.Module):
        def forward(self, x):
            a, b = x.split([1, 1])
            return torch.nn.Tanh()(a), b.double(), x.to(torch.float64)

    assert torch_fns(Net(), torch.ones(2)) == [
        ("split_with_sizes", "split_1", "function.split"),
        ("getitem", "split_1", "function.split"),
        ("getitem_1", "split_1", "function.split"),
        ("tanh", "tanh_1", "builtin_function_or_method.tanh"),
        ("_to_copy", "to_1", "method_descriptor.to"),
        ("_to_copy_1", "to_2", "method_descriptor.to"),
    ]


def test_regions_of_several_results_are_calls_of_their_own():
    class Net(torch.nn.Module):
        def forward(self, x):
            with torch.no_grad():
                a = x + 1
                b = a.exp()
            return a * b

    found = torch_fns(Net(), torch.ones(2))
    wrap = "wrap_with_set_grad_enabled"
    assert found[:3] == [
        (wrap, wrap, f"WrapWithSetGradEnabled.{wrap}"),
        ("add", "add_1", "method_descriptor.add"),
        ("exp", "exp_1", "method_descriptor.exp"),
    ]  # fmt: skip


# Values that the program makes from literals


@pytest.mark.parametrize("strict", [True, False])
def test_elements_of_literals_are_numbers(strict):
    class Literals(torch.nn.Module):
        def forward(self, x):
            s = torch.tensor(3)
            if s * 2 > 5:
                x = x[5 - s : 5 + s]
            return x.view(s, -1), torch.zeros(s), x[int(s) - 1], x + (s + 1).item()

    x = torch.arange(20.0)
    ep = export(Literals(), (x,), strict=strict)
    assert placeholders(ep) == ["x"]
    for found, expected in zip(ep.module()(x), Literals()(x)):
        assert torch.equal(found, expected)


def test_a_literal_that_was_written_is_not_known():
    class Written(torch.nn.Module):
        def forward(self, x):
            s = torch.tensor(3)
            s.add_(x.sum().to(torch.int64))
            return torch.zeros(s.item())

    ep = export(Written(), (torch.ones(2),), strict=False)
    assert ep.module()(torch.ones(2)).shape == (5,)
    assert ep.module()(torch.zeros(2)).shape == (3,)


@pytest.mark.parametrize("strict", [True, False])
def test_inplace_dropout(strict):
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5, inplace=True))
    ep = export(module.eval(), (torch.ones(2, 3),), strict=strict)
    assert [n.name for n in ep.graph.nodes if n.op == "call_function"] == ["linear"]
    ep = export(module.train(), (torch.ones(2, 3),), strict=strict)
    names = [n.name for n in ep.graph.nodes if n.op == "call_function"]
    assert names == ["linear", "empty_like", "bernoulli", "div", "mul"]


def test_who_captures():
    class Ask(torch.nn.Module):
        def forward(self, x):
            strict = torch.compiler.is_dynamo_compiling()
            return x + (1 if torch.compiler.is_compiling() else 2) + (10 if strict else 20)

    x = torch.zeros(1)
    assert torch.export.export(Ask(), (x,), strict=True).module()(x).item() == 11
    assert torch.export.export(Ask(), (x,), strict=False).module()(x).item() == 21


def test_scripts_are_not_exported():
    class Plain(torch.nn.Module):
        def forward(self, x):
            return x + 1

    x = torch.ones(2)
    for made in (torch.jit.script(Plain()), torch.jit.trace(Plain(), (x,))):
        for function in (torch.export.export, torch.export.export_for_training):
            with pytest.raises(ValueError, match="Exporting a ScriptModule is not supported"):
                function(made, (x,))


def test_signatures_of_modules_that_do_not_exist():
    class Plain(torch.nn.Module):
        def forward(self, x):
            return x + 1

    for strict, path in ((True, "gone"), (False, "_export_root.gone")):
        with pytest.raises(RuntimeError, match=f"Couldn't find submodule at path {path}"):
            torch.export.export(Plain(), (torch.ones(2),), strict=strict, preserve_module_call_signature=("gone",))


def test_automatic_and_declared_sizes_are_not_mixed_in_2_5():
    class Add(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    from ingot.export import Dim

    examples = (torch.ones(4), torch.ones(4))
    shapes = {"x": {0: Dim.AUTO}, "y": {0: Dim("n")}}
    with pytest.raises(torch._dynamo.exc.UserError, match="Specifying both `Dim.AUTO` and `Dim` or `DerivedDim`"):
        torch.export.export(Add(), examples, dynamic_shapes=shapes)
    with torch.set_compat("2.13"):
        assert torch.export.export(Add(), examples, dynamic_shapes=shapes).module()(*examples).tolist() == [2] * 4
    wrong = {"x": {0: "n"}, "y": None}
    with pytest.raises(torch._dynamo.exc.UserError, match="an int, a Dim, Dim.AUTO, or Dim.STATIC, but got n"):
        torch.export.export(Add(), examples, dynamic_shapes=wrong)
    refine = torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes
    with pytest.raises(torch._dynamo.exc.UserError, match="Suggested fixes not found in error message"):
        refine("nothing", shapes)
