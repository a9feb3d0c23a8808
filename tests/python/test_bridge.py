# SPDX-License-Identifier: Apache-2.0
"""The real PyTorch beside Ingot: torch.compile(backend="ingot"), from_torch, and models of one in calls of the
other."""

import pytest

import ingot

torch = pytest.importorskip("torch", reason="the real PyTorch is not installed")
if torch is ingot or not hasattr(torch, "_dynamo"):
    pytest.skip("torch is not the real PyTorch here", allow_module_level=True)

from ingot._bridge import backend  # noqa: E402

F = torch.nn.functional


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._dynamo.config.patch(allow_rnn=True):  # recurrent layers stay outside of graphs otherwise
        yield
    torch._dynamo.reset()


class Recorder:
    """The backend, and how many nodes of each graph ran where."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, inputs):
        from torch._dynamo.backends.common import aot_autograd

        def compiler(graph, examples):
            made = backend.compile_graph(graph, examples)
            self.graphs.append(made)
            return made

        return aot_autograd(fw_compiler=compiler, bw_compiler=compiler)(gm, inputs)


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))


def convolutions():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(8 * 16, 5),
    )  # fmt: skip


def transformer():
    return torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)


class Several(torch.nn.Module):
    """Several inputs and results, a buffer that is written, integers, views."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, i, x, scale: float):
        self.count.add_(1)
        e = self.table(i)
        return {"e": e.transpose(0, 1), "y": x * scale + self.count}, (e.sum(-1).argmax(), x[:, 1:].reshape(-1))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 8, batch_first=True)
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x):
        out, _ = self.lstm(x)
        return torch.tanh(self.head(out[:, -1])) * 2


class Branching(torch.nn.Module):
    """A branch on data, a loop, and an operator that Ingot does not have."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(6, 8)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        x = torch.relu(self.first(x))
        if x.sum() > 5:
            x = x / 2
        for layer in self.layers:
            x = torch.sigmoid(layer(x)) + x
        return torch.special.modified_bessel_i0(x.detach()).log1p() + x.square()


MODELS = [
    (mlp, lambda n: (torch.randn(n, 6),)),
    (convolutions, lambda n: (torch.randn(n, 3, 8, 8),)),
    (transformer, lambda n: (torch.randn(n, 5, 16),)),
    (Recurrent, lambda n: (torch.randn(n, 4, 6),)),
    (Branching, lambda n: (torch.randn(n, 6),)),
    (Several, lambda n: (torch.arange(n) % 10, torch.randn(n, 3), 0.5)),
]


def leaves(value):
    return [v for v in torch.utils._pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]


@pytest.mark.parametrize(("make", "inputs"), MODELS)
def test_inference(make, inputs):
    import copy

    model = make().eval()
    twin = copy.deepcopy(model)
    record = Recorder()
    compiled = torch.compile(model, backend=record)
    with torch.no_grad():
        for n in (4, 4, 7, 3):
            args = inputs(n)
            for found, expected in zip(leaves(compiled(*args)), leaves(twin(*args)), strict=True):
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for name, value in twin.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value)
    assert record.graphs and all(g.taken for g in record.graphs)


@pytest.mark.parametrize(("make", "inputs"), [*MODELS[:3], MODELS[4]])
def test_training(make, inputs):
    import copy

    model = make()
    twin = copy.deepcopy(model)
    record = Recorder()
    compiled = torch.compile(model, backend=record)
    opts = [torch.optim.SGD(m.parameters(), lr=0.05) for m in (model, twin)]
    for n in (4, 4, 6):
        args = inputs(n)
        for run, opt in zip((compiled, twin), opts):
            opt.zero_grad()
            run(*args).square().mean().backward()
            opt.step()
    for a, b in zip(model.parameters(), twin.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)
    assert len(record.graphs) >= 2 and sum(g.taken for g in record.graphs) > 10


def test_training_of_recurrent_layers():
    """PyTorch's own layer keeps a workspace for its gradient: both run there, or both here. Its AOT autograd does not
    know that layer in training unless the workspace is there."""
    model = Recurrent()
    record = Recorder()
    compiled = torch.compile(model, backend=record)
    x = torch.randn(4, 4, 6)
    try:
        compiled(x).square().mean().backward()
    except AssertionError:
        assert any("rnn_layer" in name for graph in record.graphs for name in graph.left)
        return
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).square().mean().backward()
    for a, p in zip(found, model.parameters()):
        torch.testing.assert_close(a, p.grad, rtol=1e-3, atol=1e-5)


def test_attention_without_dropout_draws_nothing():
    record = Recorder()
    compiled = torch.compile(F.scaled_dot_product_attention, backend=record)
    q, k, v = (torch.randn(2, 2, 5, 8) for _ in range(3))
    expected = F.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(compiled(q, k, v), expected, rtol=1e-4, atol=1e-5)
    assert all("attention" not in name for graph in record.graphs for name in graph.left)


def test_the_entry_point():
    assert "ingot" in torch._dynamo.list_backends(exclude_tags=())
    model = mlp()
    x = torch.randn(3, 6)
    torch.testing.assert_close(torch.compile(model, backend="ingot")(x), model(x), rtol=1e-4, atol=1e-5)


def test_weights_are_shared():
    """A weight that is written between calls counts, and a weight that is replaced too."""
    model = torch.nn.Linear(2, 1, bias=False)
    compiled = torch.compile(model, backend="ingot")
    x = torch.ones(1, 2)
    with torch.no_grad():
        for value in (1.0, 2.0):
            model.weight.fill_(value)
            assert compiled(x).item() == 2 * value
        model.weight.data = torch.full((1, 2), 5.0)
        assert compiled(x).item() == 10
    shared = backend._Shared()
    assert shared(model.weight).data_ptr() == model.weight.data_ptr()
    assert shared(model.weight) is shared(model.weight)


def test_nodes_that_ingot_does_not_have_run_in_pytorch():
    record = Recorder()

    def f(x):
        y = x.sin() * 2
        y = F.dropout(y, 0.5)  # its random numbers are PyTorch's
        return torch.special.bessel_j0(y).cos() + 1

    compiled = torch.compile(f, backend=record)
    x = torch.randn(100)
    torch.manual_seed(3)
    found = compiled(x)
    torch.manual_seed(3)
    torch.testing.assert_close(found, f(x))
    (graph,) = record.graphs
    assert graph.taken >= 3 and any("dropout" in name or "rand" in name for name in graph.left)


def test_errors_of_a_call_are_raised():
    compiled = torch.compile(lambda x, i: x[i], backend="ingot")
    with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
        compiled(torch.ones(3), torch.tensor([5]))


# ---- from_torch ----


def test_tensors_share_memory():
    x = torch.arange(6.0).reshape(2, 3)
    ours = ingot.from_torch(x.t())
    ours.add_(1)
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]] and ours.stride() == (1, 3)
    assert ingot.to_torch(ours).data_ptr() == x.data_ptr()
    parameter = ingot.from_torch(torch.nn.Parameter(torch.ones(2)))
    assert isinstance(parameter, ingot.nn.Parameter) and parameter.requires_grad


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "complex64", "uint16", "float8_e4m3fn"]
)
def test_dtypes(dtype):
    x = torch.tensor([[0, 1], [1, 0]]).to(getattr(torch, dtype))
    found = ingot.from_torch(x)
    assert found.dtype == getattr(ingot, dtype)
    assert found.to(ingot.complex64).tolist() == x.to(torch.complex64).tolist()


def test_state_dicts():
    theirs, ours = mlp(), ingot.nn.Sequential(
        ingot.nn.Linear(6, 16), ingot.nn.GELU(), ingot.nn.LayerNorm(16), ingot.nn.Linear(16, 3)
    )  # fmt: skip
    assert ours.load_state_dict(theirs.state_dict()).missing_keys == []
    x = torch.randn(2, 6)
    torch.testing.assert_close(ingot.to_torch(ours(ingot.from_torch(x)).detach()), theirs(x).detach())
    assert list(ingot.from_torch(theirs.state_dict())) == list(theirs.state_dict())


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "NAdam"])
def test_optimizer_states(name):
    """PyTorch takes three steps, Ingot three more; the result is that of six steps in PyTorch."""
    options = {"lr": 0.1, **({"momentum": 0.9} if name == "SGD" else {})}
    whole, theirs = (torch.ones(3, requires_grad=True) for _ in range(2))

    def steps(module, p, opt, n):
        for _ in range(n):
            opt.zero_grad()
            ((p - module.arange(3.0)) ** 2).sum().backward()
            opt.step()

    steps(torch, whole, getattr(torch.optim, name)([whole], **options), 6)
    first = getattr(torch.optim, name)([theirs], **options)
    steps(torch, theirs, first, 3)
    ours = ingot.from_torch(theirs.detach()).clone().requires_grad_()
    second = getattr(ingot.optim, name)([ours], **options)
    second.load_state_dict(first.state_dict())
    steps(ingot, ours, second, 3)
    torch.testing.assert_close(ingot.to_torch(ours.detach()), whole.detach(), rtol=1e-5, atol=1e-6)


def test_programs_and_modules():
    model = mlp()
    x = torch.randn(4, 6)
    expected = model(x).detach()
    dims = ({0: torch.export.Dim("batch")},)
    exported = torch.export.export(model, (x,), dynamic_shapes=dims)
    for program in (ingot.from_torch(exported), ingot.from_torch(model, (x,), dynamic_shapes=dims)):
        assert isinstance(program, ingot.export.ExportedProgram)
        found = ingot.to_torch(program.module()(ingot.from_torch(x)).detach())
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        assert program.module()(ingot.ones(9, 6)).shape == (9, 3)


def test_onnx_of_a_real_program(tmp_path):
    model = mlp()
    x = torch.randn(4, 6)
    for i, source in enumerate((torch.export.export(model, (x,)), model)):
        path = tmp_path / f"{i}.onnx"
        ingot.onnx.export(source, (x,), path)
        assert path.stat().st_size > 400
    with pytest.raises(TypeError, match="a model of the real torch takes dynamic_shapes"):
        ingot.onnx.export(model, (x,), tmp_path / "x.onnx", dynamic_axes={"x": [0]})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ingot.from_torch(torch.ones(2).to_sparse()), "of the real torch with layout torch.sparse_coo"),
        (lambda: ingot.from_torch(torch.ones(2, device="meta")), "of the real torch .* on meta cannot be taken"),
        (lambda: ingot.from_torch(3), "found builtins.int, expected a Tensor, .* of the real torch"),
        (lambda: ingot.from_torch(mlp()), "needs example inputs"),
        (lambda: ingot.from_torch(ingot.ones(2)), "of Ingot, expected an object of the real torch"),
        (lambda: ingot.nn.Linear(2, 2)(torch.ones(2)), "belongs to the real torch.*from_torch"),
        (lambda: ingot.to_torch(torch.ones(2)), "to_torch: found torch.Tensor, expected a tensor of Ingot"),
    ],
)
def test_what_cannot_be_taken(call, text):
    with pytest.raises(TypeError, match=text):
        call()
