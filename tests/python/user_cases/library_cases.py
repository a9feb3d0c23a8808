# SPDX-License-Identifier: Apache-2.0
"""torch.library."""

from collections.abc import Sequence
from typing import List, Optional, Tuple

import torch
import torch._custom_ops
from torch import Tensor
from torch.library import (
    Library,
    custom_op,
    define,
    impl,
    impl_abstract,
    infer_schema,
    opcheck,
    register_autograd,
    register_fake,
    register_kernel,
)

X = torch.ones(3)


def case_mut_unknown():
    def f(x: Tensor) -> None: ...

    print(infer_schema(f, mutates_args="unknown"))
    infer_schema(f, mutates_args={"y"})


def case_qualname_bad():
    for q in ("nons", "a::b::c", "a::b.c", 3):
        try:
            custom_op(q, mutates_args=())(lambda x: x)
        except Exception as e:
            print(type(e).__name__, str(e))


def case_autograd():
    @custom_op("clb::sq", mutates_args=())
    def sq(x: Tensor) -> Tensor:
        return x * x

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    sq.register_autograd(lambda ctx, g: g * 2 * ctx.saved_tensors[0], setup_context=setup)
    x = torch.full((2,), 3.0, requires_grad=True)
    sq(x).sum().backward()
    print(x.grad)


def case_no_autograd():
    @custom_op("clb::na", mutates_args=())
    def na(x: Tensor) -> Tensor:
        return x * 2

    x = torch.ones(1, requires_grad=True)
    y = na(x)
    print(y.requires_grad, y.grad_fn is not None)
    y.sum().backward()


def case_fake():
    @custom_op("clb::fk", mutates_args=())
    def fk(x: Tensor) -> Tensor:
        return x.nonzero()

    @fk.register_fake
    def _(x):
        c = torch.library.get_ctx()
        return x.new_empty(c.new_dynamic_size(), 1, dtype=torch.long)

    print(torch.export.export(W(torch.ops.clb.fk), (X,)).module()(X).shape)


class W(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


def case_get_ctx():
    torch.library.get_ctx()


def case_opcheck():
    @custom_op("clb::oc", mutates_args=())
    def oc(x: Tensor) -> Tensor:
        return x * 2

    oc.register_fake(lambda x: torch.empty_like(x))
    print(opcheck(oc, (X,)))
    print(opcheck(torch.ops.clb.oc.default, (X,), test_utils="test_schema"))


def case_opcheck_bad():
    @custom_op("clb::ob", mutates_args=())
    def ob(x: Tensor) -> Tensor:
        return x * 2

    ob.register_fake(lambda x: x.new_empty(7))
    print(
        {
            k: (v if isinstance(v, str) else type(v).__name__)
            for k, v in opcheck(ob, (X,), raise_exception=False).items()
        }
    )
    opcheck(ob, (X,))


def case_define_str():
    define("clb::ds", "(Tensor x) -> Tensor")

    @impl("clb::ds", "cpu")
    def f(x):
        return x + 1

    @register_fake("clb::ds")
    def g(x):
        return torch.empty_like(x)

    print(torch.ops.clb.ds(X), torch.ops.clb.ds(X.to("meta")).shape)


def case_define_tags():
    define("clb::dt", "(Tensor x) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
    print(torch.ops.clb.dt.default.tags)


def case_impl_types():
    lib = Library("clbt", "DEF")
    print(lib.define("f(Tensor x, int n=2) -> Tensor"))
    lib.impl("f", lambda x, n=2: x * n, "CompositeExplicitAutograd")
    print(torch.ops.clbt.f(X), torch.ops.clbt.f(X, n=4))
    print(lib, lib.ns, lib.kind)
    try:
        lib.impl("f", lambda x: x, "Bogus")
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:100])
    try:
        Library("aten", "DEF")
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:140])
    try:
        Library("prim", "DEF")
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:140])
    try:
        Library("zz", "WHAT")
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:140])


def case_missing_op():
    for f in (
        lambda: torch.ops.clbz.nope(X),
        lambda: torch.ops.clb,
        lambda: torch.ops.aten.add.bogus,
        lambda: torch.ops.aten.bogus_op,
    ):
        try:
            print(f())
        except Exception as e:
            print(type(e).__name__, e)


def case_mutates():
    @custom_op("clb::mu", mutates_args={"x"})
    def mu(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    x = X.clone()
    print(mu(x, X), x, x._version)


def case_mutates_autograd():
    @custom_op("clb::mg", mutates_args={"x"})
    def mg(x: Tensor) -> None:
        x.add_(1)

    mg.register_autograd(lambda ctx, g: g)


def case_kwonly():
    @custom_op("clb::ko", mutates_args=())
    def ko(x: Tensor, *, k: int = 1) -> Tensor:
        return x + k

    print(torch.ops.clb.ko.default._schema, ko(X, k=5))


def case_register_autograd_fn():
    define("clb::ra", "(Tensor x) -> Tensor")
    impl("clb::ra", "CPU", lambda x: x * 3)
    register_autograd("clb::ra", lambda ctx, g: g * 3)
    x = torch.ones(1, requires_grad=True)
    torch.ops.clb.ra(x).backward()
    print(x.grad)


def case_vmap():
    @custom_op("clb::vm", mutates_args=())
    def vm(x: Tensor) -> Tensor:
        return x * 2

    print(hasattr(vm, "register_vmap"))
    vm.register_vmap(lambda info, dims, x: (x * 2, dims[0]))
    print(torch.vmap(vm)(torch.ones(2, 2)))


def case_fallthrough():
    print(torch.library.fallthrough_kernel)
    torch.library.fallthrough_kernel()


def case_impl_abstract():
    print(torch.library.impl_abstract is not None)
    define("clb::ia", "(Tensor x) -> Tensor")
    impl_abstract("clb::ia")(lambda x: torch.empty_like(x))
    print(torch.ops.clb.ia(torch.ones(2, device="meta")).device)
