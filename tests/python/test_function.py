# SPDX-License-Identifier: Apache-2.0
"""autograd.Function, grad, backward, gradcheck, Jacobians, the grad modes."""

import pytest

import ingot
from ingot.autograd import Function, Variable, backward, functional, grad, gradcheck, gradgradcheck
from ingot.autograd.function import once_differentiable
from ingot.testing import assert_close
from ingot.utils.checkpoint import checkpoint


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b if ctx.needs_input_grad[0] else None), (g * a if ctx.needs_input_grad[1] else None)


def leaf(*values, dtype=None):
    return ingot.tensor(values, dtype=dtype or ingot.float64, requires_grad=True)


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin() * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos() * 2


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("exporter", [ingot.export.export, ingot.export.export_for_training])
def test_exported_forward_is_no_region_without_grad(exporter, strict):
    """Autograd switches grad mode off around forward; that is no statement of the model, so no program has it."""

    class M(ingot.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = ingot.nn.Parameter(ingot.ones(3))

        def forward(self, x):
            return Doubled.apply(x * self.w) + 1

    program = exporter(M(), (ingot.ones(3),), strict=strict)
    targets = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert targets == ["aten.mul.Tensor", "aten.sin.default", "aten.mul.Tensor", "aten.add.Tensor"]
    assert program.dialect == ("TRAINING" if exporter is ingot.export.export_for_training else "ATEN")
    program.validate()


def test_scale():
    x = leaf(1.0, 2.0)
    y = Scale.apply(x, 3)
    assert y.requires_grad and type(y.grad_fn).__name__ == "ScaleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert not Scale.apply(x.detach(), 3).requires_grad
    with ingot.no_grad():
        assert not Scale.apply(x, 3).requires_grad


def test_saved_tensors_and_second_derivatives():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    assert gradcheck(Product.apply, (a, b)) and gradgradcheck(Product.apply, (a, b))
    constant = ingot.ones(2, dtype=ingot.float64)
    assert gradcheck(lambda x: Product.apply(x, constant), (a,))


def test_setup_context_and_several_results():
    class SinCos(Function):
        @staticmethod
        def forward(x, tag):
            return x.sin(), x.cos(), tag

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*output[:2])

        @staticmethod
        def backward(ctx, gs, gc, gtag):
            sin, cos = ctx.saved_tensors
            assert gtag is None
            return gs * cos - gc * sin, None

    x = leaf(0.3, 0.7)
    s, c, tag = SinCos.apply(x, "tag")
    assert tag == "tag"
    (s * 2 + c).sum().backward()
    assert_close(x.grad, 2 * x.detach().cos() - x.detach().sin())


def test_marks():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            values, order = x.sort()
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(order)
            return values, order

        @staticmethod
        def backward(ctx, g, unused):
            (order,) = ctx.saved_tensors
            return ingot.zeros_like(g).scatter(0, order, g)

    values, order = Sort.apply(leaf(3.0, 1.0, 2.0))
    assert values.requires_grad and not order.requires_grad

    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = leaf(1.0)
    y = x * 1
    z = AddOne.apply(y)
    assert z is y and z.tolist() == [2.0]
    z.sum().backward()
    assert x.grad.tolist() == [5.0]


def test_materialize():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, wanted):
            ctx.set_materialize_grads(wanted)
            return x.clone(), x.clone()

        @staticmethod
        def backward(ctx, a, b):
            seen.append(b)
            return a, None

    Two.apply(leaf(1.0), True)[0].sum().backward()
    Two.apply(leaf(1.0), False)[0].sum().backward()
    assert seen[0].tolist() == [0.0] and seen[1] is None


def test_function_errors():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(
        RuntimeError, match=r"function WrongBackward returned an incorrect number of gradients \(expected 2"
    ):
        Wrong.apply(leaf(1.0), 2).sum().backward()

    class Other(Wrong):
        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match="returned a gradient different from None at position 2"):
        Other.apply(leaf(1.0), 2).sum().backward()
    with pytest.raises(RuntimeError, match="should not be instantiated"):
        Scale()
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Function.apply(leaf(1.0))

    class Raises(Scale):
        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Raises.apply(leaf(1.0), 2).sum().backward()


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(3.0)
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0]
    (first,) = grad((Square.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.sum().backward()


def test_saved_tensor_written_in_place():
    a = leaf(1.0, 2.0)
    b = a * 1
    y = Product.apply(b, b)
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_grad_and_backward():
    x, y = leaf(2.0), leaf(3.0)
    gx, gy = grad(x * x * y, (x, y))
    assert gx.tolist() == [12.0] and gy.tolist() == [4.0] and x.grad is None
    (second,) = grad(grad((x * x * x).sum(), x, create_graph=True)[0].sum(), x)
    assert second.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad(x.sum(), (x, y))
    assert grad(x.sum(), (x, y), allow_unused=True)[1] is None
    assert grad(x.sum(), (x, y), materialize_grads=True)[1].tolist() == [0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        grad(x.sum(), x, allow_unused=False, materialize_grads=True)
    backward([x * 2, y * 3], [ingot.ones_like(x), ingot.ones_like(y)], inputs=[x])
    assert x.grad.tolist() == [2.0] and y.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        backward(x * 2, inputs=[])


def test_variable():
    x = Variable(ingot.ones(2), requires_grad=True)
    assert x.requires_grad and isinstance(x, ingot.Tensor) and isinstance(ingot.ones(1), Variable)


def test_gradcheck_finds_errors():
    class Bad(Scale):
        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor * 1.1, None

    x = leaf(1.0, 2.0)
    assert gradcheck(lambda v: Scale.apply(v, 3.0), (x,))
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(lambda v: Bad.apply(v, 3.0), (x,))
    assert not gradcheck(lambda v: Bad.apply(v, 3.0), (x,), raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda v: v * 2, (x.detach(),))


def test_functional():
    x = ingot.tensor([1.0, 2.0, 3.0], dtype=ingot.float64)
    jac = functional.jacobian(lambda v: v * v, x)
    assert_close(jac, ingot.tensor([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]], dtype=ingot.float64))
    both = functional.jacobian(lambda a, b: (a * b, a.sum()), (x, x))
    assert_close(both[0][1], jac / 2)
    assert_close(both[1][0], ingot.ones(3, dtype=ingot.float64))
    assert_close(functional.hessian(lambda v: (v**3).sum(), x), jac * 3)
    out, found = functional.vjp(lambda v: v * v, x, ingot.ones_like(x))
    assert_close(found, 2 * x)
    assert_close(out, x * x)
    assert_close(functional.jvp(lambda v: v * v, x, ingot.ones_like(x))[1], 2 * x)
    assert_close(functional.hvp(lambda v: (v**3).sum(), x, ingot.ones_like(x))[1], 6 * x)
    assert_close(functional.vhp(lambda v: (v**3).sum(), x, ingot.ones_like(x))[1], 6 * x)
    with pytest.raises(RuntimeError, match="Entry 0 in v has invalid size"):
        functional.vjp(lambda v: v, x, ingot.ones(2))


def test_modes():
    x = leaf(1.0)
    with ingot.no_grad():
        assert not ingot.is_grad_enabled() and not (x * 2).requires_grad
        with ingot.enable_grad():
            assert (x * 2).requires_grad
        assert not ingot.is_grad_enabled()
    assert ingot.is_grad_enabled()
    with ingot.set_grad_enabled(False):
        assert not ingot.is_grad_enabled()
    assert ingot.is_grad_enabled()
    ingot.set_grad_enabled(False)
    assert not ingot.is_grad_enabled()
    ingot.set_grad_enabled(True)
    with pytest.raises(ZeroDivisionError), ingot.no_grad():
        1 / 0  # noqa: B018
    assert ingot.is_grad_enabled()


def test_mode_decorators():
    @ingot.no_grad()
    def one():
        return ingot.is_grad_enabled()

    @ingot.no_grad
    def two():
        """doc"""
        return ingot.is_grad_enabled()

    @ingot.set_grad_enabled(False)
    def three():
        return ingot.is_grad_enabled()

    assert not one() and not two() and not three() and ingot.is_grad_enabled() and two.__doc__ == "doc"

    @ingot.no_grad()
    def steps():
        try:
            got = yield ingot.is_grad_enabled()
            yield got, ingot.is_grad_enabled()
        except KeyError:
            yield "caught", ingot.is_grad_enabled()

    generator = steps()
    assert next(generator) is False and ingot.is_grad_enabled()
    assert generator.send(5) == (5, False) and ingot.is_grad_enabled()
    generator = steps()
    next(generator)
    assert generator.throw(KeyError()) == ("caught", False) and ingot.is_grad_enabled()


def test_inference_mode():
    x = leaf(1.0)
    with ingot.inference_mode():
        y = x * 2
        assert ingot.is_inference_mode_enabled() and not y.requires_grad and y.is_inference()
        with ingot.inference_mode(False):
            assert not ingot.is_inference_mode_enabled()
    assert not ingot.is_inference_mode_enabled() and ingot.is_grad_enabled()

    @ingot.inference_mode()
    def call():
        return ingot.is_inference_mode_enabled()

    assert call() and not ingot.is_inference_mode_enabled()


def test_random():
    ingot.manual_seed(3)
    state = ingot.get_rng_state()
    first = ingot.rand(3)
    ingot.set_rng_state(state)
    assert_close(ingot.rand(3), first, rtol=0, atol=0)
    assert ingot.initial_seed() == 3
    state = ingot.get_rng_state()
    with ingot.random.fork_rng():
        ingot.rand(2)
    assert_close(ingot.get_rng_state(), state, rtol=0, atol=0)
    assert isinstance(ingot.seed(), int)


def test_finfo_iinfo():
    info = ingot.finfo(ingot.float32)
    assert (info.bits, info.eps, info.tiny) == (32, 2.0**-23, 2.0**-126) and info.min == -info.max
    assert repr(info) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert ingot.finfo(ingot.float8_e4m3fn).max == 448 and ingot.finfo(ingot.bfloat16).eps == 2.0**-7
    assert ingot.finfo(ingot.complex64).dtype == "float32" and ingot.finfo().dtype == "float32"
    info = ingot.iinfo(ingot.int8)
    assert (info.min, info.max, info.bits, info.dtype) == (-128, 127, 8, "int8")
    assert ingot.iinfo(ingot.uint64).max == 2**64 - 1
    assert repr(info) == "iinfo(min=-128, max=127, dtype=int8)"
    for wrong in (lambda: ingot.finfo(ingot.int8), lambda: ingot.iinfo(ingot.float32), lambda: ingot.finfo(3)):
        with pytest.raises(TypeError):
            wrong()


def test_top_level_functions():
    a, b = ingot.ones(2, 1), ingot.arange(3.0)
    assert ingot.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    with pytest.raises(RuntimeError, match="Shape mismatch"):
        ingot.broadcast_shapes((2,), (3,))
    assert ingot.typename(a) == "torch.FloatTensor" and ingot.typename(3) == "int"
    assert ingot.is_tensor(a) and not ingot.is_tensor(3) and ingot.numel(b) == 3
    ingot._check(True)
    with pytest.raises(RuntimeError, match="because"):
        ingot._check(False, lambda: "because")
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        ingot._check(False)
    with pytest.raises(ValueError, match="v"):
        ingot._check_value(False, lambda: "v")
    assert ingot.sym_int(3.7) == 3 and ingot.sym_max(2, 3.0) == 3.0 and ingot.sym_not(False) is True
    with pytest.raises(AttributeError, match="no_such_name"):
        ingot.no_such_name  # noqa: B018


def test_gradients_without_elements_are_summed():
    x = ingot.zeros(0, 3, requires_grad=True)
    y = x + 1
    ingot.autograd.backward([y.sum(), (y + y).sum()])
    assert x.grad.shape == (0, 3)
    ingot.zeros(0, 1).expand(0, 3).add_(1)


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_is_saved_has_its_history(create_graph):
    seen = []

    class Save(Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            (a,) = ctx.saved_tensors
            seen.append((a.requires_grad, a.is_leaf, type(a.grad_fn).__name__))
            return grad * 2

    x = ingot.ones(2, requires_grad=True)
    grad(Save.apply(x + 1).sum(), x, create_graph=create_graph)
    assert seen == [(True, False, "AddBackward0")]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_of_a_computed_tensor(reentrant):
    layer = ingot.nn.Linear(2, 2)
    grads = []
    for run in (lambda f, v: f(v), lambda f, v: checkpoint(f, v, use_reentrant=reentrant)):
        x = ingot.arange(4.0).view(2, 2).requires_grad_()
        layer.zero_grad()
        run(lambda v: layer(v).sin(), x * 3).cos().sum().backward()
        grads.append([x.grad, layer.weight.grad.clone(), layer.bias.grad.clone()])
    for a, b in zip(*grads):
        assert a.abs().sum() > 0 and ingot.allclose(a, b)
