# SPDX-License-Identifier: Apache-2.0
"""FakeTensorMode and ShapeEnv: tensors without elements, modes around captures, fake inputs and weights."""

import gc
import time
import weakref

import pytest

import ingot as torch
from ingot._subclasses import FakeTensor, FakeTensorMode
from ingot._subclasses.fake_tensor import maybe_get_fake_mode, unset_fake_temporarily
from ingot.fx.experimental.symbolic_shapes import ShapeEnv


def test_inside_the_mode():
    mode = FakeTensorMode()
    with mode as entered:
        assert entered is mode
        made = [torch.randn(2, 3), torch.tensor([1.0]), torch.arange(4), torch.zeros(2).add_(1)]
        layer = torch.nn.Linear(3, 5)
        out = layer(made[0])
    real = torch.ones(2)
    for t in [*made, layer.weight, out, made[0].t(), made[0][1:]]:
        assert isinstance(t, FakeTensor) and t.fake_mode is mode and maybe_get_fake_mode(t) is mode
    assert out.shape == (2, 5)
    assert not isinstance(real, FakeTensor) and maybe_get_fake_mode(real) is None
    with pytest.raises(AttributeError):
        real.fake_mode  # noqa: B018
    # Operators on fakes give fakes of their mode outside as well.
    assert (out + 1).fake_mode is mode


def test_nested_and_unset():
    outer, inner = FakeTensorMode(), FakeTensorMode()
    with outer:
        with inner:
            a = torch.ones(2)
            with unset_fake_temporarily():
                assert torch.ones(2).sum().item() == 2
            b = torch.ones(2)
        c = torch.ones(2)
    assert (a.fake_mode, b.fake_mode, c.fake_mode) == (inner, inner, outer)
    assert torch.ones(1).item() == 1


def test_mode_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), FakeTensorMode():
        _ = 1 / 0
    assert torch.ones(2).tolist() == [1, 1]


def test_from_tensor():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    t = torch.randn(3, 1, 3, requires_grad=True)
    fake = mode.from_tensor(t)
    assert mode.from_tensor(t) is fake and mode.from_tensor(fake) is fake
    assert str(fake.shape[0]) == str(fake.shape[2]) == "s0" and fake.shape[1] == 1
    assert fake.requires_grad and fake.dtype == t.dtype
    assert mode.from_tensor(torch.ones(3), static_shapes=True).shape == (3,)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        FakeTensorMode().from_tensor(fake)
    with pytest.raises(TypeError):
        FakeTensor()


def test_devices():
    with FakeTensorMode(), torch.device("meta"):
        x = torch.rand(2)
    assert x.device.type == "meta"
    x.fake_device = torch.device("cuda:1")
    assert x.device == torch.device("cuda:1") and (x + 1).fake_device == torch.device("cuda:1")
    with pytest.raises(TypeError):
        x.fake_device = 3.5
    with pytest.raises(AttributeError):
        torch.ones(1).fake_device = torch.device("cpu")


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3, 3))
        self.register_buffer("b", torch.zeros(3))

    def forward(self, x):
        return x @ self.w + self.b + torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("strict", [True, False])
def test_export_with_fakes(strict):
    mode = FakeTensorMode(shape_env=ShapeEnv(tracked_fakes=[]))
    real = Sum()
    with mode:
        x = torch.randn(2, 3)
        fake = Sum()
    ep = torch.export.export(real, (x,), strict=strict)
    example = torch.randn(2, 3)
    assert torch.allclose(ep.module()(example), real(example))
    torch.export.export(fake, (torch.randn(2, 3),), strict=strict)
    with mode:
        inside = torch.export.export(fake, (x,), strict=strict)
        assert inside.module()(x).fake_mode is mode
    assert torch.ones(1).item() == 1


def test_lives_as_long_as_needed():
    mode = FakeTensorMode()
    with mode:
        x = torch.ones(2)
    gone = weakref.ref(mode)
    del mode
    gc.collect()
    assert gone() is None
    # The tensor is still a fake one; its mode is created again, and stays the same while it is referenced.
    again = x.fake_mode
    assert (x + 1).fake_mode is again


def test_symbols_made_by_hand():
    from ingot._dynamo.source import ConstantSource
    from ingot.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

    def number(env, value, dim=DimDynamic.DUCK):
        symbol = env.create_symbol(value, ConstantSource("x"), dim)
        return env.create_symintnode(symbol, hint=value, source=None)

    env = ShapeEnv()
    a, b = number(env, 5), number(env, 3)
    assert str(a) == "s0" and number(env, 5) is not None and str(number(env, 5)) == "s0"
    assert number(env, 1) == 1 and number(env, 7, DimDynamic.STATIC) == 7
    assert str(number(env, 5, DimDynamic.DYNAMIC)) == "s2"
    assert str(a.node.expr * 2 + b.node.expr) == "2*s0 + s1"
    assert env.size_hint(a.node.expr * b.node.expr) == 15
    assert str(env.bound_sympy(a.node.expr)) == "VR[2, int_oo]"
    assert env.guards == [] and env.evaluate_expr(a.node.expr > 4) is True
    assert [str(g.expr) for g in env.guards] == ["s0 > 4"]
    assert str(env.bound_sympy(a.node.expr)) == "VR[5, int_oo]"
    assert a == 5 and str(a) == "5" and str(next(iter(env.replacements))) == "s0"
    assert {str(k): v for k, v in env.var_to_val.items()} == {"s0": 5, "s1": 3, "s2": 5}

    sizes, strides, offset = ShapeEnv().create_symbolic_sizes_strides_storage_offset(torch.ones(3, 4))
    assert [str(n) for n in (*sizes, *strides, offset)] == ["s0", "s1", "s1", "1", "0"]
    assert [str(number(ShapeEnv(specialize_zero_one=False), n)) for n in (0, 1)] == ["s0", "s0"]
    loose = ShapeEnv(duck_shape=False)
    assert str(number(loose, 4)) == "s0" and str(number(loose, 4)) == "s1"


def test_numbers_of_fake_tensors_outside_their_mode():
    from ingot._subclasses.fake_tensor import FakeTensorMode
    from ingot.fx.experimental.symbolic_shapes import ShapeEnv, constrain_range, statically_known_true

    env = ShapeEnv()
    x = FakeTensorMode(shape_env=env).from_tensor(torch.ones(3, 4))
    assert str(x.numel()) == "s0*s1"
    u = env.create_unbacked_symint()
    constrain_range(u, min=2, max=5)
    assert statically_known_true(u > 1) and not statically_known_true(u > 2)


def test_guards_as_expressions_about_inputs():
    from ingot._dynamo.source import LocalSource
    from ingot.fx.experimental.symbolic_shapes import ShapeEnv

    env = ShapeEnv()
    fake = FakeTensorMode(shape_env=env).from_tensor(torch.empty(4, 6), source=LocalSource("x"))
    assert fake.shape[0] > 3 and fake.shape[1] % 2 == 0
    assert env.produce_guards([fake], [LocalSource("x")]) == [
        "L['x'].stride()[0] == L['x'].size()[1]",
        "Eq(Mod(L['x'].size()[1], 2), 0)",
        "4 <= L['x'].size()[0]",
        "2 <= L['x'].size()[1]",
    ]
    assert env.evaluate_guards_for_args([fake], [torch.empty(9, 4)])
    assert not env.evaluate_guards_for_args([fake], [torch.empty(9, 5)])
    assert not env.evaluate_guards_for_args([fake], [torch.empty(3, 4)])
    assert [str(guard.expr) for guard in env.get_pruned_guards([fake.shape[0]])] == ["s0 > 3"]
    assert {str(s): n for s, n in env.bind_symbols([fake], [torch.empty(9, 4)]).items()} == {"s0": 9, "s1": 4}
    with pytest.raises(AssertionError, match="s1 is in none of the inputs"):
        env.produce_guards([fake.shape[0]], ["n"])


def test_contexts_and_constraints_of_sizes():
    from ingot._dynamo.source import ConstantSource
    from ingot.fx.experimental import symbolic_shapes as shapes
    from ingot.utils._sympy.value_ranges import ValueRanges

    kinds = shapes.DimDynamic
    context = shapes.StatelessSymbolicContext(dynamic_sizes=[kinds.DYNAMIC, kinds.STATIC])
    assert context.dynamic_strides == [kinds.INFER_STRIDE] * 2 and context.constraint_sizes == [None, None]
    env = shapes.ShapeEnv(duck_shape=False)
    made = env.create_symbolic_sizes_strides_storage_offset(torch.empty(3, 4), symbolic_context=context)
    assert str(made) == "((s0, 4), (4, 1), 0)"
    with pytest.raises(AssertionError, match="2 != 3"):
        env.create_symbolic_sizes_strides_storage_offset(torch.empty(3, 4, 5), symbolic_context=context)
    assert shapes.StrictMinMaxConstraint(False, ValueRanges(2, 5)).render(ConstantSource("n")) == "2 <= n <= 5"
    assert not env.settings.duck_shape and env.settings.specialize_zero_one
    with pytest.raises(TypeError, match="unexpected keyword argument 'unknown'"):
        shapes.ShapeEnv(unknown=1)


def test_ranges_that_contradict():
    from ingot.fx.experimental.symbolic_shapes import ShapeEnv, constrain_range, constrain_unify
    from ingot.utils._sympy.value_ranges import ValueRangeError, ValueRanges

    env = ShapeEnv()
    number = env.create_unbacked_symint()
    constrain_range(number, min=3, max=9)
    assert str(env.var_to_range[number.node.expr]) == "VR[3, 9]"
    with pytest.raises(ValueRangeError, match=r"Invalid ranges \[20:9\]"):
        constrain_range(number, min=20)
    with pytest.raises(ValueError, match=r"Invalid value 5 for range \[6:int_oo\]"):
        constrain_range(5, min=6)
    constrain_unify(number, 4)
    assert int(number) == 4
    assert str(ValueRanges(1, 5) | ValueRanges(-2, 3)) == "VR[-2, 5]"
    assert str((ValueRanges.unknown(), ValueRanges.unknown_int())) == "(VR[-oo, oo], VR[-int_oo, int_oo])"
    with pytest.raises(ValueRangeError):
        ValueRanges(5, 1)


def test_layouts_outside_of_the_mode() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(torch.ones(3, 4))
    assert x.is_contiguous() and not x.t().is_contiguous()
    assert len(x) == 3
    assert [str(g[0]) for g in mode.shape_env.guards] == ["Eq(s0, 3)"]


def test_shapes_of_a_recurrent_layer_do_not_take_its_steps():
    lstm = torch.nn.LSTM(2, 3, batch_first=True)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        start = time.process_time()
        out, (h, cell) = lstm(torch.empty(4, 1_000_000, 2))
        seconds = time.process_time() - start
    assert (out.shape, out.stride()) == ((4, 1_000_000, 3), (3, 12, 1))
    assert (h.shape, cell.shape) == ((1, 4, 3), (1, 4, 3))
    assert seconds < 1
