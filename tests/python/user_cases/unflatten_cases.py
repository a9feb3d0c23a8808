# SPDX-License-Identifier: Apache-2.0
"""Programs as trees of modules."""

import copy

import torch
from torch import nn
from torch.export import Dim, FlatArgsAdapter, export, unflatten
from torch.export.unflatten import InterpreterModule, UnflattenedModule


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)

    def forward(self, x):
        return self.l(x)


class Mid(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf = Leaf()
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        return self.leaf(x) + self.b


class Top(nn.Module):
    def __init__(self):
        super().__init__()
        self.mid = Mid()
        self.p = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.mid(x) * self.p


X = torch.ones(1, 2)


def show(u):
    for n, m in u.named_modules():
        print(repr(n), type(m).__name__)
        if hasattr(m, "graph"):
            print(m.graph)


def mk(m, *a, **k):
    torch.manual_seed(0)
    return unflatten(export(m, a, **k))


def case_nested():
    show(mk(Top(), X))


def case_nested_values():
    m = Top()
    u = mk(m, X)
    print(torch.equal(u(X), m(X)), sorted(u.state_dict()), [n for n, _ in u.named_parameters()])


def case_code():
    u = mk(Top(), X)
    print(u.mid.graph_module.code if hasattr(u.mid, "graph_module") else u.mid.graph.python_code("self").src)


def case_buffer_mutation():
    class C(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            return self.c(x) * 2

    u = mk(M(), X)
    show(u)
    print(u(X), u.c.n, u(X))


def case_shared():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Leaf()
            self.b = self.a

        def forward(self, x):
            return self.a(self.b(x))

    u = mk(M(), X)
    show(u)
    print(u.a is u.b, sorted(u.state_dict()))


def case_shared_calls():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Leaf()

        def forward(self, x):
            return self.a(self.a(x) + 1)

    u = mk(M(), X)
    show(u)


def case_shared_param():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = nn.Linear(2, 2)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.a(x) + self.b(x)

    u = mk(M(), X)
    print(u.a.weight is u.b.weight, sorted(u.state_dict()))
    show(u)


def case_preserve_swap():
    class C(nn.Module):
        def forward(self, x, y):
            return x + y

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            return self.c(x, x) * 2

    u = mk(M(), X, preserve_module_call_signature=("c",))

    class D(nn.Module):
        def forward(self, x, y):
            return x - y

    u.c = D()
    print(u(X))


def case_wrong_rank():
    mk(Leaf(), X)(torch.ones(1, 1, 2))


def case_wrong_dtype():
    mk(Leaf(), X)(torch.ones(1, 2, dtype=torch.double))


def case_wrong_shape():
    mk(Leaf(), X)(torch.ones(3, 2))


def case_wrong_tree():
    class M(nn.Module):
        def forward(self, d):
            return d["a"] + 1

    mk(M(), {"a": X})({"b": X})


def case_wrong_count():
    mk(Leaf(), X)(X, X)


def case_adapter():
    class A(FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args):
            print("adapt", target_spec.num_leaves, input_spec.num_leaves, len(input_args))
            return [input_args[0]]

    torch.manual_seed(0)
    u = unflatten(export(Leaf(), (X,)), A())
    print(u(X, X).shape)


def case_adapter_bad():
    class A(FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args):
            return list(input_args)

    u = unflatten(export(Leaf(), (X,)), A())
    u(X, X)


def case_adapter_abstract():
    FlatArgsAdapter()


def case_interp_module():
    g = torch.fx.symbolic_trace(Leaf()).graph
    m = InterpreterModule(torch.fx.symbolic_trace(lambda x: x + 1).graph)
    m.finalize()
    print(m(X))
    print(m.arg_names)


def case_const_attr():
    class C(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = torch.ones(2)

        def forward(self, x):
            return x + self.k + torch.tensor(2.0)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            return self.c(x)

    u = mk(M(), X)
    show(u)
    print(u(X), sorted(u.state_dict()))


def case_container():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ls = nn.ModuleList([Leaf(), Leaf()])
            self.d = nn.ModuleDict({"a": Leaf()})

        def forward(self, x):
            for l in self.ls:
                x = l(x)
            return self.d["a"](x)

    u = mk(M(), X)
    show(u)


def case_unused_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Leaf()
            self.z = Leaf()

        def forward(self, x):
            return self.a(x)

    u = mk(M(), X)
    print([n for n, _ in u.named_modules()], sorted(u.state_dict()))


def case_order():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.z = Leaf()
            self.a = Leaf()

        def forward(self, x):
            return self.z(self.a(x))

    u = mk(M(), X)
    print([n for n, _ in u.named_modules()])
    print(u.graph)


def case_skip_level():
    class P(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf = Leaf()

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = P()

        def forward(self, x):
            return self.p.leaf(x)

    u = mk(M(), X)
    show(u)
    print(u(X).shape)


def case_param_across():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = Mid()

        def forward(self, x):
            return x + self.m.leaf.l.weight.sum() + self.m(x)

    u = mk(M(), X)
    show(u)
    print(u(X).shape)


def case_multi_output():
    class C(nn.Module):
        def forward(self, x):
            return x + 1, x + 2, [x]

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            a, b, c = self.c(x)
            return a * b, c

    u = mk(M(), X)
    show(u)
    print(u(X))


def case_passthrough():
    class C(nn.Module):
        def forward(self, x):
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            return self.c(x) + 1

    u = mk(M(), X)
    show(u)


def case_none_out():
    class C(nn.Module):
        def forward(self, x):
            return x + 1, None

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            return self.c(x)

    u = mk(M(), X)
    show(u)
    print(u(X))


def case_decomposed():
    torch.manual_seed(0)
    u = unflatten(export(Top(), (X,)).run_decompositions())
    show(u)


def case_nonstrict():
    show(mk(Top(), X, strict=False))


def case_export_again():
    u = mk(Top(), X)
    ep = export(u, (X,), strict=False)
    print(ep.graph_module.code)


def case_repr():
    print(mk(Top(), X))


def case_train_eval():
    u = mk(Top(), X)
    u.eval()
    print(u.training)
    u.train()
    print(u.training)


def case_load_state():
    u = mk(Top(), X)
    u.load_state_dict(Top().state_dict())
    print("ok")


def case_preserve_missing():
    mk(Top(), X, preserve_module_call_signature=("nope",))
    print("ok")


def case_swap_helper():
    from torch.export._swap import _swap_modules

    class C(nn.Module):
        def forward(self, x):
            return x + 1

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = C()

        def forward(self, x):
            return self.c(x) * 2

    ep = export(M(), (X,), preserve_module_call_signature=("c",))
    print(_swap_modules(ep, {"c": C()})(X))
