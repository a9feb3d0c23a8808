# SPDX-License-Identifier: Apache-2.0
"""torch.library: definitions, implementations in Python, gradients, capture, refusals."""

import threading

import pytest

import ingot as torch
from ingot import Tensor
from ingot.library import Library, _scoped_library


@pytest.fixture
def lib():
    with _scoped_library("libtest", "FRAGMENT") as made:
        yield made


def test_overloads_and_schema(lib):
    lib.define("mix(Tensor x, Scalar k=2, *, bool flip=False) -> Tensor", tags=torch.Tag.pointwise)
    lib.define("mix.two(Tensor x, Tensor y) -> (Tensor, Tensor)")
    seen = []

    def kernel(x, k=2, **kwargs):
        seen.append((k, kwargs))
        return x * k

    lib.impl("mix", kernel, "CPU")
    lib.impl("mix.two", lambda x, y: (x + y, x - y), "CPU")
    x = torch.ones(2)
    assert torch.ops.libtest.mix(x).tolist() == [2, 2]
    assert torch.ops.libtest.mix(x, 5, flip=True).tolist() == [5, 5]
    assert seen == [(2, {}), (5, {"flip": True})]
    a, b = torch.ops.libtest.mix.two(x, x)
    assert a.tolist() == [2, 2] and b.tolist() == [0, 0]
    overload = torch.ops.libtest.mix.default
    assert overload.name() == "libtest::mix" and overload.namespace == "libtest"
    assert str(overload) == "libtest.mix.default" and torch.Tag.pointwise in overload.tags
    assert sorted(torch.ops.libtest.mix.overloads()) == ["default", "two"]
    assert str(overload._schema).startswith("libtest::mix(Tensor x, Scalar k=2, *, bool flip=False)")


def test_scope_ends(lib):
    with _scoped_library("libtest", "FRAGMENT") as inner:
        inner.define("gone(Tensor x) -> Tensor")
        assert torch.ops.libtest.gone.default is not None
    with pytest.raises(AttributeError):
        torch.ops.libtest.gone  # noqa: B018


def test_errors_pass_through(lib):
    lib.define("boom(Tensor x) -> Tensor")
    lib.impl("boom", lambda x: {}["nothing"], "CPU")
    with pytest.raises(KeyError, match="nothing"):
        torch.ops.libtest.boom(torch.ones(1))
    lib.define("number(Tensor x) -> Tensor")
    lib.impl("number", lambda x: 3, "CPU")
    with pytest.raises(RuntimeError, match="result 0 of its implementation is a int"):
        torch.ops.libtest.number(torch.ones(1))
    lib.define("pair(Tensor x) -> (Tensor, Tensor)")
    lib.impl("pair", lambda x: (x,), "CPU")
    with pytest.raises(RuntimeError, match="another number of results"):
        torch.ops.libtest.pair(torch.ones(1))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Library("libtest", "OTHER"), ValueError, "Unsupported kind"),
        (lambda: Library("prim", "FRAGMENT"), ValueError, "reserved namespace"),
        (lambda: torch.library.define("noname", "() -> ()"), ValueError, "namespace::name"),
        (lambda: torch.library.define("a::b", "Tensor x"), ValueError, "expected schema to look like"),
        (lambda: torch.library.impl("a::nothere", "cpu", abs), RuntimeError, "operator a::nothere does not exist"),
        (lambda: torch.library.register_fake(3), ValueError, "unexpected type"),
        (lambda: torch.library.define("a::c", "(Wrong[ x) -> ()"), ValueError, "schema"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_double_definition(lib):
    lib.define("once(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times: libtest::once"):
        lib.define("once(Tensor x) -> Tensor")


def test_def_owns_a_namespace():
    with _scoped_library("libowned", "DEF"):
        with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
            Library("libowned", "DEF")
    with _scoped_library("libowned", "DEF"):
        pass


def test_infer_schema():
    def f(x: Tensor, ys: list[Tensor], k: int = 3, *, s: str = "a", o: Tensor | None = None) -> tuple[Tensor, int]: ...

    text = torch.library.infer_schema(f, mutates_args=["x"])
    assert text == '(Tensor(a0!) x, Tensor[] ys, SymInt k=3, *, str s="a", Tensor? o=None) -> (Tensor, SymInt)'

    def g(x, y: Tensor) -> Tensor: ...

    with pytest.raises(ValueError, match="x must have a type annotation"):
        torch.library.infer_schema(g, mutates_args=())


@torch.library.custom_op("libtest2::scale", mutates_args=())
def scale(xs: list[Tensor], s: float) -> list[Tensor]:
    return [x * s for x in xs]


@scale.register_fake
def _(xs, s):
    return [torch.empty_like(x) for x in xs]


scale.register_autograd(
    lambda ctx, grads: ([g * ctx.s for g in grads], None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "s", inputs[1]),
)


def test_gradient_of_lists():
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    x, y = scale([a, b], 3.0)
    (x.sum() + 2 * y.sum()).backward()
    assert a.grad.tolist() == [3, 3] and b.grad.tolist() == [6, 6]


def test_custom_op_without_formula():
    @torch.library.custom_op("libtest2::plain", mutates_args=())
    def plain(x: Tensor) -> Tensor:
        return x + 1

    x = torch.ones(2, requires_grad=True)
    out = plain(x)
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        out.sum().backward()


def test_custom_op_alias():
    @torch.library.custom_op("libtest2::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(torch.ones(2))


def test_custom_op_mutates():
    @torch.library.custom_op("libtest2::bump", mutates_args={"x"})
    def bump(x: Tensor, by: float = 1.0) -> None:
        x.add_(by)

    x = torch.zeros(2)
    assert bump(x, 2.5) is None
    assert x.tolist() == [2.5, 2.5]


def test_captured_whole_then_expanded(lib):
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")

    class M(torch.nn.Module):
        def forward(self, x):
            return torch.ops.libtest.twice(x.sin())

    ep = torch.export.export(M(), (torch.ones(2),))
    assert "libtest.twice.default" in str(ep.graph) and "aten.add" not in str(ep.graph)
    apart = str(ep.run_decompositions().graph)
    assert "libtest.twice" not in apart and "aten.add.Tensor" in apart


def test_composite_has_a_gradient(lib):
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x * x * x, "CompositeImplicitAutograd")
    x = torch.full((2,), 2.0, requires_grad=True)
    torch.ops.libtest.cube(x).sum().backward()
    assert x.grad.tolist() == [12, 12]


def test_no_fake_rule(lib):
    lib.define("blind(Tensor x) -> Tensor")
    lib.impl("blind", lambda x: x + 1, "CPU")

    class M(torch.nn.Module):
        def forward(self, x):
            return torch.ops.libtest.blind(x)

    with pytest.raises(Exception, match=r"no fake impl registered for libtest::blind"):
        torch.export.export(M(), (torch.ones(2),))


def test_threads(lib):
    lib.define("busy(Tensor x) -> Tensor")
    lib.impl("busy", lambda x: x + 1, "CPU")
    errors = []

    def work(n):
        try:
            for i in range(20):
                lib.define(f"t{n}_{i}(Tensor x) -> Tensor")
                lib.impl(f"t{n}_{i}", lambda x: x * 2, "CPU")
                assert getattr(torch.ops.libtest, f"t{n}_{i}")(torch.ops.libtest.busy(torch.ones(1))).item() == 4
        except Exception as e:  # noqa: BLE001: reported below
            errors.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_lists_of_custom_operators_have_any_length() -> None:
    with _scoped_library("lists_any", "FRAGMENT") as lib:
        lib.define("f(Tensor x, int[2] k, int[1] dim) -> Tensor")
        seen = []
        lib.impl("f", lambda x, k, dim: (seen.append((list(k), list(dim))), x + 1)[1], "CPU")
        torch.ops.lists_any.f(torch.ones(2), [1, 2, 3], [])
        torch.ops.lists_any.f(torch.ones(2), 4, [0, 1])
    assert seen == [([1, 2, 3], []), ([4, 4], [0, 1])]


def test_a_stride_may_be_empty_for_pools_only() -> None:
    x = torch.ones(1, 1, 4, 4)
    assert torch.ops.aten.avg_pool2d(x, [2, 2], []).shape == (1, 1, 2, 2)
    with pytest.raises(RuntimeError, match="stride"):
        torch.ops.aten.im2col(x, [2, 2], [1, 1], [0, 0], [])
    with pytest.raises(RuntimeError, match="kernel_size"):
        torch.ops.aten.avg_pool2d(x, [], [])
    assert torch.ops.aten.roll(torch.ones(2, 2), [1, 1], [0, 1]).shape == (2, 2)


def test_functions_of_torch_nn_are_told_apart() -> None:
    assert repr(torch.nn.functional.gelu) == "<built-in function gelu>"
    assert repr(torch.add).startswith("<built-in method add of type object")


def test_messages_of_infer_schema():
    import typing

    from ingot._library.utils import lookup_op, parse_namespace

    def f(x: torch.Tensor, y: typing.Tuple[int, int]) -> torch.Tensor:  # noqa: UP006
        return x

    with pytest.raises(ValueError, match=r"For example, typing.List\[int\]"):
        torch.library.infer_schema(f, mutates_args=())

    def g(x: torch.Tensor, y: typing.Sequence[int] = (1,)) -> torch.Tensor:  # noqa: UP006
        return x

    with pytest.raises(ValueError, match="y has an unsupported default value type <class 'tuple'>"):
        torch.library.infer_schema(g, mutates_args=())

    def h(x: torch.Tensor) -> str:
        return ""

    with pytest.raises(ValueError, match="Return has unsupported type <class 'str'>. The valid types are:"):
        torch.library.infer_schema(h, mutates_args=())
    assert parse_namespace("a::b") == ("a", "b")
    with pytest.raises(ValueError, match="Expected `qualname` to be of the form"):
        parse_namespace("ab")
    assert lookup_op("aten::add.Tensor") is torch.ops.aten.add.Tensor


def test_kernels_and_fakes_once():
    with torch.library._scoped_library("once", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU")
        with pytest.raises(RuntimeError, match="already a kernel registered from python overriding f's behavior"):
            lib.impl("f", lambda x: x, "CPU")
        torch.library.register_fake("once::f", lambda x: x)
        with pytest.raises(RuntimeError, match="already has an fake impl registered at .*test_library.py:"):
            torch.library.register_fake("once::f", lambda x: x)
    with torch.library._scoped_library("once", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 2, "CPU")
        assert torch.ops.once.f(torch.ones(1)).tolist() == [3]
