# SPDX-License-Identifier: Apache-2.0
"""What programs keep of the modules that they come from: signatures of calls, tied weights, metadata of nodes."""

import pytest

import ingot as torch
from ingot import nn
from ingot.export._trace import _export

# ---- signatures of modules that are kept ----


class _Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, a, d, *, k=None):
        return {"p": self.lin(a) + d["x"], "q": (a * k if k is not None else a,)}


class _Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = _Part()
        self.rest = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x, y):
        r = self.part(x + 1, {"x": y}, k=x)
        return self.rest(r["p"]) + r["q"][0]


@pytest.mark.parametrize("strict", (True, False))
@pytest.mark.parametrize("export", (torch.export.export, torch.export.export_for_training))
def test_kept_signatures(export, strict):
    model, args = _Whole(), (torch.randn(3, 2), torch.randn(3, 2))
    ep = export(model, args, strict=strict, preserve_module_call_signature=("part", "rest.0"))
    kept = {e.fqn: e.signature for e in ep.module_call_graph if e.signature is not None}
    assert list(kept) == ["", "part", "rest.0"]
    assert [a.name for a in kept["part"].inputs] == ["add", "y", "x"]
    assert [a.name for a in kept["part"].outputs] == ["add_1", "mul"]
    assert kept["rest.0"].out_spec.is_leaf()
    assert str(ep.graph) == str(export(model, args, strict=strict).graph)


def test_unflattened_modules_are_called_by_their_signatures(tmp_path):
    model, args = _Whole(), (torch.randn(3, 2), torch.randn(3, 2))
    ep = torch.export.export(model, args, preserve_module_call_signature=("part", "rest.0"))
    torch.export.save(ep, tmp_path / "kept.pt2")
    for program in (ep, torch.export.load(tmp_path / "kept.pt2")):
        tree = torch.export.unflatten(program)
        assert torch.equal(tree(*args), model(*args))
        given = args[0], {"x": args[1]}
        found, expected = tree.part(*given, k=args[0]), model.part(*given, k=args[0])
        assert list(found) == ["p", "q"] and isinstance(found["q"], tuple)
        assert torch.equal(found["p"], expected["p"]) and torch.equal(found["q"][0], expected["q"][0])
        assert str(tree.part.graph).splitlines()[1:6] == [
            "    %_positional_arg_0 : [num_users=1] = placeholder[target=_positional_arg_0]",
            "    %_positional_arg_1 : [num_users=1] = placeholder[target=_positional_arg_1]",
            "    %k : [num_users=1] = placeholder[target=k]",
            "    %_spec_0 : [num_users=1] = get_attr[target=_spec_0]",
            "    %tree_flatten_spec : [num_users=3] = call_function[target=torch.fx._pytree.tree_flatten_spec]"
            "(args = (((%_positional_arg_0, %_positional_arg_1), {k: %k}), %_spec_0), kwargs = {})",
        ]
        other = _Part()
        tree.part = other
        model_with_other = _Whole()
        model_with_other.load_state_dict(model.state_dict())
        model_with_other.part = other
        assert torch.equal(tree(*args), model_with_other(*args))


def test_a_signature_with_sizes():
    class Sized(nn.Module):
        def forward(self, x, n):
            return x * n, n

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.sized = Sized()

        def forward(self, x):
            y, n = self.sized(x, x.shape[0])
            return y + n

    x = torch.randn(4, 2)
    for export in (torch.export.export, torch.export.export_for_training):
        dims = {"x": {0: torch.export.Dim("n", min=2, max=9)}}
        ep = export(Outer(), (x,), dynamic_shapes=dims, preserve_module_call_signature=("sized",))
        assert type(ep.module_call_graph[1].signature.inputs[1]).__name__ == "SymIntArgument"
        more = torch.randn(7, 2)
        assert torch.equal(torch.export.unflatten(ep)(more), Outer()(more))


# ---- tied weights ----


class _Tied(nn.Module):
    def __init__(self, reads):
        super().__init__()
        self.emb = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.emb.weight
        self.reads = reads

    def forward(self, i):
        out = self.emb(i) if "e" in self.reads else i
        return self.head(out) if "h" in self.reads else out


@pytest.mark.parametrize("reads", ("eh", "e", ""))
@pytest.mark.parametrize("export", (torch.export.export, torch.export.export_for_training))
def test_tied_weights_stay_tied(export, reads, tmp_path):
    args = (torch.tensor([1, 3]),)
    ep = export(_Tied(reads), args, strict=False)
    torch.export.save(ep, tmp_path / "tied.pt2")
    for program in (ep, ep.run_decompositions(), torch.export.load(tmp_path / "tied.pt2")):
        module = program.module()
        assert module.emb.weight is module.head.weight
        assert program.state_dict["emb.weight"] is program.state_dict["head.weight"]


def test_training_programs_read_the_last_name_of_a_weight():
    ep = torch.export.export_for_training(_Tied("eh"), (torch.tensor([1, 3]),), strict=False)
    users = {n.name: len(n.users) for n in ep.graph.nodes if n.op == "placeholder"}
    assert users == {"p_emb_weight": 0, "p_head_weight": 2, "i": 1}


# ---- training programs read sizes first ----


@pytest.mark.parametrize("strict", (True, False))
def test_training_programs_read_sizes_first(strict):
    class Sizes(nn.Module):
        def forward(self, x, y):
            return torch.ones(x.shape[0]) * y.shape[1], x.shape[0], y.shape[1] + 1

    dims = ({0: torch.export.Dim("n", min=3, max=64)}, {0: torch.export.Dim("q"), 1: torch.export.Dim("m")})
    args = (torch.ones(4, 2), torch.ones(3, 5))
    ep = torch.export.export_for_training(Sizes(), args, dynamic_shapes=dims, strict=strict)
    names = [n.name for n in ep.graph.nodes]
    # two readers before, three symbols of which one is not asked for
    assert names == ["x", "y", "sym_size_int_2", "sym_size_int_4", "ones", "mul", "add", "output"]
    assert ep.graph_signature.user_outputs == ("mul", "sym_size_int_2", "add")
    first = next(n for n in ep.graph.nodes if n.name == "sym_size_int_2").meta
    assert list(first["nn_module_stack"]) == ["_empty_nn_module_stack_from_metadata_hook"]
    assert first["torch_fn"] == ("sym_size.int_0", "OpOverload.sym_size.int") and "source_fn_stack" not in first
    found = ep.module()(torch.ones(6, 2), torch.ones(3, 7))
    assert torch.equal(found[0], torch.full((6,), 7.0)) and found[1:] == (6, 8)


# ---- names of functions in metadata ----

# expression of x, y (floats), b (bools), i (integers): torch_fn, what a strict capture calls the source
FUNCTIONS = {
    "1 - x": ("function.__rsub__", "sub", "sub"),
    "x // 2": ("function.__floordiv__", "floordiv", "floordiv"),
    "2 / x": ("function.__rdiv__", "truediv", "truediv"),
    "x ** 2": ("function.pow", "pow_1", "pow"),
    "2 ** x": ("function.__rpow__", "pow_1", "pow"),
    "x % 3": ("method_descriptor.remainder", "mod", "mod"),
    "~b": ("method_descriptor.__invert__", "invert", "invert"),
    "b & b": ("method_descriptor.__and__", "and_", "and_"),
    "b | b": ("method_descriptor.__or__", "or_", "or_"),
    "x == 1": ("method_descriptor.__eq__", "eq", "eq"),
    "abs(x)": ("method_descriptor.abs", "abs_1", "__abs__"),
    "x.T": ("method-wrapper.__get__", "getattr_1", "getattr"),
    "x.unflatten(0, (2, 2))": ("function.unflatten", "unflatten", "unflatten"),
    "x.new_tensor([1.0])": ("method_descriptor.new_tensor", "new_tensor", "new_tensor"),
    "nn.functional.tanh(x)": ("method_descriptor.tanh", "tanh", "tanh"),
    "torch.ops.aten.add.Tensor(x, y)": ("OpOverload.add.Tensor", "add_tensor", "add.Tensor"),
}


def _captured(body, strict=True, dynamic_shapes=None):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    scope = {}
    exec(f"def forward(self, x, y, b, i):\n{lines}", {"torch": torch, "nn": nn}, scope)
    model = type("Written", (nn.Module,), scope)()
    x = torch.arange(16.0).view(4, 4)
    args = x, x + 1, x > 2, torch.tensor([0, 1, 2, 3])
    return _export(model, args, dynamic_shapes=dynamic_shapes, pre_dispatch=True, strict=strict)


@pytest.mark.parametrize("expression", FUNCTIONS)
@pytest.mark.parametrize("strict", (True, False))
def test_functions_in_metadata(expression, strict):
    fn, name, source = FUNCTIONS[expression]
    ep = _captured(f"return {expression}", strict)
    node = next(n for n in ep.graph.nodes if n.op == "call_function")
    short = fn.partition(".")[2]
    assert node.meta["torch_fn"] == (f"{short}_1", fn)
    sources = node.meta.get("source_fn_stack")
    assert sources == [(name, source)] if strict else sources is None


# body: what a strict capture calls the sources of the nodes
SOURCES = {
    "p, q = x.chunk(2)\nreturn p[0] + q[1]": ["chunk", "chunk", "chunk", "getitem_2", "getitem_3", "add"],
    "return x.max(0)[0][0]": ["max_1", "max_1", "getitem_2"],
    "for r in x:\n    y = y + r\nreturn y": ["getitem", "getitem_1", "getitem_2", "getitem_3"]
    + ["add", "add_1", "add_2", "add_3"],
    "mul = x + 1\nreturn mul * 2 * 3": ["add", "mul_1", "mul_2"],
    "add_1 = x + 1\nreturn add_1 + 2 + 3": ["add", "add_2", "add_3"],
}


@pytest.mark.parametrize("body", SOURCES)
def test_sources_are_numbered_as_in_the_first_graph(body):
    ep = _captured(body)
    calls = [n for n in ep.graph.nodes if n.op == "call_function"]
    assert [n.meta["source_fn_stack"][-1][0] for n in calls] == SOURCES[body]


def test_sizes_use_up_names_of_sources():
    body = "n = x.shape[0]\nreturn x[0] + (n + 1), x.size(0) * x[1], x[n - 1], x[2]"
    dims = {"x": {0: torch.export.Dim("n", min=3, max=9)}, "y": None, "b": None, "i": None}
    ep = _captured(body, dynamic_shapes=dims)
    named = {n.name: n.meta["source_fn_stack"][-1][0] for n in ep.graph.nodes if n.meta.get("source_fn_stack")}
    assert (named["select"], named["select_1"], named["select_3"]) == ("getitem_2", "getitem_3", "getitem_4")
    assert named["select_2"] == "select" and named["add_1"] == "add_1" and named["mul"] == "mul"


def test_layers_of_a_layer_belong_to_it():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    for strict, depth in ((True, {1}), (False, {1, 2})):
        ep = torch.export.export(layer, (torch.ones(1, 3, 4),), strict=strict)
        stacks = [n.meta["nn_module_stack"] for n in ep.graph.nodes if n.op == "call_function"]
        assert {len(stack) for stack in stacks} == depth


def test_views_among_the_outputs_have_no_module():
    ep = _captured("y = x.clone()\nr = y[0]\nr.mul_(2)\nreturn r, y.t()")
    last = [n for n in ep.graph.nodes if n.op == "call_function"][-1]
    assert last.target == torch.ops.aten.t.default and last.meta["nn_module_stack"] == {}
    assert last.meta["torch_fn"] == ("t.default_1", "OpOverload.t.default") and "source_fn_stack" not in last.meta
    assert torch.equal(torch.export.unflatten(ep)(*ep.example_inputs[0])[1], ep.module()(*ep.example_inputs[0])[1])


# ---- unbacked floats ----


def _floats(program):
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    names = ("item", "item_1", "_local_scalar_dense", "_local_scalar_dense_1")
    return [str(n.meta["val"]) for g in graphs for n in g.nodes if n.name in names]


def test_unbacked_floats_keep_their_names():
    class Branches(nn.Module):
        def forward(self, x, s):
            y = torch.cond(x.sum() > 0, lambda x, s: x * s.item(), lambda x, s: x - (s + 1).item(), (x, s))
            return y * (s * 2).item()

    args = (torch.ones(3), torch.tensor(2.5))
    for strict, expected in ((True, ["zuf2", "zuf0", "zuf1"]), (False, ["zuf5", "zuf3", "zuf4"])):
        ep = torch.export.export(Branches(), args, strict=strict)
        assert _floats(ep) == expected
        lowered = ep.run_decompositions()
        assert _floats(lowered) == expected
        assert torch.equal(lowered.module()(*args), Branches()(*args))


# ---- sizes ----


def test_products_of_sizes_are_multiplied_out():
    class Flat(nn.Module):
        def forward(self, x, y):
            n, m = x.shape[0], y.shape[0]
            return (
                torch.zeros(n, n + 2).view(-1),
                torch.zeros(n + 1, m).reshape(m, -1),
                torch.zeros(n + 1, m + 1).flatten(),
            )

    dims = ({0: torch.export.Dim("n", min=3, max=60)}, {0: torch.export.Dim("m", min=3, max=60)})
    ep = torch.export.export(Flat(), (torch.ones(5), torch.ones(7)), dynamic_shapes=dims, strict=False)
    values = [n.meta["val"] for n in ep.graph.output_node().args[0]]
    assert [str(tuple(v.shape)) for v in values] == ["(s0**2 + 2*s0,)", "(s1, s0 + 1)", "(s0*s1 + s0 + s1 + 1,)"]


# ---- the inputs of a strict capture ----


class _Read(nn.Module):
    """State that is read by itself, by a layer, by both, under two names, inside of a branch, and never."""

    def __init__(self):
        super().__init__()
        self.never = nn.Parameter(torch.ones(2))
        self.late = nn.Parameter(torch.ones(2))
        self.soon = nn.Parameter(torch.ones(2))
        self.other = self.soon
        self.fc = nn.Linear(2, 2)
        self.idle = nn.Linear(2, 2)
        self.register_buffer("last", torch.zeros(2))
        self.register_buffer("first", torch.zeros(2), persistent=False)

    def forward(self, x):
        self.first.copy_(x.sum(0))
        y = self.fc(x) * self.soon + self.other + self.last
        y = torch.cond(y.sum() > 0, lambda v: v * self.late, lambda v: v - self.late, (y,))
        return y + self.fc.weight.sum() + self.first


def _targets(ep):
    return [(s.arg.name, s.target) for s in ep.graph_signature.input_specs if s.target]


def test_inputs_of_a_strict_capture_are_what_it_read():
    model, x = _Read(), torch.randn(3, 2)
    expected = [
        ("p_soon", "other"), ("p_late", "late"), ("p_fc_weight", "fc.weight"),
        ("p_fc_weight_1", "fc.weight"), ("p_fc_bias", "fc.bias"), ("b_first", "first"), ("b_last", "last"),
    ]  # fmt: skip
    ep = torch.export.export(model, (x,), strict=True)
    assert _targets(ep) == expected
    linear, total = (next(n for n in ep.graph.nodes if n.target is op) for op in
                     (torch.ops.aten.linear.default, torch.ops.aten.sum.default))  # fmt: skip
    assert linear.args[1].name == "p_fc_weight_1"
    assert [n.args[0].name for n in ep.graph.nodes if n.target is total.target][-1] == "p_fc_weight"
    assert set(ep.state_dict) == set(dict(model.named_parameters(remove_duplicate=False))) | {"last"}
    torch.testing.assert_close(ep.module()(x), model(x))
    assert len(_targets(torch.export.export(model, (x,), strict=False))) == 10


def test_a_program_for_training_reads_the_last_placeholder():
    model, x = _Read(), torch.randn(3, 2)
    ep = torch.export.export_for_training(model, (x,), strict=True)
    assert ("p_fc_weight", "fc.weight") in _targets(ep)
    read = {a.name: len(a.users) for a in ep.graph.find_nodes(op="placeholder")}
    assert read["p_fc_weight"] == 0
    assert read["p_fc_weight_1"] == 2
    torch.testing.assert_close(ep.module()(x), model(x))


def test_literals_are_named_below_their_module():
    class Leaf(nn.Module):
        def forward(self, x):
            return x * torch.tensor([2.0, 3.0])

    class Top(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf = Leaf()

        def forward(self, x):
            return self.leaf(x) + torch.tensor(1.0)

    for strict in (True, False):
        ep = torch.export.export(Top(), (torch.ones(2),), strict=strict)
        assert _targets(ep) == [
            ("c_leaf_lifted_tensor_0", "leaf.lifted_tensor_0"), ("c_lifted_tensor_1", "lifted_tensor_1"),
        ]  # fmt: skip
        assert torch.export.unflatten(ep)(torch.ones(2)).tolist() == [3.0, 4.0]


# ---- names with delimiters ----

_ODD = {"a,b": nn.Linear(4, 4), "c;d": nn.Linear(4, 4), "e@f": nn.Tanh(), "x,y,z;w": nn.Linear(4, 4), "(g": nn.ReLU()}


class _Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict(_ODD)

    def forward(self, x):
        for key in self.parts:
            x = self.parts[key](x)
        return self.parts["a,b"](x.t()).t()  # called in another way


def _last_levels(ep):
    stacks = [n.meta["nn_module_stack"] for n in ep.graph.nodes if n.op == "call_function"]
    return [[path for path, _ in stack.values()][-1] for stack in stacks]


@pytest.mark.parametrize("strict", [True, False])
def test_names_of_modules_may_contain_delimiters(strict, tmp_path):
    module, x = _Odd(), torch.randn(4, 4)
    ep = torch.export.export(module, (x,), strict=strict)
    paths = [f"parts.{key}" for key in _ODD]
    assert _last_levels(ep) == [*paths, "", "parts.a,b", ""]
    torch.export.save(ep, tmp_path / "odd.pt2")
    again = torch.export.load(tmp_path / "odd.pt2")
    for program in (ep, again, ep.run_decompositions()):
        assert [entry.fqn for entry in program.module_call_graph] == ["", "parts", *paths]
        tree = torch.export.unflatten(program)
        assert set(_ODD) <= set(tree.parts._modules)
        assert torch.equal(tree(x), module(x))
    stacks = [[n.meta.get("nn_module_stack") for n in p.graph.nodes] for p in (ep, again)]
    assert stacks[0] == stacks[1]


def test_edited_stacks_are_kept():
    ep = torch.export.export(_Odd(), (torch.ones(4, 4),))
    node = next(n for n in ep.graph.nodes if n.op == "call_function")
    node.meta["nn_module_stack"] = {"k,1": ("p;q", "a.Class"), "2": ("p;q.r", "b.Class")}
    copied = ep.run_decompositions({})
    first = next(n for n in copied.graph.nodes if n.op == "call_function")
    assert first.meta["nn_module_stack"] == {"k,1": ("p;q", "a.Class"), "2": ("p;q.r", "b.Class")}


def test_signatures_below_containers_without_calls_of_their_own():
    """A list calls nothing: the caller of its items builds their arguments."""

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([_Part(), _Part()])

        def forward(self, x):
            for layer in self.layers:
                r = layer(x, {"x": x}, k=x)
                x = r["p"] + r["q"][0]
            return x

    module, x = Layers(), torch.randn(3, 2)
    ep = _export(module, (x,), strict=False, preserve_module_call_signature=("layers.0",), pre_dispatch=True)
    tree = torch.export.unflatten(ep)
    assert torch.equal(tree(x), module(x))
    seen = []
    tree.layers._modules["0"] = nn.Module()
    tree.layers._modules["0"].forward = lambda a, d, *, k: seen.append((a, d["x"], k)) or {"p": a, "q": (k,)}
    tree(x)
    assert all(torch.equal(v, x) for v in seen[0])


class _Shared(nn.Module):
    """Children that have several names, a container that is called by two of them, one that is never called."""

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()
        self.unused = nn.Linear(2, 2)
        self.lin = nn.Linear(3, 3)
        self.same = self.lin
        self.seq = nn.Sequential(self.lin, nn.ReLU())
        self.seq_too = self.seq

    def forward(self, x):
        return self.seq_too(self.same(self.lin(self.seq(self.relu(x)))))


def test_modules_of_several_names(tmp_path):
    x = torch.randn(2, 3)
    module = _Shared()
    ep = torch.export.export(module, (x,), strict=True)
    assert _last_levels(ep) == ["relu", "seq.0", "seq.1", "lin", "same", "seq_too.0", "seq_too.1"]
    torch.export.save(ep, tmp_path / "shared.pt2")
    for program in (ep, torch.export.load(tmp_path / "shared.pt2"), ep.run_decompositions()):
        names = [name for name, _ in module.named_modules(remove_duplicate=False)]
        assert [entry.fqn for entry in program.module_call_graph] == names
        tree = torch.export.unflatten(program)
        assert [name for name, _ in tree.named_modules(remove_duplicate=False)] == names
        assert torch.allclose(tree(x), module(x))
        assert tree.lin is tree.same is tree.seq._modules["0"]
        assert tree.seq is tree.seq_too
        assert list(tree.state_dict()) == list(module.state_dict())


def test_an_unflattened_module_checks_its_inputs():
    tree = torch.export.unflatten(torch.export.export(nn.Linear(3, 3), (torch.ones(2, 3),)))
    with pytest.raises(RuntimeError, match=r"Expected input at \*args\[0\].shape\[0\] to be equal to 2, but got 5"):
        tree(torch.ones(5, 3))
    tree.check_input_constraints = False
    assert tree(torch.ones(5, 3)).shape == (5, 3)


# ---- layers by themselves, and tensors that are passed several times ----


class _Renamed(nn.Linear):
    """Inherits the forward."""


class _Wrapped(nn.Linear):
    def forward(self, input):
        return super().forward(input)


@pytest.mark.parametrize(
    "layer, names",
    (
        (nn.BatchNorm1d(2), ["p_fn_weight", "p_fn_bias", "b_fn_running_mean", "b_fn_running_var"]),
        (nn.Sequential(nn.ReLU(), nn.Linear(2, 2, bias=False)), ["p_fn_1_weight"]),
        (_Renamed(2, 2, bias=False), ["p_fn_weight"]),
        (_Wrapped(2, 2, bias=False), ["p_weight"]),
    ),
)
@pytest.mark.parametrize("export", (torch.export.export, torch.export.export_for_training))
def test_a_layer_by_itself_is_called_as_a_function(layer, names, export):
    """A strict capture calls a layer that is exported by itself as its function `fn`; targets are the layer's own."""
    x = torch.randn(3, 2)
    ep = export(layer.eval(), (x,), strict=True)
    state = [s for s in ep.graph_signature.input_specs if s.target]
    assert [s.arg.name for s in state][: len(names)] == names
    assert {s.target for s in state} == set(layer.state_dict())
    other = export(layer, (x,), strict=False)
    assert not any("fn" in s.arg.name for s in other.graph_signature.input_specs)
    for program in (ep.module(), other.module(), torch.export.unflatten(ep)):
        torch.testing.assert_close(program(x), layer(x))


class _Identity(nn.Module):
    def forward(self, query, key, other):
        return query * key + (1 if key is query else 2) * other


@pytest.mark.parametrize("strict, text", ((True, "mul.Tensor(key, key)"), (False, "mul.Tensor(query, key)")))
def test_a_tensor_that_is_passed_twice(strict, text):
    """It is one object in a strict capture, the last of its inputs; all inputs are still checked."""
    x, y = torch.ones(3), torch.ones(3)
    ep = torch.export.export(_Identity(), (x, x, y), strict=strict)
    assert text in ep.graph_module.code
    assert [s.arg.name for s in ep.graph_signature.input_specs] == ["query", "key", "other"]
    torch.testing.assert_close(ep.module()(x, x, y), torch.full((3,), 2.0 if strict else 3.0))
    with pytest.raises(RuntimeError, match=r"Expected input at \*args\[0\]"):
        ep.module()(torch.ones(4), x, y)


class _Constants(nn.Module):
    def forward(self, x):
        s = torch.tensor(3)
        return x[5 - s : 5 + s], x[: torch.tensor(2).item()] * float(torch.tensor(0.5))


@pytest.mark.parametrize("strict", (True, False))
def test_constants_that_are_read_leave_no_symbols(strict):
    ep = torch.export.export(_Constants(), (torch.arange(9.0),), strict=strict)
    assert ep.range_constraints == {}
    assert not any("item" in str(n.target) for n in ep.graph.nodes)
