# SPDX-License-Identifier: Apache-2.0
"""make_fx."""

import operator

import torch
import torch.fx.experimental.proxy_tensor as PT
import torch.nn.functional as F
from torch import nn
from torch._decomp import core_aten_decompositions, decomposition_table, get_decompositions
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    get_isolated_graphmodule,
    get_proxy_mode,
    is_sym_node,
    make_fx,
)

X = torch.ones(3)
M3 = torch.ones(2, 3)


def p(f, *a, mode="real", **k):
    g = make_fx(f, tracing_mode=mode, **k)(*a)
    print(g.code.strip())
    return g


def sh(g):
    print(str(g.code).strip().replace(" ", "").replace(":Sym(s0)", ""))
    print(g.shape_env.format_guards())


def case_add():
    p(lambda x: x + 1, X)


def case_fake():
    p(lambda x: x.sin().cos_(), X, mode="fake")


def case_inplace():
    p(lambda x: x.clone().add_(2).mul_(x), X)


def case_inplace_meta():
    p(lambda x: x.add_(1), X.clone())


def case_const():
    p(lambda x: x + torch.tensor([1.0, 2.0, 3.0]), X)


def case_const_mut():
    def f():
        x = torch.zeros([])
        x.add_(1)
        return x

    p(f)


def case_scalar_tensor():
    p(lambda x: x * torch.tensor(3.5), X, mode="fake")


def case_item_real():
    p(lambda x: x + x.sum().item(), X)


def case_item_fake():
    p(lambda x: x + x.sum().item(), X, mode="fake")


def case_item_symbolic():
    p(lambda x: x + x.sum().item(), X, mode="symbolic")


def case_item_const():
    p(lambda: torch.tensor(3).item() + torch.zeros(2), mode="fake")


def case_nonzero():
    p(lambda x: x.nonzero(), X, mode="symbolic")


def case_sym_view():
    g = p(lambda x: x.view(-1), M3, mode="symbolic")
    print(g.shape_env.guards, g.shape_env.format_guards())


def case_sym_cat():
    g = p(lambda x, y: torch.cat([x, y]), X, torch.ones(4), mode="symbolic")
    print(g.shape_env.format_guards())


def case_sym_expand():
    g = p(lambda x, y: x.expand(y.shape[0], x.shape[0]), X, M3, mode="symbolic")
    print(g.shape_env.format_guards())


def case_sym_add_eq():
    g = p(lambda x, y: x + y, X, torch.ones(3), mode="symbolic")
    print(g.shape_env.format_guards())


def case_sym_add_bc():
    g = p(lambda x, y: x + y, M3, torch.ones(1, 3), mode="symbolic")
    print(g.shape_env.format_guards())


def case_sym_branch():
    g = p(lambda x: x + 1 if x.shape[0] > 2 else x - 1, X, mode="symbolic")
    print(g.shape_env.format_guards())


def case_sym_mul():
    p(lambda x: torch.zeros(x.shape[0] * 2 + x.shape[1]), M3, mode="symbolic")


def case_sym_numel():
    p(lambda x: x + x.numel() + x.stride(0) + x.storage_offset() + x.dim(), M3, mode="symbolic")


def case_sym_floordiv():
    p(lambda x: torch.zeros(x.shape[0] // 2, x.shape[1] % 2 + 1), M3, mode="symbolic")


def case_sym_repeat_interleave():
    p(lambda x, l: torch.repeat_interleave(x, l), torch.tensor([3, 4]), torch.tensor([1, 2]), mode="symbolic")


def case_sym_index():
    p(lambda x, i: x[i], M3, torch.tensor([0, 1]), mode="symbolic")


def case_sym_bool_mask():
    p(lambda x: x[x > 0], M3, mode="symbolic")


def case_sym_check():
    def f(x):
        n = x.item()
        torch._check_is_size(n)
        torch._check(n < 8)
        return torch.zeros(n)

    p(f, torch.tensor(4), mode="symbolic")


def case_decomp_custom():
    t = {torch.ops.aten.add.Tensor: lambda a, b, alpha=1: a - b}
    p(lambda x: x + 2 * x, X, decomposition_table=t)


def case_pre_dispatch():
    def f(x):
        with torch.no_grad():
            y = F.linear(x, x)
        return y.sum() + F.dropout(x, training=True).sum()

    p(f, M3, pre_dispatch=True)


def case_pre_dispatch_layernorm():
    p(lambda x: F.layer_norm(x, [3]), M3, pre_dispatch=True)
    p(lambda x: F.layer_norm(x, [3]), M3)


def case_rand():
    p(lambda x: torch.rand(x.shape) + torch.randn_like(x) + torch.bernoulli(x), X, mode="fake")


def case_kwargs_out():
    p(lambda x: torch.add(x, x, alpha=2, out=torch.empty(3)), X)


def case_views():
    p(lambda x: x.t()[0].unsqueeze(-1).squeeze().transpose(0, 0).permute(0).expand(2, 2).contiguous().flatten(), M3)


def case_unused():
    p(lambda x, y: x.sin() and x, torch.ones(1), X)


def case_none():
    p(lambda x, y: (x, None, 3), X, None)


def case_return_input():
    p(lambda x: x, X)


def case_alias_twice():
    p(lambda x: (x, x), X)


def case_to():
    p(lambda x: x.to(torch.float64).to("cpu").half().type(torch.int), X)


def case_embedding():
    p(lambda x, w: F.embedding(x, w), torch.tensor([0, 1]), M3)


def case_cross_entropy():
    p(lambda x, t: F.cross_entropy(x, t), M3, torch.tensor([0, 1]))


def case_std_var():
    p(lambda x: (x.var(), x.std(0), x.mean(), x.norm()), M3)


def case_sdpa():
    p(lambda q: F.scaled_dot_product_attention(q, q, q), torch.ones(1, 2, 3, 4))


def case_make_fx_meta():
    g = make_fx(lambda x: x.sin(), tracing_mode="symbolic")(X)
    for n in g.graph.nodes:
        print(n, n.meta.get("val"), n.meta.get("tensor_meta"), sorted(n.meta))


def case_isolated():
    print(get_isolated_graphmodule(lambda x: x + 1, (X,), {}).code)


def case_get_proxy_mode():
    def f(x):
        print(type(get_proxy_mode()).__name__)

    make_fx(lambda x: (f(x), x + 1)[1])(X)
    print(get_proxy_mode())


def case_is_sym():
    print(is_sym_node(None) if 0 else "ok")


def case_dispatch_mode_nested():
    def inner(x):
        g = make_fx(lambda y: y * 2)(x)
        return g(x)

    p(lambda x: inner(x) + 1, X)


def case_nested_graph():
    p(lambda x: make_fx(lambda y: y.sin())(x)(x), X, mode="symbolic")


def case_cond():
    p(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)), X, mode="symbolic")


def case_map():
    from functorch.experimental.control_flow import map

    p(lambda x, y: map(lambda a, b: a + b, x, y), M3, X, mode="symbolic")


def case_while():
    from torch._higher_order_ops.while_loop import while_loop

    g = p(lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x)), torch.tensor(0), X)
    print(g.while_loop_cond_graph_0.code, g.while_loop_body_graph_0.code)


def case_print_graph():
    print(make_fx(lambda x: x + 1)(X).graph)


def case_fake_input():
    with FakeTensorMode() as m:
        x = torch.ones(3)
    p(lambda x: x + 1, x)


def case_error_if_no_mode():
    make_fx(lambda x: x, tracing_mode="bogus")(X)


def case_arg_mismatch():
    make_fx(lambda x, y: x)(X)


def case_size_one():
    g = p(lambda x: x + 1, torch.ones(1, 3), mode="symbolic")
    print([n.meta["val"].shape for n in g.graph.nodes if n.op == "placeholder"])


def case_custom_op():
    lib = torch.library.Library("casmf", "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    torch.library.register_fake("casmf::f", lambda x: torch.empty_like(x), lib=lib)
    p(lambda x: torch.ops.casmf.f(x) * 2, X, mode="symbolic")


def case_custom_op_unbacked():
    lib = torch.library.Library("casmg", "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.nonzero(), "CPU")
    torch.library.register_fake(
        "casmg::f",
        lambda x: x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.dim(), dtype=torch.long),
        lib=lib,
    )
    p(lambda x: torch.ops.casmg.f(x) + 1, X, mode="symbolic")


def case_autograd_fn():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g

    p(lambda x: Fn.apply(x) + 1, X)


def case_stack_trace():
    g = make_fx(lambda x: x + 1, record_module_stack=True)(X)
    print([sorted(n.meta) for n in g.graph.nodes])


def case_allow_nonfake():
    t = torch.ones(3)
    try:
        p(lambda x: x + t, X, mode="fake")
    except Exception as e:
        print(type(e).__name__)
    p(lambda x: x + t, X, mode="fake", _allow_non_fake_inputs=True)


def case_unbind_split():
    p(lambda x: [a + 1 for a in x.unbind(0)] + list(x.split(1)), M3)


def case_topk():
    p(lambda x: torch.topk(x, 2).values + x.max(0)[1][0], X)


def case_new_ops():
    p(
        lambda x: (
            x.new_zeros(2)
            + x.new_full((2,), 3)
            + torch.arange(2)
            + torch.full((2,), 1)
            + torch.eye(2)[0]
            + torch.linspace(0, 1, 2)
        ),
        X,
    )


def case_where_mask():
    p(lambda x: torch.where(x > 0, x, 0.0) + x.masked_fill(x < 0, 1), X)


def case_index_put():
    def f(x):
        x = x.clone()
        x[0] = 1
        x[x > 0] = 2
        return x

    p(f, X)
