# SPDX-License-Identifier: Apache-2.0
"""torch.fx: graphs, nodes, tracers and interpreters."""

import copy
import io
import math
import operator
import pickle
import functools
import builtins
import inspect
import typing
import collections
from typing import *
import torch
import torch.fx
import torch.nn.functional as F
from torch import fx, nn
from torch.fx import Graph, GraphModule, Interpreter, Node, Proxy, Tracer, Transformer, symbolic_trace, wrap
from torch.fx.node import (
    Target,
    Argument,
    _format_arg,
    map_arg,
    map_aggregate,
    has_side_effect,
    base_types,
    _side_effectful_functions,
)


def show(g):
    print(g.graph)
    print(g.code)


class MLP(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = nn.Linear(4, 8)
        s.b = nn.Linear(8, 2)
        s.register_buffer("buf", torch.ones(2))
        s.seq = nn.Sequential(nn.ReLU(), nn.Dropout(0.3))

    def forward(s, x):
        return s.b(s.seq(s.a(x))) + s.buf


class Wrapper:
    pass


from torch.fx.passes.infra.pass_base import PassResult


def w_len(x):
    return len(x)


wrap("w_len")
wrap("len")


def w_kw(x, **k):
    return x


wrap(w_kw)


def case_find_nodes():
    gm = symbolic_trace(MLP())
    print(
        gm.graph.find_nodes(op="call_module", target="a"),
        gm.graph.find_nodes(op="call_function", target=operator.add),
        gm.graph.find_nodes(op="call_module"),
    )
    gm.graph.find_nodes(op="call_function")


def case_find_nodes_unsorted():
    print(sorted(map(str, symbolic_trace(MLP()).graph.find_nodes(op="call_module", sort=False))))


def case_graph_copy():
    g = symbolic_trace(lambda x: torch.add(x, 1)).graph
    h = Graph()
    m = {}
    r = h.graph_copy(g, m)
    print(r, h, m)


def case_call_module_owning():
    gm = symbolic_trace(MLP())
    import warnings

    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        gm.graph.call_module("nope")
        gm.graph.get_attr("nope2")
        print([str(x.message) for x in w])


def case_placeholder_default():
    g = Graph()
    x = g.placeholder("x", torch.Tensor, default_value=3)
    y = g.placeholder("y", default_value=None)
    g.output(x)
    print(g.python_code("self").src, x.args, y.args)


def case_type_expr():
    g = Graph()
    x = g.placeholder("x", List[int])
    y = g.call_function(torch.relu, (x,), type_expr=torch.Tensor)
    g.output(y, type_expr=torch.Tensor)
    print(g.python_code("self").src)


def case_unpack():

    def f(x):
        a, b = x.max(0)
        return a + b

    symbolic_trace(f)


def case_unpack_dict():
    symbolic_trace(lambda x: {**x})


def case_unpack_call():
    symbolic_trace(lambda x: torch.cat([*x]))


def case_proxy_keys():
    symbolic_trace(lambda x: x.keys())


def case_to_bool_override():

    class T(Tracer):
        def to_bool(s, o):
            return True

    print(T().trace(lambda x: x + 1 if x > 0 else x))


def case_iter_override():

    class T(Tracer):
        def iter(s, o):
            return iter((o[0], o[1]))

    print(T().trace(lambda x: sum([a for a in x])))


def case_keys_override():

    class T(Tracer):
        def keys(s, o):
            return ["a", "b"]

        def iter(s, o):
            return iter(["a", "b"])

    print(T().trace(lambda d: dict(**d)))


def case_call_module_override():

    class T(Tracer):
        def call_module(s, m, f, a, k):
            print(type(m).__name__, s.path_of_module(m))
            return super().call_module(m, f, a, k)

    print(T().trace(MLP()))


def case_path_of_module():
    t = Tracer()
    t.trace(MLP())
    t.path_of_module(nn.ReLU())


def case_leaf_all():

    class T(Tracer):
        def is_leaf_module(s, m, q):
            print(q, m.__module__)
            return isinstance(m, nn.Sequential) or super().is_leaf_module(m, q)

    print(T().trace(MLP()))


def case_root_attr():
    t = Tracer()
    g = t.trace(lambda x: x)
    print(type(t.root).__name__, g.owning_module, t.graph is g, t.tensor_attrs if hasattr(t, "tensor_attrs") else "")


def case_gm_training():
    m = MLP().eval()
    g = symbolic_trace(m)
    print(g.training, g.a.training)


def case_gm_shared_params():
    m = MLP()
    g = symbolic_trace(m)
    print(g.a is m.a, g.a.weight is m.a.weight, [n for n, _ in g.named_parameters()], [n for n, _ in g.named_buffers()])


def case_gm_dict_missing():
    g = Graph()
    x = g.placeholder("x")
    g.output(g.get_attr("w"))
    GraphModule({"z": 1}, g)


def case_call_args_error():
    symbolic_trace(lambda x, y: x + y)(torch.ones(1))


def case_interp_override():

    class I(Interpreter):
        def call_module(s, t, a, k):
            print("mod", t)
            return super().call_module(t, a, k)

        def get_attr(s, t, a, k):
            print("attr", t)
            return super().get_attr(t, a, k)

        def placeholder(s, t, a, k):
            print("ph", t, a)
            return super().placeholder(t, a, k)

        def output(s, t, a, k):
            print("out", t, len(a))
            return super().output(t, a, k)

    print(I(symbolic_trace(MLP().eval())).run(torch.ones(1, 4)).shape)


def case_interp_fetch():
    i = Interpreter(symbolic_trace(MLP()))
    print(type(i.fetch_attr("a")).__name__)
    i.fetch_attr("a.nope")


def case_interp_bad():
    i = Interpreter(symbolic_trace(lambda x: x.nope()))
    i.run(torch.ones(1))


def case_interp_graph():
    gm = symbolic_trace(lambda x: x + 1)
    print(Interpreter(nn.Module(), graph=gm.graph).run(torch.ones(1)))


def case_transformer_ph():

    class T(Transformer):
        def placeholder(s, t, a, k):
            return super().placeholder(t + "_new", a, k)

    show(T(symbolic_trace(lambda x, y=2: x + y)).transform())


def case_wrap_builtin():

    def f(x):
        return len(x) + w_len(x)

    print(symbolic_trace(f).code)


def case_wrap_kw():
    print(symbolic_trace(lambda x: w_kw(x, k=2, z=[x])).code)


def case_wrap_outside():
    print(w_len([1, 2]), w_kw(3))


def case_meta_copy():
    gm = symbolic_trace(lambda x: x.relu())
    n = list(gm.graph.nodes)[1]
    n.meta["x"] = 1
    h = Graph()
    h.graph_copy(gm.graph, {})
    print([m.meta for m in h.nodes])


def case_node_users_order():
    g = symbolic_trace(lambda x: x + x.relu() + x.tanh()).graph
    x = list(g.nodes)[0]
    print(list(x.users), x.users, type(x.users).__name__)


def case_move_node():
    g = symbolic_trace(lambda x: (x + 1, x * 2)).graph
    ns = list(g.nodes)
    ns[1].append(ns[2])
    ns[2].append(ns[1])
    print(g)
    ns[0].prepend(ns[1])
    print(g)
    g.lint()


def case_append_self():
    g = symbolic_trace(lambda x: (x + 1, x * 2)).graph
    n = list(g.nodes)[1]
    n.append(n)
    print(g)


def case_remove_meta():
    n = Graph().placeholder("x")
    n.meta = {"a": 1}
    print(n.meta, n.name, n.target, repr(n))
    n.name = "y"
    print(n, n.target)


def case_rename():
    g = symbolic_trace(lambda x: x + 1).graph
    n = list(g.nodes)[1]
    n._rename("x")
    print(n, g)
    n._rename("foo")
    print(n)


def case_hooks():
    gm = symbolic_trace(lambda x: x + 1)
    log = []
    gm._register_create_node_hook(lambda n: log.append(("c", n.name)))
    gm._register_erase_node_hook(lambda n: log.append(("e", n.name)))
    x = list(gm.graph.nodes)[0]
    with gm._set_replace_hook(lambda old, new, user: log.append((old, new, user))):
        n = gm.graph.call_function(torch.relu, (x,))
        list(gm.graph.nodes)[1].replace_all_uses_with(n)
        gm.graph.erase_node(list(gm.graph.nodes)[1])
    print(log)


def case_ph_type():
    print(fx.PH, repr(fx.PH), type(fx.PH).__name__, fx._symbolic_trace.PHWithMeta(torch.int).ph_key)


def case_typed_getattr():

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.x = 3
            s.l = [nn.Parameter(torch.ones(1))]

        def forward(s, a):
            return a * s.x + s.l[0]

    symbolic_trace(M())


def case_sub_constant():

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.t = torch.ones(2)

        def forward(s, a):
            return a + s.t

    gm = symbolic_trace(M())
    print(gm.graph, [n for n, _ in gm.named_buffers()], gm.t)


def case_nested_const():

    class S(nn.Module):
        def __init__(s):
            super().__init__()
            s.t = torch.ones(2)

        def forward(s, a):
            return a + s.t + torch.zeros(2)

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.s = S()

        def forward(s, a):
            return s.s(a)

    print(symbolic_trace(M()).graph)


def case_sequential_index():
    print(symbolic_trace(nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh(), nn.ReLU()))).code)


def case_module_list():

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.ModuleList([nn.ReLU(), nn.Tanh()])
            s.d = nn.ModuleDict({"a": nn.ReLU()})

        def forward(s, x):
            for m in s.l:
                x = m(x)
            return s.d["a"](x) + len(s.l)

    print(symbolic_trace(M()).code)


def case_module_called_twice():

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.r = nn.ReLU()

        def forward(s, x):
            return s.r(s.r(x))

    print(symbolic_trace(M()).graph)


def case_no_forward():
    symbolic_trace(nn.Module())


def case_tensor_kw():
    print(symbolic_trace(lambda x: torch.sum(x, dim=(0, 1), keepdim=True, dtype=torch.float64)).code)


def case_math():
    symbolic_trace(lambda x: math.sin(x))


def case_isinstance():
    print(symbolic_trace(lambda x: x + 1 if isinstance(x, Proxy) else x - 1).code)


def case_hasattr():
    print(symbolic_trace(lambda x: x + 1 if hasattr(x, "shape") else x - 1).code)


def case_size_unpack():

    def f(x):
        b, c = (x.size(0), x.size(-1))
        return x.view(b, c * 2, -1)

    print(symbolic_trace(f).code)


def case_inplace_index():

    def f(x):
        x[0] = 1
        x[1:2, ...] = x
        return x

    symbolic_trace(f)


def case_dataclass_arg():
    import dataclasses

    @dataclasses.dataclass
    class D:
        a: Any
        b: int

    print(symbolic_trace(lambda x: w_kw(D(x, 1))).code)


def case_enum_arg():
    import enum

    class E(enum.Enum):
        A = 1

    symbolic_trace(lambda x: w_kw(x, e=E.A))


def case_torch_types():
    print(
        symbolic_trace(
            lambda x: (
                x.to(torch.float16, memory_format=torch.channels_last)
                .to("cpu")
                .type(torch.int32)
                .to(torch.device("cpu"))
            )
        ).code
    )


def case_complex_consts():
    print(symbolic_trace(lambda x: x * (1 + 2j) + 1e-12 - float("nan") + 10**30).code)


def case_str_escape():
    print(symbolic_trace(lambda x: w_kw(x, s="a\n'b\"\\")).code)


def case_keyword_name():

    def f(input, self_, None_):
        return input

    print(symbolic_trace(f).code)
    g = Graph()
    g.placeholder("class")
    g.placeholder("def")
    g.placeholder("1a")
    g.placeholder("a.b")
    print(g)


def case_method_named():
    g = Graph()
    x = g.placeholder("x")
    print(
        g.call_method("size", (x,)),
        g.call_method("__add__", (x, 1)),
        g.call_function(torch.nn.functional.relu, (x,)),
        g.call_function(operator.getitem, (x, 0)),
        g.call_function(getattr, (x, "T")),
        g.call_module("a.B.c_1", (x,)),
        g.get_attr("p.q"),
    )


def case_pass_result():
    r = PassResult(1, False)
    print(r, r.graph_module)
