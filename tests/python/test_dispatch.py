# SPDX-License-Identifier: Apache-2.0
"""__torch_dispatch__: modes, and tensors whose class answers calls."""

import gc
import weakref

import pytest

import ingot as torch
from ingot import nn
from ingot.fx.experimental.proxy_tensor import make_fx
from ingot.nn import functional
from ingot.utils import _python_dispatch as dispatch
from ingot.utils._python_dispatch import TorchDispatchMode
from ingot.utils._pytree import tree_map


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, args, kwargs))
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


class Wrapper(torch.Tensor):
    __slots__ = ["inner"]
    names = []

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, requires_grad=inner.requires_grad
        )
        made.inner = inner.detach()
        return made

    def __repr__(self):
        return f"Wrapper({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.names.append(str(func).removeprefix("aten."))

        def unwrap(x):
            return x.inner if isinstance(x, Wrapper) else x

        def wrap(x):
            return Wrapper(x) if isinstance(x, torch.Tensor) else x

        return tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {})))


@pytest.fixture(autouse=True)
def _fresh():
    Wrapper.names = []
    yield
    assert dispatch._get_current_dispatch_mode_stack() == []


def seen(f):
    with Log() as log:
        f()
    return log.names


def test_modes_see_operators_and_the_parts_of_composites():
    x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    assert seen(lambda: torch.ones(2) + 1) == ["ones.default", "add.Tensor"]
    assert seen(lambda: functional.linear(x, w, b)) == ["t.default", "addmm.default"]
    assert seen(lambda: x.add_(1).mul_(2)) == ["add_.Tensor", "mul_.Tensor"]
    assert seen(lambda: torch.add(b, b, out=torch.empty(4))) == ["empty.memory_format", "add.out"]
    assert seen(lambda: torch.tensor([1.0])) == ["lift_fresh.default"]
    assert seen(lambda: b[0].item()) == ["select.int", "_local_scalar_dense.default"]
    with torch.inference_mode():
        assert seen(lambda: functional.linear(x, w)) == ["linear.default"]


def test_arguments_without_defaults():
    with Log() as log:
        torch.ones(2, 3).sum(1, keepdim=True)
    assert log.calls[0][1:] == (([2, 3],), {"device": torch.device("cpu"), "pin_memory": False})
    assert log.calls[1][0] is torch.ops.aten.sum.dim_IntList
    assert log.calls[1][1][1:] == ([1], True) and log.calls[1][2] == {}


def test_derivatives_are_recorded_above_modes_and_computed_below():
    x = torch.ones(3, requires_grad=True)
    with Log() as log:
        y = x.cos().sum()
        assert y.grad_fn is not None
        y.backward()
    assert torch.allclose(x.grad, -torch.ones(3).sin())
    for name in ("cos.default", "sum.default", "sin.default", "neg.default", "mul.Tensor"):
        assert name in log.names


def test_modes_nest_and_end():
    outer, inner = Log(), Log()
    with outer:
        with inner:
            assert dispatch._get_current_dispatch_mode() is inner
            torch.ones(1)
        torch.zeros(1)
        with dispatch._disable_current_modes():
            torch.empty(1)
    assert inner.names == ["ones.default"] and outer.names == ["ones.default", "zeros.default"]


def test_modes_replace_calls_and_refuse_them():
    class Minus(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.add.Tensor:
                return args[0] - args[1]
            return func(*args, **(kwargs or {}))

    class Never(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    class Fails(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise KeyError("no")

    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return "text"

    with Minus():
        assert (torch.ones(2) + torch.ones(2)).tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.ones.default'"), Never():
        torch.ones(1)
    with pytest.raises(KeyError), Fails():
        torch.ones(1)
    with pytest.raises(RuntimeError, match="schema"), Wrong():
        torch.ones(1)
    assert torch.ones(1).item() == 1


def test_a_mode_that_returns_an_operand_gives_it_no_history():
    class Same(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0]

    x = torch.ones(2, requires_grad=True)
    with Same():
        y = x.sin()
    assert y is not x and x.is_leaf and y.grad_fn is not None


def test_modes_inside_and_around_captures():
    def f(x):
        with Log() as log:
            y = functional.linear(x, torch.ones(2, 2)).relu()
        f.names = log.names
        return y

    gm = make_fx(f)(torch.ones(2, 2))
    assert f.names == ["ones.default", "t.default", "mm.default", "relu.default"]
    assert [str(n.target) for n in gm.graph.nodes if n.op == "call_function"] == ["aten." + n for n in f.names]
    with Log() as log:
        gm = make_fx(lambda x: x.sin() + 1)(torch.ones(2))
    assert [n for n in log.names if n != "ones.default"] == ["sin.default", "add.Tensor"]
    assert len(gm.graph.nodes) == 4


def test_wrappers_answer_calls():
    x = Wrapper(torch.ones(3, 4))
    y = (x * 2 + 1).sum()
    assert type(y) is Wrapper and y.inner.item() == 36
    assert Wrapper.names == ["mul.Tensor", "add.Tensor", "sum.default"]
    assert x.shape == (3, 4) and x.stride() == (4, 1) and type(x.t()) is Wrapper and type(x[0]) is Wrapper
    assert x.add_(1) is x and x.inner.sum() == 24
    assert type(functional.linear(torch.ones(1, 4), x)) is Wrapper
    assert type(torch.cat([torch.ones(1, 4), x])) is Wrapper


def test_wrappers_have_gradients():
    x = Wrapper(torch.ones(3, requires_grad=True))
    (x * x).exp().sum().backward()
    gc.collect()
    assert type(x.grad) is Wrapper
    assert torch.allclose(x.grad.inner, 2 * torch.ones(3).exp())


def test_the_engine_keeps_what_a_wrapper_holds():
    x = Wrapper(torch.full((2,), 3.0, requires_grad=True))
    y = x.sin().cos()  # the middle one is saved for backward, and has no name here
    del x
    gc.collect()
    (g,) = torch.autograd.grad(y.sum(), [y])
    assert type(g) is Wrapper

    held = torch.full((2,), 3.0)
    ref = weakref.ref(held)
    z = Wrapper(held)
    ref_z = weakref.ref(z)
    del held, z
    gc.collect()
    assert ref_z() is None
    assert ref() is None


def test_objects_come_back_from_the_engine():
    class Module(nn.Module):
        def forward(self, x):
            return x * 2

    x = Wrapper(torch.ones(2, requires_grad=True))
    y = Module()(x)
    for _ in range(3):  # the leaf's object dies and is made again from what the tape holds
        leaf = y.grad_fn.next_functions[0][0].variable
        assert type(leaf) is Wrapper and leaf.inner.tolist() == [1, 1]
        del leaf
        gc.collect()


def test_modes_come_before_wrappers():
    with Log() as log:
        y = Wrapper(torch.ones(2)) + 1
    assert type(y) is Wrapper and "add.Tensor" in log.names and Wrapper.names == ["add.Tensor"]


def test_plain_data_in_a_class_that_answers():
    class Counting(torch.Tensor):
        count = 0

        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_subclass(cls, data)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.count += 1
            with dispatch._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    x = Counting(torch.ones(3))
    assert (x + x).tolist() == [2, 2, 2] and Counting.count == 1


def test_parameters_of_a_class():
    p = nn.Parameter(Wrapper(torch.ones(2)))
    assert type(p) is Wrapper and isinstance(p, nn.Parameter) and p.requires_grad

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = p

    assert [n for n, _ in Module().named_parameters()] == ["p"]
    assert not isinstance(torch.ones(1), nn.Parameter)


def test_wrapper_without_a_method_is_refused():
    class Plain(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))


def test_flat_wrappers():
    class Two(torch.Tensor):
        @staticmethod
        def __new__(cls, a, b):
            return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)

        def __init__(self, a, b):
            self.a, self.b = a, b

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Two(inner["a"], inner["b"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def part(name):
                pick = tree_map(lambda x: getattr(x, name) if isinstance(x, Two) else x, (args, kwargs or {}))
                return func(*pick[0], **pick[1])

            return dispatch.return_and_correct_aliasing(func, args, kwargs or {}, Two(part("a"), part("b")))

    t = Two(torch.ones(2), torch.zeros(2))
    assert dispatch.is_traceable_wrapper_subclass(t) and not dispatch.is_traceable_wrapper_subclass(torch.ones(1))
    assert (t + 1).b.tolist() == [1, 1] and t.mul_(2) is t and t.a.tolist() == [2, 2]
    assert dispatch.transform_subclass(t, lambda name, x: x + 2).b.tolist() == [2, 2]


def test_fake_modes_and_custom_operators():
    from ingot._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with FakeTensorMode(), Log() as log:
        x = torch.ones(2) + 1
    assert log.names == ["ones.default", "add.Tensor"] and isinstance(x, FakeTensor)

    @torch.library.custom_op("dispatch_test::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert seen(lambda: double(torch.ones(1)))[-1] == "dispatch_test.double.default"
