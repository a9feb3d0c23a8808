# SPDX-License-Identifier: Apache-2.0
"""aot_export_module: graphs with the state as inputs, gradients behind the outputs."""

import pytest

import ingot as torch
from ingot._functorch.aot_autograd import aot_export_module


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(3, 2)
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scale", torch.full((2,), 3.0))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count.add_(1)
        y = torch.relu(self.lin(x) * self.scale)
        return y.sum(), y.detach()


def state(net: Net) -> list[torch.Tensor]:
    return [net.lin.weight, net.lin.bias, net.count.clone(), net.scale]


def test_forward_alone() -> None:
    net, x = Net(), torch.randn(4, 3)
    gm, signature = aot_export_module(net, (x,), trace_joint=False)
    names = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
    assert names == [f"arg{i}_1" for i in range(5)]
    assert signature.parameters == ["lin.weight", "lin.bias"]
    assert signature.inputs_to_buffers == {"arg2_1": "count", "arg3_1": "scale"}
    assert signature.buffers_to_mutate == {"add": "count"}
    assert signature.user_inputs == ["arg4_1"]
    assert signature.backward_signature is None
    assert "linear" not in gm.code  # composite operators are decomposed
    count, total, y = gm(*state(net), x)
    want_total, want_y = net(x)
    torch.testing.assert_close(count, torch.ones(1))
    torch.testing.assert_close((total, y), (want_total, want_y))


def test_before_dispatch_composites_stay() -> None:
    gm, _ = aot_export_module(Net(), (torch.randn(4, 3),), trace_joint=False, pre_dispatch=True)
    assert "aten.linear.default" in gm.code


def test_joint_gradients_are_eager_ones() -> None:
    net, x = Net(), torch.randn(4, 3, requires_grad=True)
    gm, signature = aot_export_module(net, (x,), trace_joint=True, output_loss_index=0)
    backward = signature.backward_signature
    assert list(backward.gradients_to_parameters.values()) == ["lin.weight", "lin.bias"]
    assert list(backward.gradients_to_user_inputs.values()) == ["arg4_1"]
    assert backward.loss_output == signature.user_outputs[0]
    outs = dict(zip([n.name for n in list(gm.graph.nodes)[-1].args[0]], gm(*state(net), x), strict=True))
    net(x)[0].backward()
    grads = {**backward.gradients_to_parameters, **backward.gradients_to_user_inputs}
    want = {"lin.weight": net.lin.weight.grad, "lin.bias": net.lin.bias.grad, "arg4_1": x.grad}
    for name, target in grads.items():
        torch.testing.assert_close(outs[name], want[target])


def test_joint_with_dynamic_sizes() -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x * y).tanh().sum()

    n = torch.export.Dim("n")
    args = (torch.randn(4, requires_grad=True), torch.randn(4))
    gm, _ = aot_export_module(
        M(), args, trace_joint=True, output_loss_index=0, dynamic_shapes={"x": {0: n}, "y": {0: n}}
    )
    x, y = torch.randn(7, requires_grad=True), torch.randn(7)
    loss, grad = gm(x, y)
    M()(x, y).backward()
    torch.testing.assert_close(grad, x.grad)
    torch.testing.assert_close(loss, M()(x, y))


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (None, "If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss."),
        (
            1,
            "You specified that output index 1 is the loss, but we found that\nthe output at index 0 requires",
        ),
        (2, "the output at index 0 requires gradients."),
    ],
)
def test_which_output_is_the_loss(index: int | None, text: str) -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple:
            return x.sum(), x * 2, torch.ones(1)

    with pytest.raises(RuntimeError) as error:
        aot_export_module(M(), (torch.ones(2, requires_grad=True),), trace_joint=True, output_loss_index=index)
    assert text in str(error.value)


def test_loss_is_a_number_with_a_gradient() -> None:
    class Wide(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"to be a scalar, but it has shape torch.Size\(\[2\]\)"):
        aot_export_module(Wide(), (x,), trace_joint=True, output_loss_index=0)
    with pytest.raises(RuntimeError, match="was marked as the loss, but it does not require gradients"):
        aot_export_module(Wide(), (torch.ones(1),), trace_joint=True, output_loss_index=0)


def test_own_decompositions() -> None:
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.silu(x)

    table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    gm, _ = aot_export_module(M(), (torch.randn(3),), trace_joint=False, decompositions=table)
    assert "sigmoid" in gm.code
    assert "silu" not in gm.code


def compiled(f, backend="aot_eager"):
    torch._dynamo.reset()
    return torch.compile(f, backend=backend)


def test_an_input_with_gaps_keeps_its_layout() -> None:
    x = torch.arange(3.0).reshape(3, 1).expand(3, 3).requires_grad_()
    y = compiled(lambda x: x * 2)(x)
    assert x.stride() == (1, 0)
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((3, 3), 2.0))


def test_a_view_of_an_input_with_gaps_leaves_its_gradient() -> None:
    x = torch.ones(4, 8)[:, ::2].requires_grad_()
    a, b = compiled(lambda x, y: (x + 1, y * 2))(x, x.detach()[:])
    assert a.requires_grad and not b.requires_grad


def test_a_result_that_was_a_view_inside_may_be_written() -> None:
    def f(x):
        a = (x * 2)[1:]
        torch._dynamo.graph_break()
        a.add_(1)
        return a

    x = torch.ones(3, 3, requires_grad=True)
    y = compiled(f)(x)
    y.sum().backward()
    assert torch.equal(y, torch.full((2, 3), 3.0))
    assert torch.equal(x.grad, torch.tensor([[0.0] * 3, [2.0] * 3, [2.0] * 3]))
    assert torch.equal(compiled(f)(x.detach()).mul_(x[1:]), y)


def test_a_converted_tensor_may_be_written() -> None:
    def f(x):
        y = x.detach().float()
        y.mul_(2)
        return x + 1, y

    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    a, b = compiled(f)(x * 2)
    assert a.requires_grad and torch.equal(b, torch.full((3,), 4.0))


def test_dropout_of_nothing_takes_any_dtype() -> None:
    x = torch.zeros(0, 2, dtype=torch.int64)
    assert torch.equal(compiled(lambda x: torch.nn.functional.dropout(x))(x), x)


def test_a_gradient_reads_what_was_overwritten() -> None:
    def f(x, y):
        c = x + 1
        c.mul_(y)
        return c

    x = torch.full((3,), -1.5, requires_grad=True)
    y = torch.full((3,), -0.75, requires_grad=True)
    compiled(f)(x, y).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), -0.75))
    assert torch.equal(y.grad, torch.full((3,), -0.5))


# ---- as eager, whatever the arguments look like ----


def same_as_eager(f, make, *sizes):
    """Results, what is left of the arguments, and gradients, for one call after another."""
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager")
    for size in sizes:
        seen = []
        for run in (compiled, f):
            args = make(size)
            out = run(*args)
            roots = [o.sum() for o in out if o.requires_grad]
            if roots:
                torch.autograd.backward(roots)
            grads = [a.grad for a in args if a.is_leaf and a.grad is not None]
            tensors = [*out, *args, *grads]
            seen.append([(tuple(t.shape), t.requires_grad, t.is_leaf, t.detach().tolist()) for t in tensors])
        assert seen[0] == seen[1]


def test_sizes_are_not_read_off_tangents():
    weight = torch.arange(6.0).reshape(2, 3).requires_grad_()
    make = lambda size: (torch.ones(size).t(),)  # noqa: E731
    same_as_eager(lambda x: (torch.nn.functional.linear(x.reshape(-1, 3), weight),), make, (1, 0), (2, 3), (4, 3))


def test_a_copy_of_an_expanded_input_is_no_view():
    make = lambda n: (torch.arange(2.0).reshape(2, 1).expand(2, n).requires_grad_(),)  # noqa: E731
    same_as_eager(lambda x: (x.reshape(-1), x * 2), make, 3, 4)


def test_a_written_input_with_gaps_keeps_them():
    def f(x):
        with torch.no_grad():
            x.add_(1)
        y = x.reshape(-1)
        y = y + 0
        return (y, x.transpose(0, 1))

    make = lambda n: (torch.arange(4.0 * n).reshape(n, 4)[:, ::2].detach().requires_grad_(),)  # noqa: E731
    same_as_eager(f, make, 3, 4)


def test_shared_memory_with_two_histories():
    def f(x, y):
        y.copy_(x * 2)
        return x * 3, y + 0

    def make(n):
        x = torch.ones(n, requires_grad=True) * 2
        return x, x.detach()

    same_as_eager(f, make, 2, 3)


def test_shared_memory_with_gaps():
    def f(y, x):
        x[0] = 6.5
        y.copy_(x)
        return (x + 1,)

    def make(n):
        x = torch.arange(6.0 * n).reshape(n, 6)[:, ::2].detach()
        return x[:], x

    same_as_eager(f, make, 3, 4)


def test_a_gradient_that_cannot_be():
    """What a gradient needs is overwritten: a call that wants none has its result."""
    x = torch.ones(3, requires_grad=True)

    def f(a):
        b = a * 2
        c = torch.softmax(b, 0)
        c.mul_(2)
        return c

    out = torch.compile(f, backend="aot_eager")(x)
    assert out.tolist() == f(x).tolist()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_compiler_that_fails_leaves_nothing_waiting():
    kept = []

    def f(x):
        kept.append(x + 1)
        return kept[0] * 2

    def refuse(gm, example_inputs):
        raise ValueError("no")

    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        torch.compile(f, backend=refuse)(torch.ones(2))
    assert kept[0].tolist() == [2, 2]


def test_a_gradient_reads_an_input_before_it_is_written():
    def f(x, y):
        x.mul_(y)
        return (torch.sin(y) * 2,)

    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager")
    for n in (2, 3):
        seen = []
        for run in (compiled, f):
            leaves = [(torch.arange(float(n)) + k).requires_grad_() for k in (1, 2)]
            x, y = (leaf * 2 for leaf in leaves)
            (out,) = run(x, y)
            (out.sum() + x.sum()).backward()
            seen.append([x.tolist(), *(leaf.grad.tolist() for leaf in leaves)])
        assert seen[0] == seen[1]


def test_a_tensor_that_is_written_by_itself():
    make = lambda n: (torch.arange(n + 1.0).requires_grad_(),)  # noqa: E731
    same_as_eager(lambda x: ((x * 2).mul_(3), (y := x * 2).mul_(y)), make, 3)


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_row_of_a_transposed_tensor_is_written(dynamic):
    torch._dynamo.reset()
    seen = []

    def f(x):
        y = x * 2
        y[0] = 3
        return y

    for run in (torch.compile(f, backend="aot_eager", dynamic=dynamic), f):
        x = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
        y = run(x)
        y.sum().backward()
        seen.append((y.tolist(), y.stride(), x.grad.tolist()))
    assert seen[0] == seen[1]


def test_scatter_into_strides_of_self():
    x = torch.arange(6.0).reshape(2, 3).t()
    found = torch.as_strided_scatter(x, torch.zeros(2), [2], [3], 0)
    assert found.tolist() == [[0, 0], [1, 4], [2, 5]] and found.stride() == (1, 3)
    part = torch.arange(12.0)[2:8]
    assert torch.as_strided_scatter(part, torch.zeros(2), [2], [1], 3).tolist() == [2, 0, 0, 5, 6, 7]


def test_one_of_the_rows_of_an_expanded_tensor_is_written():
    def f(x):
        y = x + 1
        z = y[None].expand(2, *y.shape)
        z[0] = 5
        z[1, 0] = 7
        return (y - 1, z * 2)

    same_as_eager(f, lambda n: (torch.arange(2.0 * n).reshape(n, 2),), 3, 4, 5)
    same_as_eager(f, lambda n: (torch.arange(2.0 * n).reshape(n, 2).requires_grad_(),), 3, 4, 5)


def test_a_part_of_an_expanded_input_is_written():
    def f(x):
        x[1:].copy_(x[1:])
        x[0, :1] = 7
        return (x + 1,)

    same_as_eager(f, lambda n: (torch.arange(1.0).reshape(1, 1).expand(1, n),), 3, 4)


def test_a_hidden_write_to_a_view_of_a_leaf():
    x = torch.zeros(3, 2, requires_grad=True)
    torch.compile(lambda row: row.detach().fill_(2), backend="aot_eager")(x[0])
    assert x.tolist() == [[2, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize("layout", ["gaps", "transposed gaps", "transposed", "plain"])
@pytest.mark.parametrize("rows", [3, 5])
def test_draws_into_any_layout(layout, rows):
    """16 elements and more are drawn by another method, if they are contiguous."""
    x = torch.arange(10.0 * rows).reshape(rows, 10)
    x = x[:, ::2] if "gaps" in layout else x
    x = x.t() if "transposed" in layout else x
    draws = {
        "normal_": lambda x: x.normal_(),
        "uniform_": lambda x: x.uniform_(),
        "random_": lambda x: x.random_(0, 100),
        "bernoulli_": lambda x: x.bernoulli_(0.5),
        "exponential_": lambda x: x.exponential_(),
        "dropout": lambda x: torch.nn.functional.dropout(x, 0.5),
        "normal_ of a part": lambda x: (y := x * 2, y[:, ::2].normal_())[0],
        "randn_like": torch.randn_like,
    }
    for name, draw in draws.items():
        seen = []
        for f in (draw, torch.compile(draw, backend="aot_eager")):
            torch.manual_seed(3)
            given = torch.empty_strided(x.shape, x.stride()).copy_(x)
            out = f(given)
            seen.append((out.tolist(), given.tolist(), out.stride(), torch.get_rng_state().tolist()))
        assert seen[0] == seen[1], name


def test_a_part_of_an_expanded_result_is_written():
    """The gradient goes to the base, which the caller does not see."""

    def f(x):
        z = (x + 1)[None].expand(2, *x.shape)
        torch._dynamo.graph_break()
        z[0, 0] = 5
        return (z * 3,)

    same_as_eager(f, lambda n: (torch.arange(2.0 * n).reshape(n, 2).requires_grad_(),), 1, 2, 3)


def test_a_transposed_view_is_written_with_what_made_it():
    """The gradient of the factor reads the view as it was before."""

    def f(x):
        y = x + 1
        y.transpose(0, -1).mul_(x)
        return (y, x * 2)

    same_as_eager(f, lambda n: (torch.arange(float(n * n)).reshape(n, n).requires_grad_(),), 1, 2, 3)


def test_a_view_whose_numbers_come_from_another_tensor():
    weight = torch.arange(6.0).reshape(2, 3).requires_grad_()

    def f(x):
        y = torch.nn.functional.linear((x * 2).reshape(-1, 3), weight)
        z = y - y * 1
        return (z.narrow(0, 1, z.size(0) - 1), y, z)

    same_as_eager(f, lambda n: (torch.arange(3.0)[:, None].expand(3, n).requires_grad_(),), 2, 4, 6)


def test_a_row_of_a_part_of_a_transposed_tensor():
    def f(x):
        y = x + 1
        y = y[:3]
        torch._dynamo.graph_break()
        y[0] = 7
        return y + y

    x = torch.arange(12.0).reshape(3, 4).t()
    assert torch.compile(f, backend="aot_eager")(x).stride() == f(x).stride() == (1, 3)


def test_a_hook_on_a_result_that_others_are_computed_from():
    def f(x):
        y = x + 1
        z = y * y
        y.register_hook(lambda g: g * 2)
        return (y, z)

    same_as_eager(f, lambda n: (torch.arange(float(n)).requires_grad_(),), 2, 3)


@pytest.mark.parametrize("read", [True, False])
def test_a_view_without_gradients_is_not_written_with_them(read):
    def f(x):
        y = x - 1
        with torch.no_grad():
            z = y.unsqueeze(-1)
        z.mul_(2)
        return (z if read else x * 2,)

    for run in (f, torch.compile(f, backend="aot_eager")):
        with pytest.raises(RuntimeError, match="view was created in no_grad mode and is being modified"):
            run(torch.ones(3, requires_grad=True))


def parts(x, w):
    a = x * w
    b = a.sin() + torch.dropout(a, 0.5, True)
    return a, b, b.t()


def use_hook(a, b, c):
    a.register_hook(lambda g: g * 3)
    (a.sum() + b.sum() + (c * 2).sum()).backward()


def use_late_hook(a, b, c):
    loss = a.sum() + b.sum() + (c * 2).sum()  # the results were read before
    a.register_hook(lambda g: g * 3)
    loss.backward()


def use_retained(a, b, c):
    a.retain_grad()
    (b.sum() + c.sum()).backward()
    return a.grad


def use_grad(a, b, c):
    return torch.autograd.grad((b * c.t()).sum(), a)


@pytest.mark.parametrize("use", [use_hook, use_late_hook, use_retained, use_grad])
@pytest.mark.parametrize("broken", [False, True])
def test_the_gradient_of_one_of_several_results(use, broken):
    """What goes through the other results is part of it, although one function is the history of all."""

    def f(x, w):
        outs = parts(x, w)
        if broken:
            torch._dynamo.graph_break()
            return use(*outs)
        return outs

    seen = []
    for backend in (None, "aot_eager"):
        torch._dynamo.reset()
        torch.manual_seed(3)
        x, w = torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.full((3,), 0.5, requires_grad=True)
        out = (torch.compile(f, backend=backend) if backend else f)(x, w)
        found = out if broken else use(*out)
        seen.append([found, x.grad, w.grad, torch.get_rng_state()])
    torch.testing.assert_close(seen[1], seen[0])


def test_a_hook_on_one_of_several_results_of_a_graph_that_writes():
    def f(x, total):
        y = x * 2
        total.add_(y)
        return y, total * y

    seen = []
    for backend in (None, "aot_eager"):
        torch._dynamo.reset()
        x, total = torch.ones(3, requires_grad=True), torch.zeros(3)
        y, z = (torch.compile(f, backend=backend) if backend else f)(x, total)
        y.register_hook(lambda g: g * 5)
        (y.sum() + z.sum() + total.sum()).backward()
        seen.append([x.grad, total])
    torch.testing.assert_close(seen[1], seen[0])


def test_a_hook_after_an_input_was_written_is_refused():
    x = torch.ones(3, requires_grad=True)
    scale = torch.full((3,), 2.0)
    y, _ = torch.compile(lambda x, s: (x * s, (x * s).sin()), backend="aot_eager")(x, scale)
    scale.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.register_hook(lambda g: g)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_of_several_views_is_not_written(backend):
    def f(x, log):
        first, last = (x * 2).chunk(2)
        log.append("taken")
        first.mul_(3)
        log.append("written")
        return last

    log = []
    with pytest.raises(RuntimeError, match="returns multiple views"):
        torch.compile(f, backend=backend)(torch.ones(4, requires_grad=True), log)
    assert log == ["taken"]
    with torch.no_grad():
        assert torch.compile(f, backend=backend)(torch.ones(4, requires_grad=True), log).tolist() == [2, 2]


def test_writes_by_strides_to_memory_with_gaps():
    """A functional graph has no gaps: such a graph runs as it is."""

    def of_input(x):
        x.as_strided((2,), (1,)).add_(1)
        return x * 2

    def of_new(x):
        z = torch.empty_strided((2, 2), (4, 2)).copy_(x)
        z.as_strided((2,), (1,)).fill_(1)
        return z * 2

    def of_part(x):
        z = x + 1
        z[:, 1:].as_strided((2,), (2,)).mul_(3)
        return z

    def behind(x):
        y = x[:1, :1].as_strided((2,), (1,))
        y.add_(1)
        return y * 2

    for f in (of_input, of_new, of_part, behind):
        found = []
        for g in (f, torch.compile(f, backend="aot_eager")):
            base = torch.zeros(8)
            out = g(base.reshape(2, 4)[:, ::2])
            found.append((out.tolist(), base.tolist()))
        assert found[0] == found[1], f.__name__


def test_writes_by_strides_to_more_than_a_part():
    """The base has no gaps, but the part that is viewed is smaller than the view."""

    def f(x):
        part = x.diagonal()
        part.as_strided((2,), (1,)).add_(part.relu())
        return x + 1

    for backend in ("aot_eager", "ingot"):
        x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.0]])
        assert torch.equal(torch.compile(f, backend=backend)(x), f(y)), backend
        assert torch.equal(x, y), backend


@pytest.mark.parametrize("backend", ["aot_eager", "ingot"])
def test_what_is_detached_and_written_has_a_history(backend):
    """It shows memory of an input, but is no view that leads to it."""

    def f(x):
        part = x.detach()
        part.add_(x)
        return x + 1, part

    found = []
    for g in (f, torch.compile(f, backend=backend)):
        x = torch.ones(2, requires_grad=True)
        out, part = g(x)
        (out.sum() + part.sum()).backward()
        found.append((part.requires_grad, part.is_leaf, part.tolist(), x.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


def test_floats_that_vary_are_inputs_of_both_graphs():
    from ingot._dynamo.backends.common import aot_autograd
    from ingot._functorch.partitioners import default_partition, min_cut_rematerialization_partition

    def f(x, v):
        return (x * v).sin() / v + x.exp() * (1 - v)

    for partition in (default_partition, min_cut_rematerialization_partition):
        graphs = []

        def keep(gm, inputs, graphs=graphs):
            graphs.append(gm)
            return gm.forward

        torch._dynamo.reset()
        g = torch.compile(f, backend=aot_autograd(fw_compiler=keep, partition_fn=partition))
        for v in (0.5, 1.5, 2.5, -3.0):
            x, y = (torch.arange(3.0, requires_grad=True) for _ in range(2))
            g(x, v).sum().backward()
            f(y, v).sum().backward()
            torch.testing.assert_close(x.grad, y.grad)
        assert len(graphs) == 4


def test_views_of_inputs_among_several_are_not_written():
    def f(y):
        return y * 2, y.chunk(2)

    y = torch.ones(2, requires_grad=True) * 1
    for g in (f, torch.compile(f, backend="aot_eager")):
        _, (first, _) = g(y)
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            first.mul_(2)
        with torch.no_grad():
            first.mul_(2)
    assert y.tolist() == [4, 1]


def test_refused_write_of_memory_that_an_array_shows():
    def f(x, y):
        total = float(y.detach().numpy().sum())
        y.chunk(2)[0].mul_(3)
        return x + total

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view"):
        torch.compile(f, backend="aot_eager")(x, y)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "ingot"])
@pytest.mark.parametrize("foreach", [None, False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_optimizer_inside(name, foreach, backend):
    """Steps of all parameters at once write lists of tensors."""

    def account(compiled):
        model = torch.nn.Linear(3, 2)
        with torch.no_grad():
            model.weight.copy_(torch.arange(6.0).reshape(2, 3) / 6)
            model.bias.fill_(0.5)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, foreach=foreach)

        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        call = torch.compile(step, backend=backend) if compiled else step
        return [call(torch.ones(2, 3) * (i + 1)) for i in range(3)] + [p.detach() for p in model.parameters()]

    torch.testing.assert_close(account(True), account(False))


def test_written_lists():
    def f(a, b):
        torch._foreach_add_([a, b], 1)
        torch._foreach_mul_([a, b[:1]], [b, a[:1]])
        return a + b

    found = []
    for g in (f, torch.compile(f, backend="aot_eager")):
        a, b = torch.arange(3.0), torch.ones(3)
        found.append((g(a, b).tolist(), a.tolist(), b.tolist()))
    assert found[0] == found[1]


def test_second_derivatives():
    """Gradients with a history are those of the operators: the graph is run once more as it is."""

    def inside(x):
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g**2).sum()

    def several(x):
        y = x.sin()
        return (y * y).sum() + y.sum()

    for f in (inside, several):
        found = []
        for g in (f, torch.compile(f, backend="aot_eager")):
            x = torch.arange(3.0, requires_grad=True)
            z = g(x * 1)
            (first,) = torch.autograd.grad(z, x, create_graph=True)
            (second,) = torch.autograd.grad((first**2).sum(), x)
            found.append((z, first, second))
        torch.testing.assert_close(found[1], found[0])


def test_second_derivatives_of_arguments_that_depend_on_each_other():
    """y is an argument of the second graph beside x, from which the first one computed it: it counts once."""

    def f(x):
        y = x * x
        torch._dynamo.graph_break()
        z = x * y + y
        torch._dynamo.graph_break()
        (g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
        return g

    def nested(a, b):
        for _ in range(3):
            torch._dynamo.graph_break()
            (g,) = torch.autograd.grad((b * b * a).sum(), b, create_graph=True)
            a = a + g.sum()
        return a

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for g in (f, torch.compile(f, backend="aot_eager")):
        first = g(x)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = torch.autograd.grad(second.sum(), x)
        assert [first.tolist(), second.tolist(), third.tolist()] == [[5, 16, 33], [8, 14, 20], [6, 6, 6]]
    found = []
    for g in (nested, torch.compile(nested, backend="aot_eager")):
        a, b = torch.ones(2, 2), x[:2].detach().requires_grad_()
        out = g(a * b, b * 2)
        found.append((out, *torch.autograd.grad(out.sum(), b)))
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("name", ["hessian", "jacfwd", "jacrev", "jvp"])
def test_transforms_that_differentiate_twice(name):
    def f(x):
        if name == "jvp":
            return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
        return getattr(torch.func, name)(lambda v: (v**3).sum() if name == "hessian" else v.sin() * v)(x)

    x = torch.arange(3.0)
    torch.testing.assert_close(torch.compile(f, backend="aot_eager")(x), f(x))


def test_second_derivative_that_is_refused():
    """What the arguments were is not there any more, or was never kept."""

    def f(x, total):
        total += x.detach().sum()
        return (x**3).sum()

    g = torch.compile(f, backend="aot_eager")
    x = torch.ones(2, requires_grad=True)
    (first,) = torch.autograd.grad(g(x, torch.zeros(())), x, create_graph=True)
    assert first.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        first.sum().backward()


def test_written_memory_that_is_shared_otherwise():
    """Arguments over one memory, at other places than before, or over memory of their own."""

    def f(x, y):
        x.mul_(2)
        return y + 1

    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return torch._dynamo.lookup_backend("aot_eager")(gm, inputs)

    def account(g):
        out = []
        for a, b in ((0, 4), (0, 2), (1, 2), (2, 1), (2, 2)):
            base = torch.arange(8.0)
            out.append((g(base[a : a + 4], base[b : b + 4]).tolist(), base.tolist()))
        x, y = torch.arange(4.0), torch.ones(4)
        return [*out, g(x, y).tolist(), x.tolist()]

    assert account(torch.compile(f, backend=backend)) == account(f)
    assert len(graphs) == 1


@pytest.mark.parametrize("inside", [False, True])
def test_write_without_gradients(inside):
    """An argument that is written under no_grad gets no history."""

    def f(x, z):
        if inside:
            z = torch.ones(2)
            torch._dynamo.graph_break()
        r = x * 3
        with torch.no_grad():
            z.add_(r)
        return r, z

    x, z = torch.ones(2, requires_grad=True), torch.ones(2)
    r, z = torch.compile(f, backend="aot_eager")(x, z)
    assert (z.requires_grad, z.is_leaf, z.tolist()) == (False, True, [4, 4])
    r.sum().backward()
    assert x.grad.tolist() == [3, 3]


_AT = torch.tensor([0, 1])
WRITES = {
    "add_": lambda o, x: o.add_(x),
    "addcmul_": lambda o, x: o.addcmul_(x, x),
    "addr_": lambda o, x: o.addr_(x[0], x[1]),
    "copy_": lambda o, x: o.copy_(x),
    "index_add_": lambda o, x: o.index_add_(0, _AT, x),
    "index_copy_": lambda o, x: o.index_copy_(0, _AT, x),
    "index_fill_": lambda o, x: o.index_fill_(0, _AT, x.sum()),
    "index_put_": lambda o, x: o.index_put_((_AT,), x),
    "index_reduce_": lambda o, x: o.index_reduce_(0, _AT, x, "mean"),
    "lerp_": lambda o, x: o.lerp_(x, 0.5),
    "put_": lambda o, x: o.put_(_AT, x[0]),
    "row": lambda o, x: o[0].mul_(x[0]).add_(1),
    "scatter_add_": lambda o, x: o.scatter_add_(0, _AT[:, None].expand(2, 2), x),
    "xlogy_": lambda o, x: o.xlogy_(x + 2),
}


@pytest.mark.parametrize("name", WRITES)
def test_gradients_of_writes(name):
    """What is written has no gradient before, whether the operator has a rule or only its parts have."""

    def f(o, x):
        WRITES[name](o, x)
        return x * 3, o.sin()

    found = []
    for g in (f, torch.compile(f, backend="aot_eager")):
        o = torch.tensor([[0.5, 0.0], [1.0, 2.0]])
        x = torch.tensor([[1.0, 0.5], [0.25, 2.0]], requires_grad=True)
        a, b = g(o, x)
        (a.sum() + b.sum() + o.sum()).backward()
        found.append((a, b, o, x.grad))
    torch.testing.assert_close(found[1], found[0])


LAYOUTS = [lambda: torch.ones(4, 8)[:, ::2], lambda: torch.ones(8, 4).t(), lambda: torch.ones(40, 4)[::2].t()]


@pytest.mark.parametrize("make", LAYOUTS)
@pytest.mark.parametrize("draw", ["normal_", "uniform_", "bernoulli_"])
def test_draws_into_leaves_of_any_layout_are_those_of_eager(make, draw):
    def f(x):
        getattr(x.detach(), draw)()
        return x * 2

    results = []
    for g in (f, torch.compile(f, backend="aot_eager")):
        torch.manual_seed(3)
        x = make().requires_grad_()
        results.append((g(x).tolist(), x.tolist(), torch.rand(3).tolist()))
    assert results[0] == results[1]


def test_the_value_of_a_copy_has_the_strides_of_what_is_written():
    gaps = torch.empty_strided((4, 4), (8, 2))
    assert torch.ops.aten.copy(gaps, torch.ones(4)).stride() == (8, 2)
    assert torch.ops.aten.copy(torch.ones(4, 1).expand(4, 3), torch.ones(3)).stride() == (3, 1)
