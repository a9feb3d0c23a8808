# SPDX-License-Identifier: Apache-2.0
"""Programs as modules."""

import torch
import torch.export._unlift as UL
from torch import nn
from torch.export import Dim, export, export_for_training


class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.zeros(3))
        self.register_buffer("c", torch.ones(3), persistent=False)
        self.k = torch.full((3,), 2.0)

    def forward(self, x):
        self.b.add_(x)
        return self.w * x + self.b + self.c * self.k


def case_unlift_training():
    m = export_for_training(B(), (torch.ones(3),)).module()
    print(m.code)
    m(torch.ones(3))
    print(m.b)


def case_unlift_train_eval():
    m = export(B(), (torch.ones(3),)).module()
    for f in (m.train, m.eval, lambda: m.train(False)):
        try:
            f()
        except Exception as e:
            print(type(e).__name__, e)


class Lin2(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, x):
        return self.l(x)


def case_unlift_shared():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = self.a

        def forward(self, x):
            return self.a(self.b(x))

    m = export(M(), (torch.ones(1, 2),)).module()
    print(m.code)
    print(sorted(m.state_dict()))
    print(m.a.weight is m.b.weight)


def case_lift_twice():
    m = export(B(), (torch.ones(3),)).module()
    ep = export(m, (torch.ones(3),))
    print(ep.graph_module.code)
    print(ep.graph_signature)


def case_lift_set_attr():
    ep = export(B(), (torch.ones(3),))
    for a in ("graph_module", "graph", "state_dict"):
        try:
            setattr(ep, a, None)
            print("set", a)
        except Exception as e:
            print(type(e).__name__, e)


def case_call_ep():
    ep = export(B(), (torch.ones(3),))
    ep(torch.ones(3))


def case_lifted_pytree_error():
    class M(nn.Module):
        def forward(self, d):
            return d["a"] + d["b"]

    m = export(M(), ({"a": torch.ones(2), "b": torch.ones(2)},)).module()
    try:
        m({"a": torch.ones(2)})
    except Exception as e:
        print(type(e).__name__, e)
    try:
        m(torch.ones(2))
    except Exception as e:
        print(type(e).__name__, e)
    print(m({"b": torch.ones(2), "a": torch.zeros(2)}))


def case_lifted_wrong_rank():
    m = export(Lin2(), (torch.ones(1, 3),)).module()
    m(torch.ones(1, 1, 3))


def case_lifted_wrong_dtype():
    m = export(Lin2(), (torch.ones(1, 3),)).module()
    m(torch.ones(1, 3, dtype=torch.double))


def case_lifted_nontensor():
    m = export(Lin2(), (torch.ones(1, 3),)).module()
    m(3)


def case_graph_sig_str():
    print(export(B(), (torch.ones(3),)).graph_signature)


def case_graph_sig_props():
    g = export(B(), (torch.ones(3),)).graph_signature
    for a in (
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
        print(a, getattr(g, a))


def case_replace_all_uses():
    g = export(B(), (torch.ones(3),)).graph_signature
    g.replace_all_uses("add_1", "zork")
    print(g)
    g.replace_all_uses("nope", "x")
