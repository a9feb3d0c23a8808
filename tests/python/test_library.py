# SPDX-License-Identifier: Apache-2.0
"""torch.library: definitions, implementations in Python, gradients, capture, refusals."""

import threading
import typing

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


def test_real_types_name_what_the_jit_holds_as_integers():
    size, dtype, layout, *_ = torch.ops.aten.zeros.default._schema.arguments
    assert [str(dtype.type), str(dtype.real_type), str(layout.real_type)] == [
        "Optional[int]", "Optional[ScalarType]", "Optional[Layout]",
    ]  # fmt: skip
    assert dtype.real_type.getElementType().kind() == "ScalarTypeType"
    assert dtype.type.getElementType().kind() == "IntType"
    assert str(size.real_type) == str(size.type) == "List[int]"
    memory_format = torch.ops.aten.zeros_like.default._schema.arguments[-1]
    assert memory_format.real_type.getElementType().kind() == "MemoryFormatType"


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
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor: result 0 of the implementation"):
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
        (lambda: torch.library.register_fake("a::nothere", abs), RuntimeError, "operator a::nothere does not exist"),
        (lambda: torch.library.register_fake("nothere", abs), ValueError, "of the form \"namespace::name\""),
        (lambda: torch.library.register_fake("aten::sin", abs), RuntimeError, "already has an DispatchKey::Meta"),
        (lambda: torch.library.register_autograd("a::nothere", abs), AttributeError, "'a' object has no attribute"),
        (lambda: torch.library.register_vmap("a::nothere", abs), AttributeError, "'a' object has no attribute"),
        (lambda: torch.library.opcheck("a::b", ()), ValueError, "op must be instance of torch._ops.OpOverload"),
        (lambda: torch.library.opcheck(torch.ops.aten.sin, (), test_utils="x"), ValueError, "to be subset of"),
        (lambda: Library("aten", "DEF"), RuntimeError, "Only a single TORCH_LIBRARY"),
        (lambda: Library("libtest", "IMPL").define("f() -> ()"), RuntimeError, "inside of a TORCH_LIBRARY_IMPL block"),
        (lambda: torch.library.define("a::c", "(Wrong[ x) -> ()"), RuntimeError, "schema"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_double_definition(lib):
    lib.define("once(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times. Each overload"):
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


def _annotated(text):
    scope = {"Tensor": Tensor, "typing": typing}
    exec(f"def f{text}: ...", scope)
    return scope["f"]


@pytest.mark.parametrize(
    ("signature", "mutates", "text"),
    [
        ("(x: dict) -> Tensor", (), "x has unsupported type <class 'dict'>. The valid types are: dict_keys"),
        ("(x: typing.Tuple[int, int]) -> Tensor", (), r"please try to use List instead. For example, typing.List\[int"),
        ("(x: typing.Sequence[int] = (1,)) -> Tensor", (), "unsupported default value type <class 'tuple'>"),
        ("(x: Tensor) -> typing.Optional[Tensor]", (), "Return has unsupported type"),
        ("(x: Tensor)", (), "No return type annotation was provided"),
        ("(x: Tensor, *args) -> Tensor", (), "We do not support positional-only args"),
        ("(x: Tensor) -> Tensor", {"q"}, "{'q'} in mutates_args were not found in the custom op's signature"),
        ("(x: Tensor) -> Tensor", "x", "mutates_args must either be a sequence of the names"),
        ("(x: int) -> Tensor", {"x"}, "only Tensors or collections of Tensors can be mutated"),
    ],
)
def test_infer_schema_refusals(signature, mutates, text):
    with pytest.raises(ValueError, match=text):
        torch.library.infer_schema(_annotated(signature), mutates_args=mutates)


def test_kernels_are_not_registered_twice(lib):
    lib.define("own(Tensor x) -> Tensor")
    lib.impl("own", lambda x: x + 1, "CPU")
    with pytest.raises(RuntimeError, match="overriding own's behavior for CPU dispatch key and libtest namespace"):
        lib.impl("own", lambda x: x + 2, "CPU")
    lib.impl("own", lambda x: x + 3, "CompositeExplicitAutograd")  # the kernel of the device precedes it
    assert torch.ops.libtest.own(torch.zeros(1)).item() == 1
    torch.library.register_fake("libtest::own", lambda x: torch.empty_like(x))
    with pytest.raises(RuntimeError, match=r"already has an fake impl registered at .*test_library.py:\d+"):
        torch.library.register_fake("libtest::own", lambda x: x)


def test_composites_have_no_fake_kernel(lib):
    lib.define("apart(Tensor x) -> Tensor")
    lib.impl("apart", lambda x: x.sin(), "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="CompositeImplicitAutograd operators do not need an fake impl"):
        torch.library.register_fake("libtest::apart", lambda x: x)


def test_definition_replaces_an_earlier_one():
    def make(by):
        def f(x: Tensor) -> Tensor:
            return x + by

        return torch.library.custom_op("libtest2::again", f, mutates_args=())

    make(1.0)
    assert make(2.0)(torch.zeros(1)).item() == 2
    assert torch.ops.libtest2.again(torch.zeros(1)).item() == 2


def test_schema_and_tags_of_a_custom_op():
    def f(x: Tensor) -> Tensor: ...

    op = torch.library.custom_op("libtest2::tagged", f, mutates_args=())
    assert op._schema == "(Tensor x) -> Tensor"
    assert set(op._opoverload.tags) == {torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order}
    assert (torch.Tag.core.value, torch.Tag.view_copy.value) == (0, 11)
    with pytest.raises(ValueError, match="The schema suggests that the op mutates set"):
        torch.library.custom_op("libtest2::other", f, mutates_args={"x"}, schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="at start of device string: nowhere"):
        torch.library.custom_op("libtest2::other", f, mutates_args=(), device_types="nowhere")


def test_formulas_answer_for_every_argument():
    @torch.library.custom_op("libtest2::product", mutates_args=())
    def product(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    x = torch.ones(1, requires_grad=True)
    product.register_autograd(lambda ctx, g: g)
    text = r"GeneratedBackwardFor_libtest2_product_defaultBackward .* number of gradients \(expected 3, got 2\)"
    with pytest.raises(RuntimeError, match=text):
        product(x, x).sum().backward()
    product.register_autograd(lambda ctx, g: (g, None, None))
    product(x, torch.ones(1)).sum().backward()
    assert x.grad.item() == 1


def test_formulas_answer_lists_with_lists():
    @torch.library.custom_op("libtest2::total", mutates_args=())
    def total(xs: list[Tensor]) -> Tensor:
        return torch.stack(xs).sum(0)

    x = torch.ones(1, requires_grad=True)
    total.register_autograd(lambda ctx, g: ([g],))
    with pytest.raises(RuntimeError, match="to be of the same structure as the inputs"):
        total([x, x]).sum().backward()


def test_keyword_only_inputs_of_setup_context():
    @torch.library.custom_op("libtest2::times", mutates_args=())
    def times(x: Tensor, *, by: float = 3.0) -> Tensor:
        return x * by

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.by = keyword_only_inputs["by"]

    times.register_autograd(lambda ctx, g: g * ctx.by, setup_context=setup)
    x = torch.ones(1, requires_grad=True)
    times(x).sum().backward()
    assert x.grad.item() == 3


def test_get_ctx_outside_of_a_fake_kernel():
    assert torch.library.get_ctx() is None


def test_torch_dispatch_rules():
    from ingot.utils._python_dispatch import TorchDispatchMode

    @torch.library.custom_op("libtest2::seen", mutates_args=())
    def seen(x: Tensor) -> Tensor:
        return x + 1

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    torch.library.register_torch_dispatch(
        "libtest2::seen", Mode, lambda mode, func, types, args, kwargs: args[0] + (10 if type(mode) is Mode else 0)
    )
    x = torch.zeros(1)
    assert seen(x).item() == 1
    with Mode():
        assert seen(x).item() == 10


def test_opcheck_compares_metadata():
    @torch.library.custom_op("libtest2::sized", mutates_args=())
    def sized(x: Tensor) -> Tensor:
        return x + 1

    sized.register_fake(lambda x: x.new_empty(3))
    with pytest.raises(torch.library.OpCheckError, match=r"Shapes torch.Size\(\[2\]\) and torch.Size\(\[3\]\)"):
        torch.library.opcheck(sized, (torch.ones(2),), test_utils="test_faketensor")
    told = torch.library.opcheck(sized, (torch.ones(2),), test_utils="test_faketensor", raise_exception=False)
    assert isinstance(told["test_faketensor"], RuntimeError)


def test_older_interface():
    import ingot._custom_ops as custom_ops
    from ingot._custom_op import impl as custom_op

    @custom_ops.custom_op("libtest3::times")
    def times(x: Tensor, by: int) -> Tensor: ...

    try:
        custom_ops.impl("libtest3::times")(lambda x, by: x * by)
        with pytest.raises(RuntimeError, match="that already has a cpu impl registered from Python at"):
            custom_ops.impl("libtest3::times", device_types="cpu")(lambda x, by: x)
        custom_ops.impl_abstract("libtest3::times")(lambda x, by: torch.empty_like(x))
        x = torch.ones(1, requires_grad=True)
        with pytest.raises(RuntimeError, match="Autograd has not been implemented for operator"):
            torch.ops.libtest3.times(x, 3)
        custom_ops.impl_save_for_backward("libtest3::times")(lambda inputs, output: inputs.by)
        custom_ops.impl_backward("libtest3::times")(lambda ctx, saved, grad: {"x": grad * saved})
        torch.ops.libtest3.times(x, 3).sum().backward()
        assert x.grad.item() == 3
    finally:
        custom_ops._destroy("libtest3::times")
    for schema in ("(Tensor(a!) x) -> Tensor", "(Tensor x) -> ()", "(Tensor(a) x) -> Tensor(a)"):
        with pytest.raises(ValueError, match="only supports functional operators"):
            custom_ops.custom_op("libtest3::h", schema)
    with pytest.raises(ValueError, match="'aten' is a reserved namespace"):
        custom_ops.custom_op("aten::h", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="Could not find the operator libtest3::nothere"):
        custom_ops.impl("libtest3::nothere")(abs)
    with pytest.raises(ValueError, match="expected `func` to have name 'q' but got '<lambda>'"):
        custom_op.custom_op("libtest3::q")(lambda x: x)


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


def test_views_have_no_formula() -> None:
    with torch.library._scoped_library("viewing", "FRAGMENT") as lib:
        lib.define("part(Tensor(a) x) -> Tensor(a)")
        with pytest.raises(RuntimeError, match="for non-functional operator viewing.part.default"):
            torch.library.register_autograd("viewing::part", lambda ctx, g: g, lib=lib)
        with pytest.raises(RuntimeError, match=r"provided namespace \(aten\) in operator name does not match"):
            lib.impl("aten::sin", lambda x: x, "CPU")
        with pytest.raises(RuntimeError, match=r"provided namespace \(other\) in schema string does not match"):
            lib.define("other::f(Tensor x) -> Tensor")
        with pytest.raises(TypeError, match="incompatible function arguments"):
            lib.define("tagged(Tensor x) -> Tensor", tags="no tag")


def test_registered_decompositions() -> None:
    from ingot._decomp import get_decompositions, register_decomposition, remove_decompositions
    from ingot.fx.experimental.proxy_tensor import make_fx

    table: dict = {}

    @register_decomposition(torch.ops.aten.relu, table)
    def relu(x):
        return x.clamp(min=0)

    assert set(table) >= {torch.ops.aten.relu.default}
    code = make_fx(lambda x: x.relu() + 1, decomposition_table=table)(torch.ones(2)).code
    assert "clamp" in code and "relu" not in code
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_decomposition(torch.ops.aten.relu.default, table)(relu)
    remove_decompositions(table, [torch.ops.aten.relu])
    assert table == {}
    assert get_decompositions([torch.ops.aten.silu])
