# SPDX-License-Identifier: Apache-2.0
"""Passes over exported graphs."""

import torch
from torch import nn
from torch._export.pass_base import _ExportPassBaseDeprecatedDoNotUse as EPB
from torch._export.passes.add_runtime_assertions_for_constraints_pass import (
    _AddRuntimeAssertionsForInlineConstraintsPass,
)
from torch._export.passes.replace_view_ops_with_view_copy_ops_pass import (
    ReplaceViewOpsWithViewCopyOpsPass,
    get_view_copy_of_view_op,
    is_view_op,
)
from torch.export import Dim, export


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


def ops(gm):
    return [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]


def case_base_identity():
    class A(nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y]).sin() + x.shape[0]

    ep = export(A(), (torch.ones(2, 3), torch.ones(4, 3)))
    r = EPB()(ep.graph_module)
    print(r.modified)
    print(r.graph_module.code)


def case_base_identity_dynamic():
    class A(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] * 3) + x.shape[0]

    ep = export(A(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("d")}})
    r = EPB()(ep.graph_module)
    print(r.graph_module.code)


def case_base_replace_op():
    class P(EPB):
        def call_operator(self, op, args, kwargs, meta):
            if op == torch.ops.aten.sin.default:
                op = torch.ops.aten.cos.default
            return super().call_operator(op, args, kwargs, meta)

    class A(nn.Module):
        def forward(self, x):
            return x.sin() + x.sin()

    ep = export(A(), (torch.ones(2),))
    ep2 = ep._transform_do_not_use(P())
    print(ep2.graph_module.code)
    print(ep2.module()(torch.zeros(2)))


def case_base_modified_flag():
    class P(EPB):
        def call(self, gm):
            from torch.fx.passes.infra.pass_base import PassResult

            return PassResult(gm, False)

    class A(nn.Module):
        def forward(self, x):
            return x.sin()

    ep = export(A(), (torch.ones(2),))
    print(ep._transform_do_not_use(P()) is ep)


def case_base_cond():
    class A(nn.Module):
        def forward(self, x):
            return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), [x])

    ep = export(A(), (torch.ones(5),), dynamic_shapes={"x": {0: Dim("d", min=3)}})

    class P(EPB):
        def call_operator(self, op, args, kwargs, meta):
            print("op", op)
            return super().call_operator(op, args, kwargs, meta)

    r = P()(ep.graph_module)
    print(r.graph_module.code)
    for n, m in r.graph_module.named_modules():
        print(n, type(m).__name__)


def case_base_map():
    from functorch.experimental.control_flow import map

    class A(nn.Module):
        def forward(self, xs, y):
            return map(lambda x, y: x + y, xs, y)

    ep = export(A(), (torch.ones(3, 2), torch.ones(2)))
    r = EPB()(ep.graph_module)
    print(r.graph_module.code)
    print(
        r.graph_module.body_graph_0.code
        if hasattr(r.graph_module, "body_graph_0")
        else [n for n, _ in r.graph_module.named_modules()]
    )


def case_base_call_getitem():
    class P(EPB):
        def call_getitem(self, value, key, meta):
            print("getitem", key)
            return super().call_getitem(value, key, meta)

    class A(nn.Module):
        def forward(self, x):
            return torch.split(x, 2)

    ep = export(A(), (torch.ones(4),)).run_decompositions()
    print(P()(ep.graph_module).graph_module.code)


def case_base_get_attr():
    from torch._export.pass_base import Argument, ExportPassBaseError, Fn, NodeMetadata, PassType, ProxyValue, Value

    print(
        ExportPassBaseError.__mro__[1].__name__,
        NodeMetadata({"a": 1})["a"],
        NodeMetadata({"stack_trace": 1, "val": 2}).copy().data,
    )


def case_nodemetadata():
    from torch._export.pass_base import NodeMetadata

    m = NodeMetadata({"a": 1})
    print("a" in m)
    m["b"] = 3
    print(m["b"], m.data)
    m["a"] = 5


def case_proxyvalue():
    from torch._export.pass_base import ProxyValue

    class P(EPB):
        def call_operator(self, op, args, kwargs, meta):
            print(
                isinstance(args[0], ProxyValue),
                args[0].is_tensor(),
                args[0].is_symint(),
                args[0].to_tensor().shape,
                args[0].node.name,
            )
            r = super().call_operator(op, args, kwargs, meta)
            print(type(r).__name__, r.data.shape, r.proxy.node.name, r.is_symbool(), r.is_symfloat())
            return r

    class A(nn.Module):
        def forward(self, x):
            return x.sin()

    P()(export(A(), (torch.ones(2),)).graph_module)


def case_proxyvalue_iter():
    class P(EPB):
        def call_operator(self, op, args, kwargs, meta):
            r = super().call_operator(op, args, kwargs, meta)
            if op == torch.ops.aten.max.dim:
                a, b = r
                print(a, b)
            return r

    class A(nn.Module):
        def forward(self, x):
            return torch.max(x, 0)

    P()(export(A(), (torch.ones(2),)).graph_module)


def case_view_copy_pass():
    class A(nn.Module):
        def forward(self, x):
            z = x.view(x.shape)
            z = z.transpose(0, 1).unsqueeze(0)
            return z + 1, z.cos().sum()

    ep = export(A(), (torch.ones(3, 3),))
    ep2 = ep._transform_do_not_use(ReplaceViewOpsWithViewCopyOpsPass())
    print(ep2.graph_module.code)
    print(ep2.module()(torch.ones(3, 3)))


def case_view_copy_functionalized():
    class A(nn.Module):
        def forward(self, x):
            x = x.clone()
            y = x.view(-1)
            y.add_(1)
            return x

    ep = export(A(), (torch.ones(3, 3),)).run_decompositions()
    print(ep._transform_do_not_use(ReplaceViewOpsWithViewCopyOpsPass()).graph_module.code)


def case_runtime_assert_dim():
    class A(nn.Module):
        def forward(self, x):
            return x.cos()

    ep = export(A(), (torch.ones(2, 2, 3),), dynamic_shapes={"x": {1: Dim("d", min=2, max=6)}})
    with_mod = ep.module()
    with_mod(torch.ones(2, 4, 3))
    with_mod(torch.ones(2, 7, 3))


def case_runtime_assert_two_inputs():
    class A(nn.Module):
        def forward(self, x, y):
            return x.cos(), y.cos().sum()

    d = Dim("d", min=2, max=6)
    e = Dim("e", min=3)
    ep = export(
        A(),
        (torch.ones(4, 2), torch.ones(5, 5)),
        dynamic_shapes={"x": {0: d}, "y": {0: e, 1: d}} if 0 else {"x": {0: d}, "y": {0: e}},
    )
    ep.module()(torch.ones(4, 2), torch.ones(2, 5))


def case_runtime_assert_some_dims_not():
    class A(nn.Module):
        def forward(self, x, y):
            return x.cos(), y.sin()

    d = Dim("d", min=2, max=6)
    ep = export(A(), (torch.ones(4, 2), torch.ones(5, 5)), dynamic_shapes={"x": {0: d}, "y": None})
    m = ep.module()
    m(torch.ones(3, 2), torch.ones(5, 5))
    m(torch.ones(4, 2), torch.ones(5, 6))


def case_functionalize_side_effects_none():
    from torch._export.passes.functionalize_side_effectful_ops_pass import _FunctionalizeSideEffectfulOpsPass

    g = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x + 1)(torch.ones(4))
    r = _FunctionalizeSideEffectfulOpsPass()(g)
    print(r.modified, r.graph_module is g)
    print(r.graph_module.code)


def case_replace_set_grad():
    from torch._export.passes.replace_set_grad_with_hop_pass import replace_set_grad_with_hop_pass
    from torch.export._trace import _export

    class A(nn.Module):
        def forward(self, x):
            x = x + 1
            with torch.no_grad():
                y = x.sin()
                z = y * 2
            with torch.enable_grad():
                w = z.cos()
            return y + w

    ep = _export(A(), (torch.ones(2),), pre_dispatch=True)
    print(ep.graph_module.code)
    for n, m in ep.graph_module.named_children():
        print(n, m.code)


def case_sequential_split():
    from torch._export.utils import (
        node_inline_,
        node_replace_,
        nodes_count,
        nodes_filter,
        nodes_first,
        nodes_map,
        sequential_split,
    )

    class A(nn.Module):
        def forward(self, x):
            y = x + 1
            z = y.sin()
            return z * y

    gm = torch.fx.symbolic_trace(A())
    new = sequential_split(gm, lambda n: n.name == "sin")
    print(new.code)
    for n, m in new.named_children():
        print(n, m.code)


def case_sequential_split_inline():
    from torch._export.utils import node_inline_, sequential_split

    class A(nn.Module):
        def forward(self, x):
            y = x + 1
            z = y.sin()
            return z * y

    gm = torch.fx.symbolic_trace(A())
    new = sequential_split(gm, lambda n: n.name == "sin")
    for n in list(new.graph.nodes):
        if n.op == "call_module":
            node_inline_(n)
    new.graph.lint()
    new.recompile()
    print(new.code)


def case_nodes_helpers():
    from torch._export.utils import nodes_count, nodes_filter, nodes_first, nodes_map

    gm = torch.fx.symbolic_trace(lambda x: (x + 1).sin() * 2)
    ns = list(gm.graph.nodes)
    print(
        nodes_filter(ns, lambda n: n.op == "call_function"),
        nodes_first(ns, lambda n: n.op == "output"),
        nodes_count(ns, lambda n: n.op == "call_function"),
        nodes_map(ns, lambda n: n.name),
        nodes_first(ns, lambda n: False),
        nodes_first(ns),
    )


def case_node_replace():
    from torch._export.utils import node_replace_

    gm = torch.fx.symbolic_trace(lambda x: (x + 1).sin())
    add = [n for n in gm.graph.nodes if "add" in n.name][0]
    with gm.graph.inserting_after(add):
        new = gm.graph.call_function(torch.neg, (add.args[0],))
    node_replace_(add, new)
    gm.recompile()
    print(gm.code)


def case_lift_constants_pass():
    from torch._export.passes.lift_constants_pass import ConstantAttrMap, lift_constants_pass
    from torch.export import ExportGraphSignature

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = torch.ones(2)

        def forward(self, x):
            return x + self.c

    gm = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x + torch.tensor([1.0, 2.0]))(torch.ones(2))
    ep = export(A(), (torch.ones(2),))
    print(ep.graph_signature.inputs_to_lifted_tensor_constants, list(ep.constants))
    g = torch.fx.Graph()
    cm = ConstantAttrMap()
    t = torch.ones(3)
    cm[t] = "a"
    print(cm[t], t in cm, len(cm), list(cm.values()) if hasattr(cm, "values") else 0)


def case_constantattrmap():
    from torch._export.passes.lift_constants_pass import ConstantAttrMap

    cm = ConstantAttrMap()
    t = torch.ones(3)
    cm.add(t, "a")
    cm.add(t, "b")
    print(cm[t], len(cm))
    del cm[t]
    print(t in cm)
    cm[5] = "x"


def case_constantattrmap_str():
    from torch._export.passes.lift_constants_pass import ConstantAttrMap

    cm = ConstantAttrMap()
    cm[torch.ones(2)] = 3


def case_rewrite_script_object():
    from torch._export.passes.lift_constants_pass import get_constant_fqn, rewrite_script_object_meta

    class A(nn.Module):
        def forward(self, x):
            return x + 1

    ep = export(A(), (torch.ones(2),))
    print(rewrite_script_object_meta(ep.graph_module))
    n = [n for n in ep.graph.nodes if n.name == "add"][0]
    print(get_constant_fqn(n, "c0"))


def case_lift_constants_nested():
    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = torch.ones(2)

        def forward(self, x):
            return x + self.k + torch.tensor([3.0, 4.0])

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = B()

        def forward(self, x):
            return self.b(x) + torch.tensor(2)

    ep = export(A(), (torch.ones(2),))
    print(ep.graph_signature)
    print(sorted(ep.constants))
    print(ep.graph_module.code)


def case_collect_tracepoints():
    from torch._export.passes.collect_tracepoints_pass import CollectTracepointsPass

    class B(nn.Module):
        def forward(self, x, *, k):
            return {"a": x + k}

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = B()

        def forward(self, x):
            return self.b(x, k=x)["a"]

    ep = export(A(), (torch.ones(2),), preserve_module_call_signature=("b",))
    for e in ep.module_call_graph:
        print(
            e.fqn, e.signature and (e.signature.inputs, e.signature.outputs, e.signature.in_spec, e.signature.out_spec)
        )


def case_pass_infra_nodes():
    from torch._export.pass_infra.node_metadata import NodeMetadata
    from torch._export.pass_infra.proxy_value import ProxyValue

    print(NodeMetadata.__name__, ProxyValue.__name__)


def case_transform_error():
    class A(nn.Module):
        def forward(self, x):
            return x + 1

    ep = export(A(), (torch.ones(2),))
    ep._transform_do_not_use(lambda gm: None)


def case_transform_placeholder_rename():
    from torch.fx.passes.infra.pass_base import PassResult

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2))

        def forward(self, x):
            self.b.add_(x)
            return self.b + 1

    def p(gm):
        for n in gm.graph.nodes:
            if n.op != "output":
                n.name = n.name + "_r"
        gm.recompile()
        return PassResult(gm, True)

    ep = export(A(), (torch.ones(2),))._transform_do_not_use(p)
    print(ep.graph_signature)
    print(ep.graph_module.code)


def case_passmanager():
    from torch.fx.passes.infra.pass_manager import PassManager

    class P(EPB):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(
                torch.ops.aten.mul.Tensor if op == torch.ops.aten.add.Tensor else op, args, kwargs, meta
            )

    class A(nn.Module):
        def forward(self, x):
            return x + x

    ep = export(A(), (torch.ones(2),))
    r = PassManager([P(), ReplaceViewOpsWithViewCopyOpsPass()])(ep.graph_module)
    print(r.graph_module.code, r.modified)


def case_effect_token_removal():
    from torch.export._remove_effect_tokens_pass import _remove_effect_tokens

    class A(nn.Module):
        def forward(self, x):
            return x + 1

    ep = export(A(), (torch.ones(2),))
    print(_remove_effect_tokens(ep).graph_module.code)
