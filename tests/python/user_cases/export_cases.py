# SPDX-License-Identifier: Apache-2.0
"""torch.export.export."""

import dataclasses
import enum
import operator

import torch
from torch import nn
from torch.export import Dim, ExportedProgram, dims, export, export_for_training
from torch.utils import _pytree as pytree


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a, **k):
        return self.f(*a, **k)


class X1(nn.Module):
    def forward(self, x):
        return x.sin() + 1


X = torch.ones(4, 3)


def ops(ep):
    print([str(n.target) for n in ep.graph.nodes if n.op == "call_function"])


def both(mk, *a, **k):
    for strict in (True, False):
        try:
            ep = export(mk(), a, strict=strict, **k)
            print(ep.graph_module.code.strip())
            print(ep.range_constraints)
        except BaseException as e:
            print("RAISED", type(e).__name__, str(e).strip().split("\n")[0])


def case_not_module():
    export(lambda x: x, (X,))


def case_args_not_tuple():
    export(X1(), X)


def case_too_many():
    export(X1(), (X, X))


def case_dyn_unknown():
    export(X1(), (X,), dynamic_shapes={"y": {0: Dim("b")}})


def case_dyn_int_ok():
    print(export(X1(), (X,), dynamic_shapes={"x": {0: 4}}).range_constraints)


def case_dyn_int_bad():
    export(X1(), (X,), dynamic_shapes={"x": {0: 5}})


def case_dyn_tuple():
    ep = export(X1(), (X,), dynamic_shapes=((Dim("b"), None),))
    print(ep.range_constraints)


def case_dyn_list():
    ep = export(X1(), (X,), dynamic_shapes=[[Dim("b"), None]])
    print(ep.range_constraints)


def case_dyn_bad_type():
    export(X1(), (X,), dynamic_shapes={"x": {0: "b"}})


def case_dyn_none():
    print(
        export(X1(), (X,), dynamic_shapes=None).range_constraints,
        export(X1(), (X,), dynamic_shapes={"x": None}).range_constraints,
    )


def case_dyn_auto():
    ep = export(X1(), (X,), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.STATIC}}, strict=False)
    print(ep.range_constraints)
    print(ep.module()(torch.ones(7, 3)).shape)


def case_dyn_auto_specialize():
    class M(nn.Module):
        def forward(self, x):
            return x.view(4, 3) + 1

    ep = export(M(), (X,), dynamic_shapes={"x": {0: Dim.AUTO}}, strict=False)
    print(ep.range_constraints)


def case_dyn_dims_mixed():
    export(X1(), (X,), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim("z")}}, strict=False)


def case_dim_bad():
    Dim("b", min=5, max=2)


def case_dim_name_bad():
    Dim("1b")


def case_dim_bad_op():
    Dim("b") * 0.5


def case_dim_bad_op2():
    Dim("b") * -1


def case_dim_guard():
    class M(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] > 3 else x

    export(M(), (X,), dynamic_shapes={"x": {0: Dim("b")}})


def case_dim_special():
    class M(nn.Module):
        def forward(self, x):
            return x + torch.ones(4, 3)

    export(M(), (X,), dynamic_shapes={"x": {0: Dim("b")}})


def case_dim_derived():
    class M(nn.Module):
        def forward(self, x, y):
            return x + y[1:]

    b = Dim("b")
    ep = export(M(), (X, torch.ones(5, 3)), dynamic_shapes={"x": {0: b}, "y": {0: b + 1}})
    print(ep.range_constraints)
    print(ep.module()(torch.ones(6, 3), torch.ones(7, 3)).shape)
    ep.module()(torch.ones(6, 3), torch.ones(8, 3))


def case_dim_range_check():
    ep = export(X1(), (X,), dynamic_shapes={"x": {0: Dim("b", min=3, max=6)}})
    ep.module()(torch.ones(9, 3))


def case_kwargs_dyn():
    class M(nn.Module):
        def forward(self, x, *, y):
            return x + y

    b = Dim("b")
    ep = export(M(), (X,), {"y": X}, dynamic_shapes={"x": {0: b}, "y": {0: b}})
    print(ep.graph_signature.user_inputs)
    print(ep.module()(torch.ones(2, 3), y=torch.ones(2, 3)).shape)


def case_dict_dyn():
    class M(nn.Module):
        def forward(self, d):
            return d["a"] + d["b"][0]

    b = Dim("b")
    ep = export(M(), ({"a": X, "b": [X]},), dynamic_shapes={"d": {"a": {0: b}, "b": [{0: b}]}})
    print(ep.graph_signature.user_inputs, ep.range_constraints)


def case_dict_dyn_missing():
    class M(nn.Module):
        def forward(self, d):
            return d["a"] + d["b"]

    export(M(), ({"a": X, "b": X},), dynamic_shapes={"d": {"a": {0: Dim("b")}}})


def case_enum():
    class E(enum.Enum):
        A = 1
        B = 2

    class M(nn.Module):
        def forward(self, x, e):
            return x + 1 if e is E.A else x - 1

    export(M(), (X, E.A), strict=False)


def case_str_none():
    class M(nn.Module):
        def forward(self, x, s, n=None, f=2.5, b=True):
            return x * f if s == "a" and b else x

    ep = export(M(), (X, "a", None))
    print(ep.graph_signature.user_inputs)
    print(ep.module()(X, "a", None).shape)
    ep.module()(X, "b", None)


def case_int_input():
    class M(nn.Module):
        def forward(self, x, n):
            return x * n

    ep = export(M(), (X, 3))
    ep.module()(X, 4)


def case_cond_mismatch():
    class M(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 3, lambda x: x.sin(), lambda x: x.sum(), (x,))

    export(M(), (X,))


def case_while():
    from torch._higher_order_ops.while_loop import while_loop

    class M(nn.Module):
        def forward(self, i, x):
            return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))

    ep = export(M(), (torch.tensor(0), X), strict=False)
    ops(ep)
    print(ep.module()(torch.tensor(0), X)[1][0])


def case_data_dep_if():
    class M(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    both(M, X)


def case_item_check():
    class M(nn.Module):
        def forward(self, x):
            n = x.item()
            torch._check(n > 2)
            return torch.ones(5) + 1 if n > 1 else torch.ones(2)

    for s in (True, False):
        ep = export(M(), (torch.tensor(3),), strict=s)
        print(ep.module()(torch.tensor(4)).shape)


def case_tolist():
    class M(nn.Module):
        def forward(self, x):
            a, b = x.tolist()
            torch._check_is_size(a)
            torch._check_is_size(b)
            return torch.zeros(a, b)

    print(export(M(), (torch.tensor([2, 3]),)).module()(torch.tensor([3, 1])).shape)


def case_training():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(3)

        def forward(self, x):
            return self.bn(x)

    ep = export_for_training(M(), (X,))
    ops(ep)
    ops(ep.run_decompositions())
    print([(s.kind.name, s.target) for s in ep.run_decompositions().graph_signature.output_specs])


def case_custom_op():
    @torch.library.custom_op("casex::foo", mutates_args=())
    def foo(x: torch.Tensor, k: int = 2) -> torch.Tensor:
        return x * k

    @foo.register_fake
    def _(x, k=2):
        return torch.empty_like(x)

    class M(nn.Module):
        def forward(self, x):
            return foo(x) + torch.ops.casex.foo(x, 3)

    both(M, X)


def case_custom_op_mut():
    @torch.library.custom_op("casex::bar", mutates_args={"x"})
    def bar(x: torch.Tensor) -> None:
        x.add_(1)

    class M(nn.Module):
        def forward(self, x):
            y = x.clone()
            bar(y)
            return y

    ep = export(M(), (X,))
    print(ep.module()(X)[0])
    print(len(list(ep.graph.nodes)))


def case_autograd_fn():
    class F1(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g

    class M(nn.Module):
        def forward(self, x):
            return F1.apply(x) + 1

    for s in (True, False):
        ops(export(M(), (X,), strict=s))


def case_buffer_assign():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(3))

        def forward(self, x):
            self.b = self.b + x.sum(0)
            return self.b * 2

    both(M, X)


def case_attr_assign():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = None

        def forward(self, x):
            self.k = x + 1
            return self.k * 2

    both(M, X)


def case_inplace_input_slice():
    class M(nn.Module):
        def forward(self, x):
            x[0] = 5
            return x.sum()

    both(M, X)


def case_ep_api():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 2)
            self.register_buffer("b", torch.ones(1))
            self.register_buffer("n", torch.ones(1), persistent=False)

        def forward(self, x):
            return self.l(x) + self.b + self.n

    ep = export(M(), (X,))
    print(
        [n for n, _ in ep.named_parameters()],
        [n for n, _ in ep.named_buffers()],
        len(list(ep.parameters())),
        len(list(ep.buffers())),
        list(ep.state_dict),
        list(ep.constants),
        ep.example_inputs[1],
        ep.dialect,
        ep.call_spec.out_spec,
        [e.fqn for e in ep.module_call_graph],
    )
    print(type(ep.graph_module).__name__)


def case_autocast():
    class M(nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return x @ x.t()

    ep = export(M(), (X,))
    ops(ep)
    print(ep.module()(X).dtype)


def case_python_builtins():
    class M(nn.Module):
        def forward(self, x):
            return (
                torch.stack([x[i] * v for i, v in enumerate(sorted([3, 1, 2]))] + [x[min(1, 2)]]).sum()
                + len(x)
                + sum(x.shape)
                + max(x.shape)
            )

    both(M, X)


def case_shape_arith():
    class M(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] // 2, -1), x.new_ones(x.size(0) * 2 + 1), x.numel()

    both(M, X)


def case_return_types():
    class M(nn.Module):
        def forward(self, x):
            return {"a": x + 1, "b": (x, [x.shape[0], "s", None, 2.5])}

    print(export(M(), (X,)).module()(X)["b"][1])


def case_hooks():
    m = nn.Sequential(nn.Linear(3, 2))
    m[0].register_forward_hook(lambda mod, i, o: o * 2)
    m.register_forward_pre_hook(lambda mod, i: (i[0] + 1,))
    ops(export(m, (X,), strict=False))


def case_export_under_nograd():
    with torch.no_grad():
        ops(export(X1(), (X,)))


def case_assert():
    class M(nn.Module):
        def forward(self, x):
            assert x.shape[0] > 2, "small"
            torch._assert(x.shape[1] == 3, "three")
            return x + 1

    both(M, X)


def case_shape_error():
    class M(nn.Module):
        def forward(self, x):
            return x @ x

    both(M, X)
