# SPDX-License-Identifier: Apache-2.0
"""SymInt, SymFloat, SymBool: arithmetic as Python's, expressions as printed, questions, nodes of a capture."""

import itertools
import math
import operator

import pytest

import ingot as torch
from ingot import SymBool, SymFloat, SymInt
from ingot.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv


@pytest.fixture
def env():
    return ShapeEnv()


def symbol(env, hint=7):
    return env._new_symbol(hint, 2, None)


BINARY = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.lt,
    operator.le, operator.eq, operator.ne, operator.gt, operator.ge, torch.sym_max, torch.sym_min,
]  # fmt: skip


@pytest.mark.parametrize("fn", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("hint", "other"), itertools.product([5, 8], [3, 2.5, -4]))
def test_hints_agree_with_python(env, fn, hint, other):
    s = symbol(env, hint)
    plain = {torch.sym_max: max, torch.sym_min: min}.get(fn, fn)
    for got, want in ((fn(s, other), plain(hint, other)), (fn(other, s), plain(other, hint))):
        value = got.node.require_hint() if isinstance(got, (SymInt, SymFloat, SymBool)) else got
        assert value == pytest.approx(want)
        if isinstance(got, SymBool):
            assert isinstance(want, bool)
        elif isinstance(got, (SymInt, int)):
            assert not isinstance(want, float) or want == int(want)


def test_unary_and_functions(env):
    s = symbol(env)
    assert (-s).node.hint == -7 and abs(-s).node.hint == 7 and (+s) is s
    assert (s**2).node.hint == 49 and str(s**2) == "s0**2"
    q, r = divmod(s, 2)
    assert (q.node.hint, r.node.hint) == (3, 1)
    half = s / 2
    assert isinstance(half, SymFloat)
    assert math.floor(half).node.hint == 3 and math.ceil(half).node.hint == 4 and math.trunc(half).node.hint == 3
    assert round(half).node.hint == round(3.5)
    assert math.floor(s) is s and round(s) is s
    assert torch.sym_sqrt(s).node.hint == pytest.approx(math.sqrt(7))
    assert torch.sym_int(half).node.hint == 3 and torch.sym_float(s).node.hint == 7.0
    assert torch.sym_ite(s > 3, s, s + 1).node.hint == 7
    assert torch.sym_sum([s, 2, s]).node.hint == 16
    assert torch.sym_not(s > 9).node.hint is True


def test_plain_numbers():
    assert torch.sym_max(2, 3) == 3 and torch.sym_min(2, 3.0) == 2.0 and torch.sym_int(2.7) == 2
    assert torch.sym_ite(False, 1, 2) == 2 and torch.sym_not(True) is False and torch.sym_sqrt(4) == 2.0
    assert torch.sym_sum([1, 2, 3]) == 6 and torch.sym_sum([]) == 0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda s: 2 * s + 1, "2*s0 + 1"),
        (lambda s: (s + 1) // 2, "((s0 + 1)//2)"),
        (lambda s: s % 3, "Mod(s0, 3)"),
        (lambda s: s - s, "0"),
        (lambda s: s * s - 1, "s0**2 - 1"),
        (lambda s: s > 4, "s0 > 4"),
        (lambda s: s == 4, "Eq(s0, 4)"),
        (lambda s: (s > 4) & (s < 9), "(s0 > 4) & (s0 < 9)"),
        (lambda s: torch.sym_max(s, 5), "s0"),  # decided by the example value, as in PyTorch 2.5
    ],
)
def test_texts(env, make, text):
    assert str(make(symbol(env))) == text


def test_questions_guard(env):
    s = symbol(env)
    assert s > 3 and not s == 9 and bool(s)
    assert int(s) == 7 and list(range(s))[-1] == 6  # specialised
    assert s == 7


def test_known_without_a_guard(env):
    s = symbol(env)
    assert (s >= 2) is True or torch._C.sym_known(s >= 2) is True
    assert torch._C.sym_known(s > 5) is None


def test_unbacked(env):
    u = env.create_unbacked_symint()
    assert str(u) == "u0" and u.node.hint is None and not u.node.has_hint()
    with pytest.raises(GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression"):
        bool(u > 4)
    with pytest.raises(GuardOnDataDependentSymNode):
        int(u)
    with pytest.raises(RuntimeError, match="no hint"):
        u.node.require_hint()
    torch._check(u > 4)
    assert u > 4 and u + 1 > 5 and not u < 3


def test_checks(env):
    torch._check(True)
    with pytest.raises(RuntimeError, match="Expected cond to be True, but got False"):
        torch._check(False)
    with pytest.raises(ValueError, match="three"):
        torch._check_value(False, lambda: "three")
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch._check(1)
    u = env.create_unbacked_symint()
    torch._check_is_size(u)
    assert u >= 0
    with pytest.raises(RuntimeError):
        torch._check(u < 0)


def test_objects(env):
    s = symbol(env)
    e = (2 * s + 1).node.expr
    assert str(e) == "2*s0 + 1" and e == (1 + s * 2).node.expr and hash(e) == hash((s + s + 1).node.expr)
    assert {str(x) for x in e.free_symbols} == {"s0"} and not e.is_number
    assert s.node.expr.is_symbol and s.node.expr.name == "s0" and s.node.pytype is int
    assert s.node.shape_env._key == env._key
    assert (s == "x") is False and (s != object()) is True
    with pytest.raises(TypeError):
        s + "x"


def export(fn, *args, dims=None, strict=False):
    class M(torch.nn.Module):
        def forward(self, *args):
            return fn(*args)

    shapes = None if dims is None else (tuple({k: torch.export.Dim(v, max=64) for k, v in d.items()} for d in dims),)
    return torch.export.export(M(), args, dynamic_shapes=shapes, strict=strict)


def test_recorded_as_written():
    ep = export(lambda x: x / torch.sym_sqrt(x.shape[0]) + (x.shape[0] * 2 - 1), torch.ones(4, 3), dims=[{0: "n"}])
    code = ep.graph_module.code
    assert code.count("torch._sym_sqrt(") == 1
    assert "sym_size_int * 2" in code and "- 1" in code
    for n in (2, 5):
        x = torch.randn(n, 3)
        assert torch.allclose(ep.module()(x), x / math.sqrt(n) + 2 * n - 1)


def test_dead_arithmetic_disappears():
    def f(x):
        _ = x.shape[0] * 3 + 1
        return x + 1

    assert "sym_size" not in export(f, torch.ones(4, 3), dims=[{0: "n"}]).graph_module.code


def test_outputs():
    ep = export(lambda x: (x.shape[0] + 1, x.shape[0] > 3, x.sum()), torch.ones(5, 2), dims=[{0: "n"}])
    n, big, _ = ep.module()(torch.ones(2, 2))
    assert n == 3 and big is False


def test_item_and_tolist():
    ep = export(lambda x, y: torch.full((2,), x.item() * 2 + 1) + y, torch.tensor(4), torch.ones(2))
    assert ep.module()(torch.tensor(6), torch.ones(2)).tolist() == [14, 14]

    def g(x):
        a, b = x.tolist()
        return torch.full((2,), a + b)

    assert export(g, torch.tensor([1.5, 2.0])).module()(torch.tensor([3.0, 4.0])).tolist() == [7, 7]


def test_data_dependent_branch():
    with pytest.raises(GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression"):
        export(lambda x: x + 1 if x.item() > 3 else x, torch.tensor(4))


def test_outside_of_any_environment():
    ep = export(lambda x: x * 2, torch.ones(4, 3), dims=[{0: "n"}])
    size = next(iter(ep.graph.nodes)).meta["val"].shape[0]
    del ep
    assert isinstance(size, SymInt) and str(size * 2 + size) == "3*s0"


def test_numbers_of_nodes_keep_their_environment():
    ep = export(lambda x: x + (x.shape[0] * 2), torch.ones(4, 3), dims=[{0: "n"}])
    (size,) = [n for n in ep.graph.nodes if n.name == "mul"]
    value = size.meta["val"]
    del ep, size
    assert str(value + 1) == "2*s0 + 1"


def test_hints_of_shifts(env):
    assert (symbol(env) << 1).node.hint == 14
    assert (symbol(env) >> 1).node.hint == 3


def test_environments_and_ranges():
    from ingot.fx.experimental.symbolic_shapes import constrain_range, constrain_unify, guard_size_oblivious
    from ingot.utils._sympy.value_ranges import ValueRangeError, ValueRanges

    env = ShapeEnv()
    u = env.create_unbacked_symint()
    assert u.node.shape_env is env and env.is_unbacked_symint(u.node.expr)
    torch._check_is_size(u)
    assert not guard_size_oblivious(u == 0) and not guard_size_oblivious(u == 1)
    constrain_range(u, min=2, max=5)
    assert str(env.var_to_range) == "{u0: VR[2, 5]}"
    v = env.create_unbacked_symint()
    constrain_unify(u, v)
    assert bool(u == v)
    with pytest.raises(TypeError, match="unsupported operand"):
        u & v
    assert ValueRanges(2, 5) | ValueRanges(7, 9) == ValueRanges(2, 9)
    assert ValueRanges.wrap(3).is_singleton() and str(ValueRanges.unknown()) == "VR[-oo, oo]"
    with pytest.raises(ValueRangeError, match="Invalid ranges"):
        ValueRanges(5, 2)


@pytest.mark.parametrize("function", [operator.and_, operator.or_])
def test_bits_of_numbers_are_not_symbolic(env, function):
    for other in (3, True, symbol(env)):
        with pytest.raises(TypeError, match="unsupported operand"):
            function(symbol(env), other)
    assert isinstance(function(symbol(env) > 3, symbol(env) < 9), SymBool)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda s: s // 0, ZeroDivisionError, "integer division or modulo by zero"),
        (lambda s: s % 0, ZeroDivisionError, "integer"),
        (lambda s: s / 0, ZeroDivisionError, "division by zero"),
        (lambda s: s // 0.0, ZeroDivisionError, "float division by zero"),
        (lambda s: s << 1.5, TypeError, "unsupported operand"),
        (lambda s: s << -1, ValueError, "negative shift count"),
    ],
)
def test_what_python_refuses_of_examples(env, make, error, text):
    with pytest.raises(error, match=text):
        make(symbol(env))


def test_extremes_are_decided_between_known_numbers(env):
    s = symbol(env)
    assert str(torch.sym_max(s, 2)) == str(s) and torch.sym_min(s, 1000) is s
    assert str(s**-1) == "FloatPow(ToFloat(s0), -1.0)"
    assert torch.sym_ite(True, 1, 2) == 1
    with pytest.raises(AssertionError):
        torch.sym_ite(True, 1, 2.0)


def test_operations_by_name():
    import operator

    from ingot.fx.experimental import sym_node

    assert sym_node.method_to_operator("int_floordiv") is operator.floordiv
    assert sym_node.unary_methods - sym_node.unary_magic_methods == {"is_integer"}
    assert "sym_max" in sym_node.magic_methods and "floordiv" not in sym_node.magic_methods


def test_environments():
    from ingot.fx.experimental import symbolic_shapes

    env = symbolic_shapes.ShapeEnv()
    number = env.create_unbacked_symfloat()
    assert str(number) == "zuf0" and isinstance(number, torch.SymFloat) and not number.node.has_hint()
    size = env.create_symintnode(env.create_symbol(5, None, symbolic_shapes.DimDynamic.DYNAMIC), hint=5)
    with env.suppress_guards():
        assert size > 3
    assert env.guards == []
    assert size > 4
    assert [str(guard.expr) for guard in env.guards] == ["s0 > 4"]
    env.check_equal(env)
    with pytest.raises(AssertionError, match="ShapeEnv not equal"):
        env.check_equal(symbolic_shapes.ShapeEnv())


def test_nodes_give_hints_and_guards() -> None:
    from ingot.fx.experimental.symbolic_shapes import definitely_false, definitely_true, hint_int

    env = ShapeEnv()
    read = env.create_unbacked_symint()
    assert hint_int(read, fallback=7) == 7 and read.node.require_hint(fallback=3) == 3
    torch._check_is_size(read)
    assert not definitely_true(read >= 0) and not definitely_false(read < 0)
    from ingot._dynamo.source import ConstantSource

    source = ConstantSource("n")
    size = env.create_symintnode(env.create_symbol(5, source), hint=5, source=source)
    assert size.node.guard_int("", 0) == 5 and size.node.constant is None
    assert [str(g[0]) for g in env.guards] == ["Eq(s0, 5)"]


def test_numbers_of_two_environments_meet_by_the_names_of_their_symbols() -> None:
    def size_of(hint: int):
        env = ShapeEnv()
        return env.create_symintnode(env.create_symbol(hint, None), hint=hint)

    first, second = size_of(4), size_of(4)
    assert str(first + second) == "2*s0" and (first == second) is True
    assert bool(first * 2 == second * 2) and bool(second * 2 + 1 > first)  # after what the first comparison taught
    assert str(torch.sym_max(first * 3, second * 3)) == "3*s0"
    del first
    assert int(second * 2) == 8
