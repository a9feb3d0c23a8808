# SPDX-License-Identifier: Apache-2.0
"""make_fx, torch.compile with a function as backend, custom objects, strict regions."""

import pytest

import ingot as torch
from ingot import fx
from ingot._export.wrappers import _mark_strict_experimental
from ingot.fx.experimental.proxy_tensor import make_fx


def f(x, y):
    return torch.nn.functional.linear(x, y).sin() + 1


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(mode):
    x, y = torch.randn(3, 4), torch.randn(5, 4)
    gm = make_fx(f, tracing_mode=mode)(x, y)
    assert isinstance(gm, fx.GraphModule)
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["x_1", "y_1"]
    assert "linear" not in gm.code
    assert torch.allclose(gm(x, y), f(x, y))
    if mode == "symbolic":
        assert torch.allclose(gm(torch.ones(6, 4), y), f(torch.ones(6, 4), y))


def test_pre_dispatch_keeps_composites():
    assert "linear" in make_fx(f, pre_dispatch=True)(torch.ones(2, 3), torch.ones(4, 3)).code


def test_structures():
    def g(pair, k):
        return {"a": [pair[0] + k], "b": pair[1] * torch.tensor([1.0, 2.0])}

    pair = (torch.ones(2), torch.ones(2))
    gm = make_fx(g)(pair, 3)
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["pair_1", "pair_2", "k_1"]
    out = gm(pair, 3)
    assert out["a"][0].tolist() == [4, 4] and out["b"].tolist() == [1, 2]


def test_modules_and_writes():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            y = x * self.w
            y.add_(1)
            return (y,)

    m = M()
    gm = make_fx(m)(torch.ones(3))
    assert "add_" in gm.code and gm(torch.ones(3))[0].tolist() == [2, 2, 2]


def test_errors():
    with pytest.raises(AssertionError):
        make_fx(f, tracing_mode="other")
    with pytest.raises(TypeError, match="expected tensors"):
        make_fx(lambda x: x)(object())
    with pytest.raises(ZeroDivisionError):
        make_fx(lambda x: 1 / 0)(torch.ones(1))
    assert make_fx(lambda x: x + 1)(torch.ones(1))(torch.ones(1)).item() == 2


def test_compile_with_a_backend():
    seen = []

    def backend(gm, inputs):
        seen.append((gm, [tuple(t.shape) for t in inputs if isinstance(t, torch.Tensor)]))
        return gm

    @torch.compile(backend=backend)
    def g(x, k, *, y):
        return {"out": x * k + y}

    x = torch.ones(2)
    for _ in range(2):
        assert g(x, 3, y=x)["out"].tolist() == [4, 4]
    assert len(seen) == 1 and seen[0][1] == [(2,)]
    assert g(x, 4, y=x)["out"].tolist() == [5, 5] and g(torch.ones(3), 3, y=torch.ones(3))["out"].shape == (3,)
    assert len(seen) == 3 and isinstance(seen[0][0], fx.GraphModule)


def test_compile_by_name():
    m = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    for name in ("eager", "inductor"):
        assert torch.allclose(torch.compile(m, backend=name)(x), m(x))
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch.compile(m, backend="nothing")


def test_export_as_backend():
    def backend(gm, inputs):
        return torch.export.export(gm, tuple(inputs), strict=False).run_decompositions().module()

    x = torch.randn(3)
    assert torch.allclose(torch.compile(lambda a, b: a * b + 1, backend=backend)(x, x), x * x + 1)


def test_strict_region():
    @_mark_strict_experimental
    class B(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3))

        def forward(self, x):
            return x.sum() + (self.b + 6).sum()

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = B()

        def forward(self, x):
            return self.sub(x.sin()), x + 3

    m, x = M(), torch.randn(3)
    ep = torch.export.export(m, (x,), strict=False)
    assert "torch.ops.higher_order.strict_mode(strict_graph_0, (sin, b_sub_b))" in ep.graph_module.code
    assert "def forward(self, arg0_1, arg1_1):" in ep.graph_module.strict_graph_0.code
    for a, b in zip(ep.module()(x), m(x), strict=True):
        assert torch.allclose(a, b)


def test_custom_objects():
    obj = torch.classes._TorchScriptTesting._PickleTester([3, 5])
    assert torch.ops._TorchScriptTesting.take_an_instance(obj).shape == (5, 4)
    assert obj.top() == 5
    with pytest.raises(AttributeError, match="not registered"):
        torch.classes.nothing.There  # noqa: B018


def test_traces_as_make_fx_writes_them():
    def names(gm):
        return [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]

    x = torch.ones(2)
    literal = make_fx(lambda x: torch.tensor([1.0, 2.0]) + x)(x)
    assert names(literal) == ["aten.lift_fresh_copy.default", "aten.add.Tensor"]
    assert names(make_fx(lambda x: x.detach() + 1)(x)) == ["aten.detach.default"] * 2 + ["aten.add.Tensor"]
    gm = make_fx(lambda d: d["a"] + d["b"][0])({"a": x, "b": [x]})
    assert gm({"a": x, "b": [x]}).tolist() == [2, 2]
    assert [sorted(n.meta.keys() & {"val", "tensor_meta", "stack_trace"}) for n in gm.graph.nodes][-2] == [
        "tensor_meta", "val",
    ]  # fmt: skip
    assert [n.name for n in make_fx(torch.sin)(x).graph.nodes][0] == "arg0_1"


@pytest.mark.parametrize("read", [lambda x: x.sum().item(), lambda x: torch.allclose(x, x)])
def test_reads_of_real_tensors_are_refused(read):
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(read)(torch.ones(2))


def test_guards_of_a_trace():
    from ingot.fx.experimental.symbolic_shapes import eval_guards

    gm = make_fx(lambda a: a * 2 if a.shape[0] > 2 else a, tracing_mode="symbolic")(torch.ones(3, 4))
    assert eval_guards(gm, torch.ones(5, 4)) and not eval_guards(gm, torch.ones(2, 4))
    assert "s0 > 2" in gm.shape_env.format_guards()


def test_symbolic_sizes_are_shared():
    def f(x, n):
        return torch.cat([x, x]).expand(n, -1, -1) if x.ndim == 2 else x

    gm = make_fx(f, tracing_mode="symbolic")(torch.ones(3, 3), 3)
    shape = gm.graph.find_nodes(op="placeholder")[0].meta["val"].shape
    assert str(shape[0]) == str(shape[1]) == "s0"  # equal sizes are one symbol
    assert "expand.default(cat, [n_1, -1, -1])" in gm.code


def test_constants_and_results():
    layer = torch.nn.Linear(2, 2)

    def f(x):
        x.sin()
        return layer(x).max(0)[0], layer(x)

    gm = make_fx(f)(torch.ones(1, 2))
    names = [n.name for n in gm.graph.nodes]
    assert "sin" in names  # unused calls stay
    assert names.index("getitem_1") == names.index("getitem") + 1 == names.index("max_1") + 2
    assert [n.name for n in gm.graph.find_nodes(op="get_attr")] == [
        "_param_constant0", "_param_constant1", "_param_constant0_1", "_param_constant1_1"
    ]  # fmt: skip
    assert all("val" not in n.meta for n in gm.graph.find_nodes(op="get_attr"))
    assert torch.allclose(gm(torch.ones(1, 2))[1], layer(torch.ones(1, 2)))
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        make_fx(f, tracing_mode="fake")(torch.ones(1, 2))
    make_fx(f, tracing_mode="fake", _allow_non_fake_inputs=True)(torch.ones(1, 2))


def test_grad_modes_are_recorded_before_dispatch():
    def f(x):
        with torch.no_grad():
            return x + 1

    modes = [n for n in make_fx(f, pre_dispatch=True)(torch.ones(1)).graph.nodes if n.op == "call_function"]
    assert [n.args[0] for n in modes if n.target is torch._C._set_grad_enabled] == [False, True]


def test_flat_wrapper():
    from ingot.fx.experimental.proxy_tensor import wrapper_and_args_for_make_fx

    fn, flat = wrapper_and_args_for_make_fx(lambda x, k: x + k, (torch.ones(1),), {"k": torch.ones(1)})
    assert len(flat) == 2 and fn(flat).tolist() == [2]


# ---- the texts of PyTorch 2.5.1 ----


def body(fn, *args, **options):
    """The lines of the function that a trace is printed as."""
    code = make_fx(fn, **options)(*args).code
    return [line.strip() for line in code.strip().splitlines()[1:] if line.strip()]


def test_unused_values_are_cleared():
    assert body(lambda x: x.split(2)[1], torch.ones(4)) == [
        "split = torch.ops.aten.split.Tensor(x_1, 2);  x_1 = None",
        "getitem = split[0];  getitem = None",
        "getitem_1 = split[1];  split = None",
        "return getitem_1",
    ]


def test_numbers_stand_where_they_are_computed():
    def fn(x):
        unused = x.shape[0] * 7  # noqa: F841 (not part of the trace)
        return x.new_empty(x.shape[0], x.shape[1] * 2)

    assert body(fn, torch.ones(3, 4), tracing_mode="symbolic") == [
        "sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)",
        "sym_size_int_1 = torch.ops.aten.sym_size.int(x_1, 1)",
        "mul_1 = sym_size_int_1 * 2;  sym_size_int_1 = None",
        "new_empty = torch.ops.aten.new_empty.default(x_1, [sym_size_int, mul_1], pin_memory = False);  "
        "x_1 = sym_size_int = mul_1 = None",
        "return new_empty",
    ]


def test_layouts_are_read_by_operators():
    assert body(lambda x: (x.numel() + 2, x.stride(0) + 1), torch.ones(3, 4), tracing_mode="symbolic") == [
        "sym_numel_default = torch.ops.aten.sym_numel.default(x_1)",
        "add = sym_numel_default + 2;  sym_numel_default = None",
        "sym_stride_int = torch.ops.aten.sym_stride.int(x_1, 0);  x_1 = None",
        "add_1 = sym_stride_int + 1;  sym_stride_int = None",
        "return (add, add_1)",
    ]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_constants_may_be_read(mode):
    assert body(lambda x: x * (torch.tensor(2) + 1).item(), torch.ones(3), tracing_mode=mode) == [
        "_tensor_constant0 = self._tensor_constant0",
        "lift_fresh_copy = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0);  _tensor_constant0 = None",
        "add = torch.ops.aten.add.Tensor(lift_fresh_copy, 1);  lift_fresh_copy = add = None",
        "mul = torch.ops.aten.mul.Tensor(x_1, 3);  x_1 = None",
        "return mul",
    ]


def test_gradients_of_composites():
    x, w = torch.ones(3, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    gm = make_fx(lambda x, w: torch.autograd.grad((x @ w).sum(), [x, w]))(x, w)
    assert [t.shape for t in gm(x, w)] == [(3, 2), (2, 2)]
    assert gm.code.count("aten.mm.default") == 3


def test_tables_of_decompositions():
    aten = torch.ops.aten
    lines = body(lambda x: x.sin(), torch.ones(2), decomposition_table={aten.sin.default: lambda x: NotImplemented})
    assert lines[0].startswith("sin = ")  # declined
    lines = body(lambda x: x.sin(), torch.ones(2), decomposition_table={aten.sin: lambda x: x * 2})
    assert lines[0].startswith("sin = ")  # not an overload
    lines = body(lambda x: x.sin(), torch.ones(2), decomposition_table={aten.sin.default: lambda x: x * 2})
    assert lines[0].startswith("mul = ")


def test_counts_of_arguments():
    with pytest.raises(RuntimeError, match="Tracing expected 2 arguments but got 1 concrete arguments"):
        make_fx(lambda x, y=3: x + y)(torch.ones(1))


_ATEN = torch.ops.aten
_KEPT = {
    "gelu": (lambda x: torch.nn.functional.gelu(x), [_ATEN.gelu], "mul mul erf add mul"),
    "gelu, tanh": (
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"), [_ATEN.gelu],
        "mul mul mul add mul mul tanh add mul",
    ),
    "gelu, half": (
        lambda x: torch.nn.functional.gelu(x.half()), [_ATEN.gelu],
        "_to_copy _to_copy mul mul erf add mul _to_copy",
    ),
    "leaky_relu": (lambda x: torch.nn.functional.leaky_relu(x, 0.2), [_ATEN.leaky_relu], "gt mul where"),
    "hardtanh": (lambda x: torch.nn.functional.relu6(x), [_ATEN.hardtanh], "clamp"),
    "addmm": (lambda x: torch.addmm(x[0, :3], x, x.T, beta=2), [_ATEN.addmm], "select slice permute mm mul mul add"),
    "addmm, beta 0": (lambda x: torch.addmm(x, x, x.T @ x, beta=0), [_ATEN.addmm], "permute mm mm mul"),
    "embedding": (lambda x: torch.nn.functional.embedding(x.argmax(0), x), [_ATEN.embedding], "argmax index_select"),
    "_softmax": (lambda x: x.softmax(-1), [_ATEN._softmax], "amax sub exp sum div"),
    "_log_softmax": (lambda x: x.log_softmax(0), [_ATEN._log_softmax], "amax sub exp sum log sub"),
    "native_layer_norm": (
        lambda x: torch.nn.functional.layer_norm(x, (4,), x[0], x[1]), [_ATEN.native_layer_norm],
        "select select var_mean add rsqrt sub mul mul add",
    ),
    "native_group_norm": (
        lambda x: torch.nn.functional.group_norm(x[None].transpose(1, 2), 2), [_ATEN.native_group_norm],
        "unsqueeze transpose view var_mean add rsqrt sub mul view",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _KEPT)
def test_operators_that_programs_keep_have_decompositions(name):
    function, ops, expected = _KEPT[name]
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    gm = make_fx(function, decomposition_table=torch._decomp.get_decompositions(ops))(x)
    calls = [n.target for n in gm.graph.nodes if n.op == "call_function"]
    names = [t._schema.name.partition("::")[2] for t in calls if hasattr(t, "_schema")]
    assert " ".join(names) == expected
    assert torch.allclose(gm(x), function(x), atol=1e-3 if "half" in name else 1e-6)


def test_decompositions_are_called_as_the_program_calls():
    """A function of a table need not know of arguments that a call leaves out."""
    seen = []

    def twice(*args, **kwargs):
        seen.append((len(args), sorted(kwargs)))
        return torch.mul(args[0], 2)

    make_fx(lambda x: x + x, decomposition_table={_ATEN.add.Tensor: twice})(torch.ones(2))
    make_fx(lambda x: torch.add(x, x, alpha=3), decomposition_table={_ATEN.add.Tensor: twice})(torch.ones(2))
    assert seen == [(2, []), (2, ["alpha"])]
