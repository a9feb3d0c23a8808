# SPDX-License-Identifier: Apache-2.0
"""torch.library: schemas, rules, checks and errors."""

import collections
import re
from typing import *
import torch
import numpy as np
import torch._custom_ops as custom_ops
import torch.library
from torch import Tensor
from torch.library import *
from torch.library import (
    custom_op,
    Library,
    define,
    impl,
    register_fake,
    register_autograd,
    register_kernel,
    infer_schema,
    opcheck,
)

X = torch.ones(3)


def t(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, "|".join(l.strip() for l in str(e).strip().split("\n")[:6]))


def isx(f, **k):
    t(lambda: infer_schema(f, mutates_args=k.pop("m", ()), **k))


import torch.autograd.profiler


def mk(n, **k):

    @custom_op(f"userb2::{n}", mutates_args=k.pop("m", ()), **k)
    def f(x: Tensor) -> Tensor:
        return x.sin()

    f.register_fake(lambda x: torch.empty_like(x))
    return f


import copy


def case_mutable_default():
    define("userb2::a2", "(Tensor(a!) x, Tensor(b!)[] y, Tensor? z=None) -> ()")
    print(torch.ops.userb2.a2.default._schema, torch.ops.userb2.a2.default._schema.is_mutable)


def case_symint():
    define("userb2::a3", "(SymInt n, SymInt[] s, SymInt? o=None) -> Tensor")
    print(torch.ops.userb2.a3.default._schema)
    impl("userb2::a3", "CompositeExplicitAutograd", lambda n, s, o=None: torch.zeros(n, *s))
    print(torch.ops.userb2.a3(2, [3]).shape)


def case_impl_decorator():
    define("userb2::a4", "(Tensor x) -> Tensor")

    @impl("userb2::a4", "cpu")
    def f(x):
        return x + 1

    print(f is None, torch.ops.userb2.a4(X))


def case_impl_twice():
    define("userb2::a5", "(Tensor x) -> Tensor")
    impl("userb2::a5", "cpu", lambda x: x)
    impl("userb2::a5", "cpu", lambda x: x)


def case_fake_twice():
    define("userb2::a6", "(Tensor x) -> Tensor")
    register_fake("userb2::a6", lambda x: x)
    register_fake("userb2::a6", lambda x: x)


def case_autograd_key():
    lib = Library("userb2", "FRAGMENT")
    lib.define("a7(Tensor x) -> Tensor")

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch._C._AutoDispatchBelowAutograd():
                return torch.ops.userb2.a7(x)

        @staticmethod
        def backward(ctx, g):
            return g * 7

    lib.impl("a7", F.apply, "Autograd")
    lib.impl("a7", lambda x: x * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    o = torch.ops.userb2.a7(x)
    o.sum().backward()
    print(o, x.grad)


def case_autograd_meta():
    f = mk("a8")
    f.register_autograd(lambda ctx, g: g)
    print(f(torch.ones(1, requires_grad=True).to("meta")).requires_grad)


def case_double_backward():
    f = mk("a9")
    f.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = torch.tensor([1.0], requires_grad=True)
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    g.sum().backward()
    print(x.grad)


def case_setup_positional():
    f = mk("a10")
    f.register_autograd(lambda ctx, g: g, setup_context=lambda c, i, o: None)
    x = torch.ones(1, requires_grad=True)
    f(x).sum().backward()


def case_output_tuple():

    @custom_op("userb2::a11", mutates_args=())
    def f(x: Tensor) -> Tuple[Tensor, Tensor]:
        return (x * 2, x * 3)

    f.register_autograd(lambda ctx, a, b: a * 2 + b * 3)
    x = torch.ones(2, requires_grad=True)
    a, b = f(x)
    (a + b).sum().backward()
    print(x.grad, type(f(x)).__name__)


def case_unused_output():

    @custom_op("userb2::a12", mutates_args=())
    def f(x: Tensor) -> Tuple[Tensor, Tensor]:
        return (x * 2, x * 3)

    f.register_autograd(lambda ctx, a, b: (print(a, b), a)[1])
    x = torch.ones(2, requires_grad=True)
    f(x)[0].sum().backward()


def case_int_output():

    @custom_op("userb2::a13", mutates_args=())
    def f(x: Tensor) -> Tuple[Tensor, int, float, bool]:
        return (x * 2, 3, 2.5, True)

    print(f(X), f._schema)


def case_list_return():

    @custom_op("userb2::a14", mutates_args=())
    def f(x: Tensor, n: int) -> List[Tensor]:
        return [x * i for i in range(n)]

    print(f(X, 2), f(X, 0))


def case_wrong_args():
    f = mk("a16")
    t(lambda: f())
    t(lambda: f(X, X))
    t(lambda: f(3))
    t(lambda: f(y=X))
    t(lambda: f(x=X).shape)


def case_export_graph():
    f = mk("a17")

    class M(torch.nn.Module):
        def forward(s, x):
            return f(x) + torch.ops.userb2.a17(x)

    print(torch.export.export(M(), (X,)).graph_module.code)


def case_mutates_export():

    @custom_op("userb2::a20", mutates_args={"out"})
    def f(x: Tensor, out: Tensor) -> None:
        out.copy_(x)

    class M(torch.nn.Module):
        def forward(s, x):
            o = torch.zeros_like(x)
            f(x, o)
            return o

    print(torch.export.export(M(), (X,)).run_decompositions().graph_module.code)


def case_opcheck_all():
    f = mk("a23")
    f.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    print(opcheck(f, (torch.ones(3, requires_grad=True),)))


def case_opcheck_static():
    print(opcheck(mk("a24"), (X,), test_utils=("test_aot_dispatch_static", "test_schema")))


def case_opcheck_kwargs():

    @custom_op("userb2::a26", mutates_args=())
    def f(x: Tensor, *, k: int) -> Tensor:
        return x + k

    f.register_fake(lambda x, *, k: torch.empty_like(x))
    print(opcheck(f, (X,), {"k": 3}))


def case_opcheck_nondet():

    @custom_op("userb2::a27", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return torch.empty_like(x).copy_(x)

    f.register_fake(lambda x: torch.empty_like(x, dtype=torch.float64))
    opcheck(f, (X,))


def case_opcheck_mut_undeclared():

    @custom_op("userb2::a28", mutates_args=())
    def f(x: Tensor) -> Tensor:
        x.add_(1)
        return x + 1

    f.register_fake(lambda x: torch.empty_like(x))
    opcheck(f, (X.clone(),))


def case_vmap_op():
    f = mk("a29")
    f.register_vmap(lambda info, d, x: (x.sin(), d[0]))
    print(torch.vmap(f, in_dims=1, out_dims=1)(torch.ones(2, 3)).shape)


def case_vmap_tuple():

    @custom_op("userb2::a30", mutates_args=())
    def f(x: Tensor, y: float) -> Tuple[Tensor, Tensor]:
        return (x * y, x + y)

    @f.register_vmap
    def _(info, in_dims, x, y):
        print(info.batch_size, info.randomness, in_dims)
        return ((x * y, x + y), (in_dims[0], in_dims[0]))

    r = torch.vmap(f, (0, None))(torch.ones(2, 3), 2.0)
    print([v.shape for v in r])


def case_vmap_bad_out():
    f = mk("a31")
    f.register_vmap(lambda info, d, x: x.sin())
    torch.vmap(f)(torch.ones(2, 3))


def case_vmap_none():
    f = mk("a32")
    f.register_vmap(lambda info, d, x: (torch.ones(3), None))
    print(torch.vmap(f)(torch.ones(2, 3)))


def case_vmap_library():
    define("userb2::a34", "(Tensor x) -> Tensor")
    impl("userb2::a34", "cpu", lambda x: x * 2)
    torch.library.register_vmap("userb2::a34")(lambda info, d, x: (x * 2, d[0]))
    print(torch.vmap(torch.ops.userb2.a34)(torch.ones(2, 3)))


def case_vmap_lambda():
    f = mk("a35")
    print(torch.vmap(lambda x: f(x) + 1)(torch.zeros(2, 2)))


def case_redefine():
    a = mk("a36")
    b = mk("a36")
    print(a is b, torch.ops.userb2.a36(torch.zeros(1)))


def case_namespaces():
    print(torch.ops.userb2.__name__, torch.ops.userb2, "userb2" in dir(torch.ops))
    print(torch.ops.userb2.nothing)


def case_lib_tags():
    lib = Library("userb2", "FRAGMENT")
    lib.define("a39(Tensor x) -> Tensor", tags=(torch.Tag.pointwise,))
    print(torch.ops.userb2.a39.default.tags)


def case_kernel_cuda_skip():
    f = mk("a41")
    f.register_kernel("cuda", lambda x: x)
    print(f(torch.zeros(1)))


def case_manual_schema_bad():
    custom_op("userb2::a42", mutates_args={"x"}, schema="(Tensor x) -> Tensor")(lambda x: x)


def case_schema_mut():
    f = custom_op("userb2::a43", mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")(lambda x: x.add_(1) and None)
    x = X.clone()
    print(f._schema)


def case_no_annotations():

    @custom_op("userb2::a44", mutates_args=())
    def f(x):
        return x


def case_mutates_required():

    @custom_op("userb2::a45")
    def f(x: Tensor) -> Tensor:
        return x


def case_fallthrough_impl():
    lib = Library("userb2", "FRAGMENT")
    lib.define("a46(Tensor x) -> Tensor")
    lib.impl("a46", torch.library.fallthrough_kernel, "AutogradCPU")
    lib.impl("a46", lambda x: x + 1, "CPU")
    print(torch.ops.userb2.a46(X))


def case_composite():
    lib = Library("userb2", "FRAGMENT")
    lib.define("a47(Tensor x) -> Tensor")
    lib.impl("a47", lambda x: x.sin().cos(), "CompositeImplicitAutograd")
    x = torch.ones(1, requires_grad=True)
    torch.ops.userb2.a47(x).backward()
    print(x.grad)
    from torch.fx.experimental.proxy_tensor import make_fx

    print(make_fx(torch.ops.userb2.a47)(X).code)


def case_make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx

    f = mk("a48")
    print(make_fx(f)(X).code, make_fx(lambda x: f(x) * 2, tracing_mode="symbolic")(X).code)


def case_get_ctx():
    t(lambda: torch.library.get_ctx())


def case_entry():
    from torch._library.simple_registry import singleton

    define("userb2::a49", "(Tensor x) -> Tensor")
    register_fake("userb2::a49", lambda x: x)
    e = singleton.find("userb2::a49")
    print(
        e.fake_impl.kernel is not None,
        e.fake_impl.kernel.source.split(":")[0].split("/")[-1],
        singleton.find("userb2::zz").fake_impl.kernel,
    )
