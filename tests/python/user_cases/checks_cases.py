# SPDX-License-Identifier: Apache-2.0
"""Passes, and what runs with the assertions that they leave."""

import torch
from torch import nn
from functorch.experimental.control_flow import cond
from torch._export.pass_base import _ExportPassBaseDeprecatedDoNotUse
from torch._export.passes.replace_set_grad_with_hop_pass import (
    _is_set_grad_enabled_node,
    replace_set_grad_with_hop_pass,
)
from torch._export.passes.replace_view_ops_with_view_copy_ops_pass import (
    get_view_copy_of_view_op,
    is_view_op,
    ReplaceViewOpsWithViewCopyOpsPass,
)
from torch._export.passes.constant_folding import constant_fold
from torch._export.utils import sequential_split
from torch.export import export, Dim
from torch.export._trace import _export
from torch.fx.passes.operator_support import OperatorSupport
from torch.fx.passes.infra.pass_base import PassResult, PassBase
from torch.fx.passes.infra.pass_manager import PassManager
from torch.fx.experimental.proxy_tensor import make_fx


def ps(gm):
    print(gm.print_readable(print_output=False) if False else gm.code.strip())


class _AtenAddOperatorSupport(OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in {torch.ops.aten.add.Tensor}


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


def case_runtime_assert_one_dim():

    class M(nn.Module):
        def forward(self, x):
            return x.cos()

    x = torch.zeros(2, 2, 3)
    ep = export(M(), (x,), dynamic_shapes={"x": {1: Dim("dim1_x", min=2, max=6)}})
    try:
        ep.module()(torch.zeros(2, 7, 3))
    except Exception as e:
        print(type(e).__name__, e)
    print(torch.equal(ep.module()(torch.ones(2, 4, 3)), torch.ones(2, 4, 3).cos()))


def case_runtime_assert_some_dims_not_specified():

    class M(nn.Module):
        def forward(self, x, y):
            return x.cos().sum() + y.sin().sum()

    ep = export(
        M(),
        (torch.zeros(4, 2, 3), torch.zeros(5, 5, 5)),
        dynamic_shapes={"x": {0: Dim("a", min=3, max=6), 1: Dim("b", min=1, max=5)}, "y": None},
    )
    for a in ((torch.zeros(4, 7, 3), torch.ones(5, 5, 5)), (torch.zeros(4, 2, 3), torch.ones(5, 5, 4))):
        try:
            ep.module()(*a)
        except Exception as e:
            print(type(e).__name__, e)


def case_seq_split_graph_text():

    class M(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x.sin()
            return y + x

    gm = make_fx(M(), pre_dispatch=True)(torch.ones(2))
    new = sequential_split(gm, _is_set_grad_enabled_node)
    print(new.graph)
    [print(k, v.graph) for k, v in new.named_children()]
    r, s = replace_set_grad_with_hop_pass(gm, None) if False else (None, None)


def case_view_copy_names():
    for op in (
        torch.ops.aten.view.default,
        torch.ops.aten.transpose.int,
        torch.ops.aten.select.int,
        torch.ops.aten.slice.Tensor,
        torch.ops.aten.add.Tensor,
        torch.ops.aten.split.Tensor,
        torch.ops.aten.squeeze.dim,
        torch.ops.aten.t.default,
        torch.ops.aten.reshape.default,
        torch.ops.aten.detach.default,
        torch.ops.aten.expand.default,
        torch.ops.aten.alias.default,
        torch.ops.aten.as_strided.default,
        torch.ops.aten.contiguous.default,
    ):
        print(op, is_view_op(op._schema), get_view_copy_of_view_op(op._schema))


def case_view_copy_pass():

    class M(nn.Module):
        def forward(self, x):
            return torch.ops.aten.unsqueeze.default(x.view(-1).t(), 0).squeeze(0)

    gm = export(M(), (torch.ones(2, 3),)).graph_module
    r = ReplaceViewOpsWithViewCopyOpsPass()(gm)
    print(r.modified)
    ps(r.graph_module)


def case_view_copy_inplace_err():
    gm = make_fx(lambda x: x.view(-1).add_(1))(torch.ones(2, 2))
    r = ReplaceViewOpsWithViewCopyOpsPass()(gm)
    ps(r.graph_module)


def case_constant_fold_pred():
    gm = make_fx(lambda x: x + torch.ones(2) * 3 + torch.zeros(2).cos())(torch.ones(2))
    constant_fold(gm, constraint_fn=lambda n: "cos" not in n.name)
    ps(gm)


def case_lift_constants():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.tensor(3.0)
            self.register_buffer("b", torch.tensor(4.0))
            self.s = S()

        def forward(self, x):
            return x + self.a + self.b + self.s(x) + torch.tensor([1.0, 2.0])

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.tensor(5.0)

        def forward(self, x):
            return x * self.a

    ep = _export(M(), (torch.ones(2),), pre_dispatch=True, strict=False)
    ps(ep.graph_module)
    print(
        list(ep.constants), [(s.kind.name, s.arg.name, s.target, s.persistent) for s in ep.graph_signature.input_specs]
    )


def case_pass_base_trace_val():

    class P(_ExportPassBaseDeprecatedDoNotUse):
        def call_operator(self, op, args, kwargs, meta):
            if op == torch.ops.aten.relu.default:
                return super().call_operator(torch.ops.aten.sin.default, args, kwargs, meta)
            return super().call_operator(op, args, kwargs, meta)

    ep = export(Fn(lambda x: x.relu() + 1), (torch.ones(2),))
    ep2 = ep._transform_do_not_use(P())
    ps(ep2.graph_module)
    print([s.arg.name for s in ep2.graph_signature.output_specs])
    print([(n.name, n.meta.get("val")) for n in ep2.graph.nodes])


def case_pass_base_cond():

    class P(_ExportPassBaseDeprecatedDoNotUse):
        def call_cond(self, pred, t, f, inputs, meta):
            print("cond", type(pred).__name__, len(inputs))
            return super().call_cond(pred, t, f, inputs, meta)

    class M(nn.Module):
        def forward(self, x):
            return cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, [x])

    ep = export(M(), (torch.ones(2),))
    r = P()(ep.graph_module)
    ps(r.graph_module)
    [print(n, m.code.strip()) for n, m in r.graph_module.named_children()]


def case_pass_base_map():
    from functorch.experimental.control_flow import map

    class M(nn.Module):
        def forward(self, xs, y):
            return map(lambda x, y: x + y, xs, y)

    ep = export(M(), (torch.ones(2, 2), torch.ones(2)))
    r = _ExportPassBaseDeprecatedDoNotUse()(ep.graph_module)
    ps(r.graph_module)


def case_pass_manager():

    class A(PassBase):
        def call(self, gm):
            ch = False
            for n in gm.graph.nodes:
                if n.target == torch.ops.aten.add.Tensor:
                    n.target = torch.ops.aten.mul.Tensor
                    ch = True
            return PassResult(gm, ch)

    ep = export(Fn(lambda x: x + x), (torch.ones(2),))
    pm = PassManager([A()], steps=3)
    r = pm(ep.graph_module)
    print(r.modified)
    ps(r.graph_module)


def case_transform_signature():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(1))
            self.p = nn.Parameter(torch.ones(2))

        def forward(self, x):
            self.b.add_(1)
            return x * self.p + self.b

    ep = export(M(), (torch.ones(2),))

    def rename(gm):
        for n in list(gm.graph.nodes):
            if n.target == torch.ops.aten.add.Tensor:
                with gm.graph.inserting_after(n):
                    m = gm.graph.call_function(torch.ops.aten.sub.Tensor, n.args)
                    m.meta = dict(n.meta)
                n.replace_all_uses_with(m)
                gm.graph.erase_node(n)
        gm.recompile()
        return PassResult(gm, True)

    e2 = ep._transform_do_not_use(rename)
    ps(e2.graph_module)
    print(e2.graph_signature.output_specs)
    print(e2.module()(torch.ones(2)))


def case_replace_hook():
    ep = export(Fn(lambda x: x.relu() + 1), (torch.ones(2),))
    gm = ep.graph_module

    def hook(old, new, user):
        print(old, new, user)

    with gm._set_replace_hook(hook):
        n = [n for n in gm.graph.nodes if n.op == "call_function"][0]
        with gm.graph.inserting_after(n):
            m = gm.graph.call_function(torch.ops.aten.sin.default, (n.args[0],))
        n.replace_all_uses_with(m)


def case_replace_hook_sig():
    ep = export(Fn(lambda x: x.relu()), (torch.ones(2),))
    gm = ep.graph_module
    with gm._set_replace_hook(ep.graph_signature.get_replace_hook()):
        n = [n for n in gm.graph.nodes if n.op == "call_function"][0]
        with gm.graph.inserting_after(n):
            m = gm.graph.call_function(torch.ops.aten.sin.default, (n.args[0],))
        n.replace_all_uses_with(m)
    print(ep.graph_signature.user_outputs)


def case_partitioner_view_copy():
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

    ep = export(Fn(lambda x, y: (x + y).cos() + x), (torch.ones(2), torch.ones(2)))
    p = CapabilityBasedPartitioner(ep.graph_module, _AtenAddOperatorSupport(), allows_single_node_partition=True)
    f = p.fuse_partitions(p.propose_partitions())
    ps(f)


def case_tracepoint():

    class S(nn.Module):
        def forward(self, x):
            return x + 1

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()

        def forward(self, x):
            return self.s(x) * 2

    ep = export(M(), (torch.ones(2),), preserve_module_call_signature=("s",))
    ps(ep.graph_module)
    print([(e.fqn, e.signature and e.signature.inputs) for e in ep.module_call_graph])
