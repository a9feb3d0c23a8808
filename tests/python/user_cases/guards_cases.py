# SPDX-License-Identifier: Apache-2.0
"""make_fx with symbolic sizes, transforms and what is read from data."""

import contextlib
import functools
import operator
import collections
import copy
import pickle
from typing import *
import torch
import torch.fx
import torch.nn.functional as F
import torch.utils._pytree as pytree
from torch import nn
from torch.fx.experimental import proxy_tensor as PT
from torch.fx.experimental.proxy_tensor import *
from torch.fx.experimental.proxy_tensor import make_fx, ProxyTorchDispatchMode, get_proxy_mode
from torch.fx.experimental.symbolic_shapes import (
    ShapeEnv,
    sym_eq,
    eval_guards,
    bind_symbols,
    fx_placeholder_vals,
    fx_placeholder_targets,
    guard_int,
    GuardOnDataDependentSymNode,
)

try:
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
except ImportError:
    pass
from torch._subclasses.fake_tensor import (
    FakeTensorMode,
    FakeTensor,
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from torch._decomp import decomposition_table, get_decompositions
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
X = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def p(f, *a, mode="real", **k):
    g = make_fx(f, tracing_mode=mode, **k)(*a)
    print(g.code.strip())
    return g


def t(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, "|".join(l.strip() for l in str(e).strip().split("\n")[:4]))


def show_guards(g):
    names = [s.strip("_") for s in fx_placeholder_targets(g)]
    return "\n".join(g.shape_env.produce_guards(fx_placeholder_vals(g), names, _simplified=True, input_contexts=None))


def sym(f, *a, **k):
    g = make_fx(f, tracing_mode="symbolic", **k)(*a)
    print(str(g.code).strip())
    print(show_guards(g))
    return g


def case_bad_mode():
    make_fx(lambda x: x, tracing_mode="bogus")(X)


def case_decomp_addmm():
    p(
        lambda x: F.linear(x, torch.ones(4, 3), torch.ones(4)),
        X,
        decomposition_table={aten.addmm.default: lambda b, x, w, beta=1, alpha=1: x @ w + b},
    )


def case_decomp_core():
    p(lambda x: F.layer_norm(F.silu(x), (3,)), X, decomposition_table=torch._decomp.core_aten_decompositions())


def case_decomp_default():
    from torch._decomp import register_decomposition

    my = {}

    @register_decomposition([aten.sin.default, aten.cos], my)
    def f(x):
        return x * 7

    print(sorted(map(str, my)))
    p(lambda x: x.sin() + x.cos(), X, decomposition_table=my)


def case_const_prop():

    def f(x):
        a = torch.tensor(3)
        b = a + 1
        return x + int(b)

    p(f, X)
    p(f, X, mode="symbolic")


def case_const_specialize():

    def f():
        return torch.tensor(4.0).item() + torch.ones(1)

    p(f)
    p(f, mode="fake")


def case_const_inplace_loop():

    def f():
        c = torch.zeros(())
        for _ in range(3):
            c.add_(1)
            c = c * 2
        return (c.item(), c)

    t(lambda: p(f))
    t(lambda: p(f, mode="symbolic"))


def case_equal():
    for m in ("real", "fake", "symbolic"):
        t(lambda m=m: p(lambda x: torch.equal(x, x) and x, X, mode=m))
    for m in ("real", "fake", "symbolic"):
        t(lambda m=m: p(lambda x: torch.allclose(x, x) and x, X, mode=m))


def case_unbacked_slice():

    def f(a, b):
        n = b.item()
        torch._check_is_size(n)
        torch._check(n <= a.shape[0])
        return a[:n]

    t(lambda: sym(f, X, torch.tensor(1)))


def case_unbacked_float():
    t(lambda: sym(lambda b: b.item() * torch.ones(2), torch.tensor(2.5)))
    t(lambda: sym(lambda b: torch.full((2,), b.item()), torch.tensor(2.5)))
    t(lambda: sym(lambda b: torch.full((2,), b.item()), torch.tensor(True)))


def case_unbacked_split():

    def f(a, s):
        l = s.tolist()
        [torch._check_is_size(i) for i in l]
        return torch.split(a, l)

    t(lambda: sym(f, torch.ones(5, 2), torch.tensor([2, 3])))


def case_unbacked_repeat():
    t(lambda: sym(lambda r: torch.repeat_interleave(r), torch.tensor([1, 2])))


def case_unbacked_unique():
    t(lambda: sym(lambda x: torch.unique(x), X))
    t(lambda: sym(lambda x: torch.unique_consecutive(x), X))
    t(lambda: sym(lambda x: torch.bincount(x), torch.tensor([1, 2])))


def case_masked_select():
    t(lambda: sym(lambda x: torch.masked_select(x, x > 1) * 2, X))
    t(lambda: sym(lambda x: x[x > 1].sum(), X))


def case_setitem_mask():

    def f(x, y):
        x = x.clone()
        x[y > 0] = 0
        x[0] = y[0]
        return x

    t(lambda: sym(f, X, X))


def case_sym_guards():
    t(lambda: sym(lambda x, y: torch.cat([x, y]), X, torch.ones(4, 3)))
    t(lambda: sym(lambda x, y: x @ y, X, torch.ones(3, 5)))
    t(lambda: sym(lambda x: x if x.shape[0] > 1 and x.shape[1] < 10 else -x, X))
    t(lambda: sym(lambda x: x.sin() if x.shape[0] * 3 == x.shape[1] * 2 else x, X))
    t(lambda: sym(lambda x, y: x + y, X, torch.ones(1, 3)))
    t(lambda: sym(lambda x, y: x.view(-1) + y, X, torch.ones(6)))
    t(lambda: sym(lambda x: x.sin() if x.shape[0] % 2 == 0 else x, X))
    t(lambda: sym(lambda x: int(x.shape[0]) * x, X))


def case_eval_guards():
    g = make_fx(lambda x, y: torch.cat([x, y]) if x.shape[0] > 2 else x, tracing_mode="symbolic")(
        torch.ones(3, 4), torch.ones(5, 4)
    )
    print(
        eval_guards(g, torch.ones(3, 4), torch.ones(6, 4)),
        eval_guards(g, torch.ones(2, 4), torch.ones(6, 4)),
        eval_guards(g, torch.ones(3, 4), torch.ones(6, 5)),
        {str(k): v for k, v in bind_symbols(g, torch.ones(3, 4), torch.ones(6, 4)).items()},
    )


def case_guards_fmt():
    g = make_fx(lambda x: x if x.shape[0] > 1 else -x, tracing_mode="symbolic")(X)
    print(g.shape_env.format_guards())
    print(
        g.shape_env.format_guards(verbose=False),
        [str(x.expr) for x in g.shape_env.guards],
        g.shape_env.get_nontrivial_guards(),
        g.shape_env.var_to_val,
        g.shape_env.var_to_range,
    )


def case_placeholder_vals():
    g = make_fx(lambda x, n: x * n, tracing_mode="symbolic")(X, 3)
    print(fx_placeholder_vals(g), fx_placeholder_targets(g))
    for n in g.graph.nodes:
        print(n.name, n.meta.get("val"), n.meta.get("tensor_meta"), sorted(n.meta))


def case_metadata_real():
    for m in ("real", "fake"):
        for n in make_fx(lambda x: (x + 1, x.sum()), tracing_mode=m)(X).graph.nodes:
            print(n.name, sorted(n.meta), n.meta.get("val"), n.meta.get("tensor_meta"))


def case_pre_dispatch():
    t(lambda: p(lambda x: F.linear(x, torch.ones(2, 3)), X, pre_dispatch=True))

    def f(x):
        with torch.no_grad():
            y = x.sin()
        return y.relu()

    t(lambda: p(f, X, pre_dispatch=True))
    t(lambda: p(f, X.clone().requires_grad_(), pre_dispatch=True))


def case_pre_dispatch_func():
    t(
        lambda: p(
            lambda x: torch.ops.aten.instance_norm(x[None], None, None, None, None, True, 0.1, 1e-05, False),
            X,
            pre_dispatch=True,
        )
    )
    t(lambda: p(lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), X, pre_dispatch=True))


def case_grad():

    def f(x):
        x = x.detach().requires_grad_()
        y = (x.sin() * x).sum()
        return torch.autograd.grad(y, x)[0]

    t(lambda: p(f, X))


def case_inner():

    def f(x):
        g = make_fx(lambda y: y.sin() + 1)(x)
        return g(x) * 2

    t(lambda: p(f, X))


def case_mode_trace():

    class M(TorchDispatchMode):
        def __torch_dispatch__(s, f, ty, a=(), k=None):
            return f(*a, **k or {}) if f is not aten.add.Tensor else aten.sub.Tensor(*a)

    def f(x):
        with M():
            return x + x

    t(lambda: p(f, X))
    with M():
        t(lambda: p(lambda x: x + x, X))


def case_dead():

    def f(x):
        x.sin()
        torch.rand(2)
        torch._assert_async(x.sum() > 0) if False else None
        return x

    t(lambda: p(f, X))
    t(lambda: p(f, X, _error_on_data_dependent_ops=False))


def case_allow_non_fake():
    w = torch.ones(3)
    t(lambda: p(lambda x: x + w, X, mode="fake"))
    t(lambda: p(lambda x: x + w, X, mode="fake", _allow_non_fake_inputs=True))
    t(lambda: p(lambda x: x + w, X, mode="symbolic"))


def case_nll():
    t(lambda: p(lambda x, y: F.cross_entropy(x, y), X, torch.tensor([0, 1])))
    t(lambda: p(lambda x: F.mse_loss(x, x), X))
    t(lambda: p(lambda x: F.gelu(F.softmax(x, -1)), X))
    t(lambda: p(lambda x: F.embedding(torch.tensor([0]), x), X))
    t(lambda: p(lambda x: torch.einsum("ij,kj->ik", x, x), X))


def case_set_grad():

    def f(x):
        torch._C._set_grad_enabled(False)
        y = x + 1
        torch._C._set_grad_enabled(True)
        return y * 2

    t(lambda: p(f, X))
    t(lambda: p(f, X, pre_dispatch=True))


def case_autograd_function():

    class S(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    t(lambda: p(lambda x: S.apply(x), X))
    t(lambda: p(lambda x: torch.autograd.grad(S.apply(x).sum(), x), X.clone().requires_grad_()))


def case_symint_ctx():

    def f(x, y):
        s = x.shape[0] + y.shape[1]
        print(type(s).__name__, s, s.node.expr, bool(s > 2), s.node.hint)
        return x * s

    t(lambda: sym(f, X, torch.ones(2, 7)))
