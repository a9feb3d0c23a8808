# SPDX-License-Identifier: Apache-2.0
"""Programs through files, trees, passes and levels."""

import copy
import io
import torch
import torch.utils._pytree as pytree
from torch import nn
from torch.export import Dim, export, unflatten, save, load, export_for_training, dims
from torch._export.serde.serialize import serialize, deserialize, ExportedProgramSerializer, ExportedProgramDeserializer
from torch._export.converter import TS2EPConverter
from torch._export.utils import (
    sequential_split,
    nodes_filter,
    nodes_count,
    node_inline_,
    get_buffer,
    get_param,
    is_buffer,
    is_param,
    get_lifted_tensor_constant,
    is_lifted_tensor_constant,
)
from torch._export.passes.replace_set_grad_with_hop_pass import _is_set_grad_enabled_node, _is_set_grad_enabled_sub_mod
from torch.fx.experimental.proxy_tensor import make_fx
from functorch.experimental.control_flow import cond, map
from typing import Dict, Tuple


def E(f, n=300):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:n])


def ops(gm):
    print([str(n.target) for n in gm.graph.nodes if n.op == "call_function"])


def rt(m, a, ds=None, k=None):
    ep = export(m, a, k, dynamic_shapes=ds)
    d = deserialize(serialize(ep))
    b = io.BytesIO()
    save(ep, b)
    b.seek(0)
    l = load(b)
    for x in (d, l):
        r = x.module()(*copy.deepcopy(a), **k or {})
        e = m(*copy.deepcopy(a), **k or {})
        print(
            all(
                (
                    torch.allclose(p, q) if isinstance(p, torch.Tensor) else p == q
                    for p, q in zip(pytree.tree_leaves(r), pytree.tree_leaves(e))
                )
            ),
            x.graph_signature == ep.graph_signature,
            [n.op for n in x.graph.nodes] == [n.op for n in ep.graph.nodes],
            str(x.range_constraints) == str(ep.range_constraints),
        )
    return (ep, d)


class L(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.l = nn.Linear(n, n)

    def forward(self, x):
        return self.l(x)


class F(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


def case_s_layernorm():
    rt(nn.LayerNorm(3), (torch.randn(2, 3),))


def case_s_lstm():
    rt(nn.LSTM(2, 3, batch_first=True), (torch.randn(1, 4, 2),))


def case_s_cond_nested():

    class M(nn.Module):
        def forward(self, x, y):

            def t(x, y):
                return cond(y.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, [x, y])

            return cond(x.sum() > 0, t, lambda x, y: x * y, [x, y])

    rt(M(), (torch.ones(2), torch.ones(2)))


def case_s_map():

    class M(nn.Module):
        def forward(self, xs, y):
            return map(lambda x, y: (x + y, x * 2), xs, y)

    rt(M(), (torch.ones(3, 2), torch.ones(2)))


def case_s_dicts():
    rt(
        F(lambda d, l: {"a": d["x"] + l[0], "b": (l[1], None, 3)}),
        ({"x": torch.ones(2)}, [torch.ones(2), torch.ones(1)]),
    )


def case_s_dtypes():
    rt(
        F(lambda x: (x.to(torch.bfloat16), x.half(), x.to(torch.int8), x > 0, x.to(torch.complex64), x.double())),
        (torch.ones(3),),
    )


def case_s_bool_kw():
    rt(
        F(
            lambda x: (
                x.std(0, unbiased=False),
                torch.argmax(x, dim=-1, keepdim=True),
                x.cumsum(0),
                torch.clamp(x, min=0.5),
            )
        ),
        (torch.randn(3, 3),),
    )


def case_s_scalars():
    rt(F(lambda x: x.add(x, alpha=2.5) + x.new_full((1,), 3) + torch.arange(0, 3, 1)), (torch.randn(3),))


def case_s_two_step():
    ep = export(L(), (torch.ones(1, 2),))
    s = ExportedProgramSerializer({"aten": 3}).serialize(ep)
    print(s.exported_program.opset_version, s.exported_program.verifiers, s.exported_program.schema_version)
    print(
        ExportedProgramDeserializer({"aten": 3})
        .deserialize(s.exported_program, s.state_dict, s.constants)
        .module()(torch.ones(1, 2))
        .shape
    )


def case_s_signature_kept():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = L()
            self.b = L()

        def forward(self, x):
            return self.b(self.a(x))

    ep = export(M(), (torch.ones(1, 2),), preserve_module_call_signature=("a", "b"))
    d = deserialize(serialize(ep))
    print([(e.fqn, e.signature is None) for e in d.module_call_graph])
    print(d.module_call_graph[1].signature)
    u = unflatten(d)
    print([n for n, _ in u.named_modules()])


def case_u_attrs():
    u = unflatten(export(L(), (torch.ones(1, 2),)))
    print([e.fqn for e in u.module_call_graph], u.range_constraints, u.equality_constraints, u.check_input_constraints)


def case_u_graph_eq():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(2)
            self.l = L()

        def forward(self, x):
            return self.l(self.bn(x))

    m = M()
    ep = export(m, (torch.ones(3, 2),))
    u = unflatten(ep)
    x = torch.randn(3, 2)
    print(torch.allclose(u(x), ep.module()(x), atol=1e-05))
    print([n for n, _ in u.named_buffers()], sorted(u.state_dict()) == sorted(m.state_dict()))


def case_u_children_order():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.z = L()
            self.y = L()
            self.x = nn.Sequential(L(), L())

        def forward(self, i):
            return self.x(self.y(self.z(i)))

    print([n for n, _ in unflatten(export(M(), (torch.ones(1, 2),))).named_modules()])


def case_u_kwargs():

    class S(nn.Module):
        def forward(self, x, y=None, *, z):
            return x + z if y is None else x + y + z

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()

        def forward(self, x, w):
            return self.s(x, z=w) + self.s(x, w, z=x)

    u = unflatten(export(M(), (torch.ones(2), torch.ones(2) * 2)))
    print(u(torch.ones(2), torch.ones(2) * 2))


def case_p_split_run():

    class M(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x.sin()
            with torch.enable_grad():
                z = y + x
            return (z, y)

    gm = make_fx(M(), pre_dispatch=True)(torch.ones(2))
    new = sequential_split(gm, _is_set_grad_enabled_node)
    x = torch.randn(2)
    print(
        [torch.equal(a, b) for a, b in zip(gm(x), new(x))], nodes_count(new.graph.nodes, _is_set_grad_enabled_sub_mod)
    )
    for n in nodes_filter(new.graph.nodes, lambda n: n.op == "call_module"):
        node_inline_(n)
    print(new.code == gm.code, [torch.equal(a, b) for a, b in zip(gm(x), new(x))])


def case_p_no_output_graph():
    g = torch.fx.Graph()
    x = g.placeholder("x")
    g.call_function(torch.sin, (x,))
    print(torch.fx.GraphModule({}, g)(torch.ones(1)))


def case_p_utils_sig():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(2))
            self.register_buffer("b", torch.zeros(2))
            self.c = torch.full((2,), 3.0)

        def forward(self, x):
            return x + self.p + self.b + self.c

    ep = export(M(), (torch.ones(2),))
    for n in ep.graph.nodes:
        if n.op == "placeholder":
            print(
                n.name,
                is_param(ep, n),
                is_buffer(ep, n),
                is_lifted_tensor_constant(ep, n),
                get_param(ep, n) is not None,
                get_buffer(ep, n),
                get_lifted_tensor_constant(ep, n),
            )


def case_v_ctor():
    ep = export(L(), (torch.ones(1, 2),))
    for n in ep.graph.nodes:
        if n.op == "call_function":
            n.target = torch.ops.aten.relu_.default
            n.args = n.args[:1]
    E(
        lambda: torch.export.ExportedProgram(
            root=ep.graph_module,
            graph=ep.graph,
            graph_signature=ep.graph_signature,
            state_dict=ep.state_dict,
            range_constraints={},
            module_call_graph=ep.module_call_graph,
        )
    )


def case_v_ctor_ok():
    ep = export(L(), (torch.ones(1, 2),))
    e2 = torch.export.ExportedProgram(
        root=ep.graph_module,
        graph=ep.graph,
        graph_signature=ep.graph_signature,
        state_dict=ep.state_dict,
        range_constraints=ep.range_constraints,
        module_call_graph=ep.module_call_graph,
        example_inputs=ep.example_inputs,
        constants=ep.constants,
    )
    print(torch.equal(e2.module()(torch.ones(1, 2)), ep.module()(torch.ones(1, 2))))


def case_v_state_dict():
    ep = export(L(), (torch.ones(1, 2),))
    ep._state_dict = {}
    E(ep._validate)


def conv(m, a, *more):
    ep = TS2EPConverter(torch.jit.script(m), a).convert()
    for x in (a, *more):
        print(pytree.tree_leaves(ep.module()(*x)))
    print(sorted(ep.state_dict))


class CTo(nn.Module):
    def forward(self, x):
        y = x.to(torch.float64)
        y[0] = 5
        y.mul_(2)
        return y


class CCast(nn.Module):
    def forward(self, x):
        return x.float().add_(1) + x.type_as(torch.ones(1)).sub_(1)


class CBranch(nn.Module):
    def forward(self, x):
        if x.sum() > 1:
            y = x.sin()
        elif x.sum() < -1:
            y = x.cos()
        else:
            y = x + 1
        return y


class CUnpack(nn.Module):
    def forward(self, x: tuple[torch.Tensor, torch.Tensor], d: dict[str, torch.Tensor]):
        a, b = x
        return {"s": a + d["k"], "t": b}


class CStr(nn.Module):
    def __init__(self):
        super().__init__()
        self.names = ["a", "b"]
        self.scale: dict[str, float] = {"a": 2.0}

    def forward(self, x):
        for n in self.names:
            if n in self.scale:
                x = x * self.scale[n]
        return x


def case_c_to():
    conv(CTo(), (torch.ones(2),))


def case_c_cast():
    conv(CCast(), (torch.tensor([1, 2]),))


def case_c_branch():
    conv(CBranch(), (torch.ones(2),), (torch.zeros(2),), (-torch.ones(2),))


def case_c_unpack():
    conv(CUnpack(), ((torch.ones(2), torch.ones(1)), {"k": torch.ones(2)}))


def case_c_str():
    conv(CStr(), (torch.ones(2),))


def case_e_dims():
    a, b = dims("a", "b", max=8)
    ep = export(F2b(), (torch.ones(3, 4),), dynamic_shapes={"x": (a, b)})
    print(ep.range_constraints)
    E(lambda: ep.module()(torch.ones(9, 2)))


class F2b(nn.Module):
    def forward(self, x):
        return x.sum(0, keepdim=True) * x.shape[1]


def case_e_inplace_input():
    ep = export(F(lambda x, y: (x.add_(1), y.copy_(x), x * y)[2]), (torch.ones(2), torch.ones(2)))
    print([(s.kind.name, s.target) for s in ep.graph_signature.output_specs])
    x, y = (torch.ones(2), torch.ones(2))
    print(ep.module()(x, y), x, y)


def case_e_buffer_alias():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(2))
            self.b = self.a

        def forward(self, x):
            self.a.add_(x)
            return self.b + 1

    ep = export(M(), (torch.ones(2),))
    m = ep.module()
    print(m(torch.ones(2)), m(torch.ones(2)), list(ep.state_dict))


def case_e_decomp_chain():
    ep = export(nn.Sequential(nn.Linear(2, 2), nn.GELU(), nn.Softmax(-1)), (torch.ones(1, 2),), strict=False)
    ops(ep)
    ops(ep.run_decompositions())
    ops(ep.run_decompositions({}))


def case_e_training_decomp():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv2d(1, 1, 1)
            self.b = nn.BatchNorm2d(1)

        def forward(self, x):
            return self.b(self.c(x))

    ep = export_for_training(M(), (torch.ones(1, 1, 2, 2),))
    ops(ep.run_decompositions())
    print([(s.kind.name, s.target) for s in ep.run_decompositions().graph_signature.output_specs])


def case_e_retrace():
    ep = export(L(), (torch.ones(3, 2),), dynamic_shapes={"x": {0: Dim("n")}})
    e2 = export(ep.module(), (torch.ones(3, 2),), dynamic_shapes={"x": {0: Dim("n")}})
    print([s.target for s in e2.graph_signature.input_specs], e2.range_constraints)
    E(lambda: e2.module()(torch.ones(7, 2)).shape)


def case_e_data_dependent_ok():

    class M(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check_is_size(k)
            torch._check(k < x.shape[0])
            return x.narrow(0, 0, k).sum()

    for s in (True, False):
        E(lambda s=s: export(M(), (torch.ones(5), torch.tensor(2)), strict=s).module()(torch.ones(5), torch.tensor(3)))


def case_e_nonzero():
    for s in (True, False):
        E(
            lambda s=s: export(F(lambda x: x.nonzero().shape[0] + x[x > 0].sum()), (torch.ones(3),), strict=s).module()(
                torch.tensor([1.0, 0.0, 2.0])
            )
        )


def case_e_errors():

    class M(nn.Module):
        def forward(self, x):
            if x.max() > 2:
                return x
            return x + 1

    E(lambda: export(M(), (torch.ones(3),)), 60)
    E(lambda: export(M(), (torch.ones(3),), strict=False), 60)
