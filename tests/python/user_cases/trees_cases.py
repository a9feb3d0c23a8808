# SPDX-License-Identifier: Apache-2.0
"""Programs as trees of modules: structure, state, calls."""

import copy
import torch
from torch import nn
import torch.utils._pytree as pytree
from torch.export import export, unflatten
from torch.export.unflatten import InterpreterModule

X = torch.ones(1, 2)


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)

    def forward(self, x):
        return self.l(x)


def show(u, graph=True):
    for n, m in u.named_modules():
        print(
            repr(n),
            type(m).__name__,
            m.type_name() if isinstance(m, InterpreterModule) and hasattr(m, "type_name") else "",
        )
    print(list(u.state_dict()))
    if graph:
        for n, m in u.named_modules():
            if hasattr(m, "graph"):
                print(n, m.graph)


def compare(m, a, k=None, show_=True, **kw):
    torch.manual_seed(0)
    ep = export(m, a, k or {}, **kw)
    u = unflatten(ep)
    e = m(*copy.deepcopy(a), **k or {})
    r = u(*copy.deepcopy(a), **k or {})
    print(
        all(
            (
                torch.allclose(x, y)
                for x, y in zip(pytree.tree_leaves(e), pytree.tree_leaves(r))
                if isinstance(x, torch.Tensor)
            )
        )
    )
    if show_:
        show(u)
    return (ep, u)


class Sub2(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Lin()
        self.b = Lin()

    def forward(self, x):
        return self.a(x) + self.b(x * 2)


def case_nested2():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = Sub2()
            self.t = Sub2()

        def forward(self, x):
            return self.t(self.s(x))

    compare(M(), (X,))


def case_shared_twice():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)
            self.m = self.l

        def forward(self, x):
            return self.l(x) + self.m(x)

    compare(M(), (X,))


def case_shared_call_sig():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = Sub2()

        def forward(self, x):
            return self.s(x) + self.s(x + 1)

    compare(M(), (X,))


def case_swap_module():

    class S(nn.Module):
        def forward(self, x):
            return x * 2

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()

        def forward(self, x):
            return self.s(x) + 1

    ep, u = compare(M(), (X,), preserve_module_call_signature=("s",))

    class T(nn.Module):
        def forward(self, x):
            return x * 100

    u.s = T()
    print(u(X))
    u.set_submodule("s", S())
    print(u(X))


def case_param_mismatch_input():
    u = unflatten(export(Lin(), (X,)))
    for a in ((torch.ones(3, 2),), (X, X), ()):
        try:
            print(u(*a))
        except Exception as e:
            print(type(e).__name__, e)


def case_wrong_struct():

    class M(nn.Module):
        def forward(self, d):
            return d["a"] + d["b"][0]

    u = unflatten(export(M(), ({"a": X, "b": [X]},)))
    for a in (({"a": X, "b": (X,)},), ({"a": X},), (X,)):
        try:
            print(u(*a))
        except Exception as e:
            print(type(e).__name__, str(e)[:300])


def case_dedup_buffers():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(2))
            self.c = self.b
            self.l = Lin()

        def forward(self, x):
            self.b.add_(x[0])
            return self.l(x) + self.c

    compare(M(), (X,))


def case_constants():

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = torch.full((2,), 3.0)

        def forward(self, x):
            return x + self.k

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()
            self.k2 = self.s.k

        def forward(self, x):
            return self.s(x) * self.k2 + torch.tensor([1.0, 2.0])

    ep, u = compare(M(), (X,))
    print(list(ep.constants), hasattr(u.s, "k"), hasattr(u, "k2"))


def case_nonpersistent():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2), persistent=False)
            self.l = Lin()

        def forward(self, x):
            return self.l(x) + self.b

    ep, u = compare(M(), (X,))
    print([n for n, _ in u.named_buffers()], list(u.state_dict()))


def case_train_params():
    u = unflatten(export(Lin(), (X,)))
    print([(n, p.requires_grad, type(p).__name__) for n, p in u.named_parameters()])


def case_modulelist():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ls = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

        def forward(self, x):
            for l in reversed(self.ls):
                x = l(x)
            return x

    ep, u = compare(M(), (X,))
    print([n for n, _ in u.ls.named_children()])


def case_repr():
    u = unflatten(export(Sub2(), (X,)))
    print(u)


def case_jit_fx():
    u = unflatten(export(Sub2(), (X,)))
    print(type(u.a.graph_module if hasattr(u.a, "graph_module") else u.a).__name__)
    for n in u.a.graph.nodes:
        print(n.format_node(), n.meta.get("val"))


def case_multi_output_module():

    class S(nn.Module):
        def forward(self, x):
            return (x + 1, x * 2, None)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()

        def forward(self, x):
            a, b, _ = self.s(x)
            return a * b

    compare(M(), (X,))


def case_unused_module():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Lin()
            self.unused = Lin()

        def forward(self, x):
            return self.a(x)

    compare(M(), (X,))


def case_dead_call():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Lin()
            self.b = Lin()

        def forward(self, x):
            self.b(x)
            return self.a(x)

    compare(M(), (X,))


def case_input_passthrough():

    class S(nn.Module):
        def forward(self, x):
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S()

        def forward(self, x):
            return (self.s(x), x + 1)

    compare(M(), (X,))


def case_training_ir():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(2)
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return self.bn(x) + self.n

    ep = torch.export.export_for_training(M(), (torch.ones(3, 2),))
    u = unflatten(ep)
    show(u)
    u(torch.ones(3, 2))
    print(u.n, u.bn.num_batches_tracked)


def case_mutated_buffer_run():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = S1()

        def forward(self, x):
            return self.s(x) + self.s.b

    m = M()
    ep = export(m, (X,))
    u = unflatten(ep)
    print(u(X), u(X), u.s.b)
    show(u)


class S1(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(1, 2))

    def forward(self, x):
        self.b.add_(x)
        return x + self.b


def case_state_dict_load():
    m = Sub2()
    u = unflatten(export(Sub2(), (X,)))
    print(u.load_state_dict(m.state_dict()))
    print(torch.allclose(u(X), m(X)))


def case_bad_preserve():
    export(Sub2(), (X,), preserve_module_call_signature=("nosuch",))


def case_export_unflattened():
    u = unflatten(export(Sub2(), (X,)))
    ep = export(u, (X,), strict=False)
    print(ep.graph_module.code)


def case_retrace_names():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.foo = Lin()
            self.bar = Lin()

        def forward(self, x):
            x = self.foo(x)
            x = self.bar(x)
            x = self.foo(x)
            return self.bar(x)

    compare(M(), (X,))
