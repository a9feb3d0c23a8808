# SPDX-License-Identifier: Apache-2.0
"""What an export takes, keeps and refuses."""

from collections import namedtuple
from typing import List
import torch
import torch._dynamo as torchdynamo
import torch.utils._pytree as pytree
from torch import Tensor, nn
from torch.export import Dim
from torch.export import export


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


def E(f, n=500):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:n])


def both(m, a, k=None, **kw):
    for s in (True, False):
        try:
            ep = export(m, a, k, strict=s, **kw)
            r = ep.module()(*a, **k or {})
            print(s, pytree.tree_map(lambda t: t.shape if isinstance(t, Tensor) else t, r))
            print(
                [n.name for n in ep.graph.nodes if n.op == "placeholder"],
                [(x.kind.name, x.target) for x in ep.graph_signature.input_specs],
            )
        except Exception as e:
            print(s, type(e).__name__, str(e)[:300])


def case_dim_auto():
    from torch.export import Dim

    class M(nn.Module):
        def forward(self, x, y):
            return x + y

    ep = export(
        M(),
        (torch.ones(4, 3), torch.ones(4, 3)),
        dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO}),
    )
    print([tuple(map_str(n.meta["val"].shape)) for n in ep.graph.nodes if n.op == "placeholder"])
    ep.module()(torch.ones(7, 2), torch.ones(7, 2))


def map_str(s):
    return [str(x) for x in s]


def case_dim_auto_dim_mixed():

    class M(nn.Module):
        def forward(self, x, y):
            return x + y

    E(lambda: export(M(), (torch.ones(4), torch.ones(4)), dynamic_shapes=({0: Dim("a")}, {0: Dim.AUTO})))


def case_dim_static():

    class M(nn.Module):
        def forward(self, x):
            return x[:3]

    ep = export(M(), (torch.ones(6, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.STATIC},))
    print(map_str([n for n in ep.graph.nodes][0].meta["val"].shape))
    E(lambda: ep.module()(torch.ones(8, 5)))


def case_auto_specialize():

    class M(nn.Module):
        def forward(self, x):
            return x.reshape(2, 2) + 1

    ep = export(M(), (torch.ones(4),), dynamic_shapes=({0: Dim.AUTO},))
    print(map_str([n for n in ep.graph.nodes][0].meta["val"].shape))


def case_dynamic_shapes_pytree():

    class M(nn.Module):
        def forward(self, d, l):
            return d["a"] + l[0] + l[1][0]

    a = ({"a": torch.ones(4)}, [torch.ones(4), (torch.ones(4),)])
    b = Dim("b")
    ep = export(M(), a, dynamic_shapes={"d": {"a": {0: b}}, "l": [{0: b}, ({0: b},)]})
    print(ep.range_constraints)
    for bad in (
        {"d": {"a": {0: b}}, "l": ({0: b}, ({0: b},))},
        {"d": {"c": {0: b}}, "l": None},
        {"d": None},
        ({"a": {0: b}},),
        {"d": {"a": {0: b}}, "l": [{0: b}]},
        {"d": {"a": {"x": b}}, "l": None},
        {"d": {"a": {0: "q"}}, "l": None},
        {"d": {"a": b}, "l": None},
    ):
        E(lambda bad=bad: export(M(), a, dynamic_shapes=bad) and "ok")


def case_max_bounds_fix():

    class M(nn.Module):
        def forward(self, x):
            if x.shape[0] > 3 and x.shape[0] <= 20:
                return x + 1
            return x

    E(lambda: export(M(), (torch.ones(6),), dynamic_shapes={"x": {0: Dim("d", max=100)}}), 900)


def case_static_const_fix():

    class M(nn.Module):
        def forward(self, x):
            return x + torch.ones(6)

    E(lambda: export(M(), (torch.ones(6),), dynamic_shapes={"x": {0: Dim("d", max=100)}}), 900)


def case_attr_assign_tensor():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = torch.ones(2)

        def forward(self, x):
            self.t = self.t + x
            return self.t

    both(M(), (torch.ones(2),))


def case_buffer_assign():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2))

        def forward(self, x):
            self.b = self.b + x
            return self.b

    both(M(), (torch.ones(2),))


def case_literal_mutation():

    class M(nn.Module):
        def forward(self, x):
            t = torch.tensor([1.0, 2.0])
            t.add_(x)
            return t

    both(M(), (torch.ones(2),))


def case_module_dict():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU()})

        def forward(self, x, k):
            return self.m[k](x)

    both(M(), (torch.ones(1, 2), "a"))


def case_lazy_kwargs():

    class L(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def initialize_parameters(self, *a, **k):
            pass

        def forward(self, x, y):
            return x + y

    both(L(), (), {"x": torch.ones(2), "y": torch.ones(2)})


def case_namedtuple():
    P = namedtuple("P", ["a", "b"])
    torch.utils._pytree._register_namedtuple(P, serialized_type_name="t.P")

    class M(nn.Module):
        def forward(self, p):
            return P(p.a + 1, p.b)

    both(M(), (P(torch.ones(2), torch.ones(3)),))


def case_state_dict_hooks():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self._register_load_state_dict_pre_hook(self.h)
            self.p = nn.Parameter(torch.zeros(2))

        def h(self, *a):
            pass

        def forward(self, x):
            return self.p * x

    both(M(), (torch.ones(2),))


def case_preserve_ops():
    ep = export(nn.Sequential(nn.Linear(2, 2), nn.Conv1d(1, 1, 1)), (torch.ones(1, 2),), strict=False)
    print(ep.run_decompositions(_preserve_ops=(torch.ops.aten.linear.default,)).graph_module.code)


def case_assume_constant():

    @torchdynamo.assume_constant_result
    def f():
        return 3

    both(Fn(lambda x: x + f()), (torch.ones(2),))


def case_export_fn_error():
    E(lambda: export(lambda x: x, (torch.ones(2),)))
    E(lambda: export(nn.Linear(2, 2), torch.ones(1, 2)))
    E(lambda: export(nn.Linear(2, 2), [torch.ones(1, 2)]))


def case_script_module_error():
    E(lambda: export(torch.jit.script(nn.Linear(2, 2)), (torch.ones(1, 2),)))


def case_call_ep():
    E(lambda: export(nn.Linear(2, 2), (torch.ones(1, 2),))(torch.ones(1, 2)))


def case_train_eval():
    m = export(nn.Linear(2, 2), (torch.ones(1, 2),)).module()
    E(m.train)
    E(m.eval)


def case_wrong_inputs():

    class M(nn.Module):
        def forward(self, x, y, *, z):
            return x + y["a"] + z

    ep = export(M(), (torch.ones(2), {"a": torch.ones(2)}), {"z": torch.ones(2)})
    m = ep.module()
    E(lambda: m(torch.ones(2), {"b": torch.ones(2)}, z=torch.ones(2)))
    E(lambda: m(torch.ones(2)))
    E(lambda: m(torch.ones(2), {"a": torch.ones(2)}, q=torch.ones(2)))
    E(lambda: m(torch.ones(3), {"a": torch.ones(2)}, z=torch.ones(2)))
    E(lambda: m(torch.ones(2), {"a": torch.ones(2, dtype=torch.int)}, z=torch.ones(2)))
    E(lambda: m(3, {"a": torch.ones(2)}, z=torch.ones(2)))


def case_sig_props():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2))
            self.register_buffer("nb", torch.ones(2), persistent=False)
            self.p = nn.Parameter(torch.ones(2))
            self.c = torch.ones(2)

        def forward(self, x):
            self.b.add_(1)
            x.mul_(2)
            return x + self.b + self.nb + self.p + self.c

    s = export(M(), (torch.ones(2),)).graph_signature
    for n in (
        "parameters",
        "buffers",
        "non_persistent_buffers",
        "lifted_tensor_constants",
        "lifted_custom_objs",
        "user_inputs",
        "user_outputs",
        "inputs_to_parameters",
        "inputs_to_buffers",
        "buffers_to_mutate",
        "user_inputs_to_mutate",
        "inputs_to_lifted_tensor_constants",
        "inputs_to_lifted_custom_objs",
        "backward_signature",
        "assertion_dep_token",
        "input_tokens",
        "output_tokens",
    ):
        print(n, getattr(s, n, "missing"))


def case_autograd_fn():

    class F1(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g

    both(Fn(lambda x: F1.apply(x) + 1), (torch.ones(2),))
    print(export(Fn(lambda x: F1.apply(x)), (torch.ones(2, requires_grad=True),), strict=False).graph_module.code)


def case_custom_op_mut():

    @torch.library.custom_op("_texp::g", mutates_args={"x"})
    def g(x: Tensor) -> None:
        x.add_(1)

    ep = export(Fn(lambda x: (torch.ops._texp.g(x), x + 1)[1]), (torch.ones(2),))
    print(ep.graph_module.code)
    print(ep.run_decompositions().graph_module.code)


def case_sym_out():
    ep = export(Fn2(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("d")}})
    print(ep.graph_signature.output_specs, ep.module()(torch.ones(6, 3)))


class Fn2(nn.Module):
    def forward(self, x):
        return (x.shape[0] * 2, x.numel(), x.sum())


def case_range_constraints():

    class M(nn.Module):
        def forward(self, x, y):
            return x.sum() + y.sum()

    d = Dim("d", min=3, max=10)
    ep = export(M(), (torch.ones(4), torch.ones(9)), dynamic_shapes={"x": {0: d}, "y": {0: 2 * d + 1}})
    print(ep.range_constraints)
    m = ep.module()
    E(lambda: m(torch.ones(4), torch.ones(10)))
    E(lambda: m(torch.ones(2), torch.ones(5)))
    E(lambda: m(torch.ones(5), torch.ones(11)))


def case_eq_constraint_msg():

    class M(nn.Module):
        def forward(self, x, y):
            return x + y

    E(lambda: export(M(), (torch.ones(4), torch.ones(4)), dynamic_shapes={"x": {0: Dim("a")}, "y": {0: Dim("b")}}), 900)
    E(lambda: export(M(), (torch.ones(4), torch.ones(4)), dynamic_shapes={"x": {0: Dim("a")}, "y": None}), 900)
    E(lambda: export(M(), (torch.ones(1), torch.ones(1)), dynamic_shapes={"x": {0: Dim("a")}, "y": {0: Dim("a")}}), 900)


def case_run_twice_state():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(1))

        def forward(self, x):
            self.b.add_(1)
            return x + self.b

    o = M()
    ep = export(o, (torch.ones(1),))
    m = ep.module()
    print(m(torch.ones(1)), m(torch.ones(1)), o.b, ep.state_dict["b"], m.b, ep.module()(torch.ones(1)))


def case_ep_props():
    ep = export(nn.Linear(2, 2), (torch.ones(1, 2),))
    print(
        ep.call_spec,
        ep.example_inputs,
        ep.dialect,
        list(ep.named_parameters())[0][0],
        [n for n, _ in ep.named_buffers()],
        ep.constants,
        ep.tensor_constants if hasattr(ep, "tensor_constants") else 0,
        len(ep.module_call_graph),
        ep.verifier,
    )
    E(lambda: setattr(ep, "state_dict", {}))
    E(lambda: setattr(ep, "graph", None))
    E(lambda: setattr(ep, "graph_module", None))


def case_multi_dim_names():

    class M(nn.Module):
        def forward(self, x):
            return x.transpose(0, 1) @ x

    ep = export(M(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim("a", min=2), 1: Dim("b", max=7)}})
    print(ep.graph_module.code, ep.range_constraints)
