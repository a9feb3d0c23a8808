# SPDX-License-Identifier: Apache-2.0
"""torch.fx."""

import copy
import io
import math
import operator
import pickle

import torch
import torch.nn.functional as F
from torch import fx, nn
from torch.fx import PH, Graph, GraphModule, Interpreter, Node, Proxy, Tracer, Transformer, symbolic_trace, wrap
from torch.fx.experimental.proxy_tensor import make_fx


def w1(x, y):
    return x + y


wrap("w1")


@wrap
def w2(x):
    return x * 2


wrap("len")
wrap("sqrt")
from math import sqrt


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)
        self.p = nn.Parameter(torch.ones(2))

    def forward(self, x, y=1, *, z=2):
        return F.relu(self.l(x) + self.p) * y - z


def show(g):
    print(g.graph)
    print(g.code)


def case_basic():
    show(symbolic_trace(Lin()))


def case_wrap():
    show(symbolic_trace(lambda x: w2(w1(x, 1)) + len(x) + sqrt(x)))


def case_control_flow():
    symbolic_trace(lambda x: x if x > 0 else -x)


def case_iter():
    symbolic_trace(lambda x: [a for a in x])


def case_len():
    symbolic_trace(lambda x: x.shape[0] + int(x))


def case_bool_in():
    symbolic_trace(lambda x: 1 in x)


def case_unpack():
    def f(x):
        a, b = x.split(2)
        return a + b

    show(symbolic_trace(f))


def case_varargs():
    show(symbolic_trace(lambda *a, **k: a[0] + k["x"]))


def case_concrete():
    def f(x, flag):
        return x + 1 if flag else x - 1

    show(symbolic_trace(f, concrete_args={"flag": True}))


def case_concrete_call():
    def f(x, flag):
        return x + 1 if flag else x - 1

    g = symbolic_trace(f, concrete_args={"flag": True})
    print(g(torch.ones(1), True))
    print(g(torch.ones(1), False))


def case_concrete_ph():
    def f(d):
        return d["a"] + d["b"][0]

    g = symbolic_trace(f, concrete_args={"d": {"a": PH, "b": [PH]}})
    show(g)
    print(g({"a": torch.ones(1), "b": [torch.ones(1)]}))


def case_concrete_tuple():
    def f(x, t):
        return x + t[0] + t[1]

    g = symbolic_trace(f, concrete_args={"t": (1, PH)})
    show(g)


def case_annot():
    def f(x: torch.Tensor, y: int = 3) -> torch.Tensor:
        return x + y

    show(symbolic_trace(f))


def case_annot2():
    from typing import Dict, List, Optional, Tuple

    def f(
        x: list[torch.Tensor], y: int | None = None, z: tuple[int, ...] = (), d: dict[str, torch.Tensor] = None
    ) -> tuple[torch.Tensor, int]:
        return x[0], y

    show(symbolic_trace(f))


def case_getattr_chain():
    show(symbolic_trace(lambda x: x.T.real.shape))


def case_inplace():
    def f(x):
        x += 1
        x[0] = 2
        return x

    show(symbolic_trace(f))


def case_setitem2():
    def f(x, y):
        x[1:2, ..., None] = y
        return x

    symbolic_trace(f)


def case_matmul_ops():
    show(
        symbolic_trace(
            lambda x, y: (
                x @ y,
                x // y,
                x % y,
                x**y,
                x << 1,
                1 >> x,
                ~x,
                -x,
                +x,
                abs(x),
                2 / x,
                2**x,
                x & y,
                x | y,
                x ^ y,
                x == y,
                x != y,
                x < y,
                divmod,
            )[:-1]
        )
    )


def case_slices():
    show(symbolic_trace(lambda x: x[:, 1:2:3, None, ...]))


def case_float_consts():
    show(symbolic_trace(lambda x: x + float("inf") - float("nan") * 1e-7 + 1j))


def case_dtype_args():
    show(symbolic_trace(lambda x: x.to(torch.float16, memory_format=torch.channels_last).to(torch.device("cpu"))))


def case_torch_fn():
    show(symbolic_trace(lambda x: torch.cat([x, torch.zeros(2)], dim=0)))


def case_nested_mod():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.b = Lin()

        def forward(self, x):
            return self.a(x)

    show(symbolic_trace(M()))


def case_leaf():
    class T(Tracer):
        def is_leaf_module(self, m, q):
            print(q)
            return isinstance(m, Lin)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Lin()

        def forward(self, x):
            return self.a(x, z=3)

    m = M()
    g = T().trace(m)
    print(g)


def case_tracer_methods():
    class T(Tracer):
        def call_module(self, m, forward, args, kwargs):
            print("cm", type(m).__name__)
            return super().call_module(m, forward, args, kwargs)

        def create_arg(self, a):
            return super().create_arg(a)

        def getattr(self, attr, val, cache):
            print("ga", attr)
            return super().getattr(attr, val, cache) if hasattr(super(), "getattr") else val

        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
            print(kind, target if isinstance(target, str) else target.__name__)
            return super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)

    T().trace(Lin())


def case_autowrap():
    t = Tracer(autowrap_modules=(math,))
    print(t.trace(lambda x: math.sqrt(x)))


def case_autowrap_fn():
    t = Tracer(autowrap_functions=(w2,))
    print(t.trace(lambda x: w2(x)))


def case_interp():
    class I(Interpreter):
        def call_function(self, t, a, k):
            print("f", t.__name__, len(a))
            return super().call_function(t, a, k)

        def call_module(self, t, a, k):
            print("m", t)
            return super().call_module(t, a, k)

        def get_attr(self, t, a, k):
            print("a", t)
            return super().get_attr(t, a, k)

        def output(self, t, a, k):
            print("o")
            return super().output(t, a, k)

    print(I(symbolic_trace(Lin())).run(torch.ones(1, 3)).shape)


def case_interp_initial_env():
    g = symbolic_trace(lambda x, y: x + y)
    n = list(g.graph.nodes)
    print(
        Interpreter(g).run(
            initial_env={
                n[0]: 3,
                n[1]: 4,
            }
        )
    )


def case_interp_error():
    g = symbolic_trace(lambda x: torch.relu(x))
    try:
        Interpreter(g).run("a")
    except Exception as e:
        print(type(e).__name__, "While executing" in str(e))


def case_replace_pattern():
    from torch.fx import replace_pattern

    g = symbolic_trace(lambda x, w: torch.cat([x.relu() + w, x.relu() + w]))
    m = replace_pattern(g, lambda a, b: a.relu() + b, lambda a, b: torch.add(a, b))
    print(len(m))
    show(g)
    print(m[0].anchor, sorted(str(k) for k in m[0].nodes_map))


def case_replace_filters():
    from torch.fx.subgraph_rewriter import replace_pattern_with_filters

    g = symbolic_trace(lambda x: (x + 1) + 2)
    r = replace_pattern_with_filters(
        g,
        lambda a, b: a + b,
        lambda a, b: a - b,
        [lambda m, o, p: any(n.args[1] == 2 for n in m.nodes_map.values() if n.op == "call_function")],
        ignore_literals=True,
    )
    print(len(r), r[0].replacements)
    show(g)


def case_lint_ok():
    print(symbolic_trace(Lin()).graph.lint())


def case_lint_dup():
    g = Graph()
    x = g.placeholder("x")
    y = g.call_function(torch.neg, (x,))
    g.output(y)
    y.name = "x"
    g.lint()


def case_lint_order():
    g = Graph()
    x = g.placeholder("x")
    y = g.call_function(torch.neg, (x,))
    with g.inserting_before(x):
        z = g.call_function(torch.neg, (y,))
    g.output(z)
    g.lint()


def case_lint_attr():
    g = Graph()
    x = g.get_attr("nope")
    g.output(x)
    GraphModule(nn.Module(), g).graph.lint()


def case_erase_used():
    g = symbolic_trace(lambda x: (x + 1) * 2)
    g.graph.erase_node(list(g.graph.nodes)[1])


def case_node_update():
    g = symbolic_trace(lambda x, y: torch.add(x, y))
    n = list(g.graph.nodes)[2]
    n.update_arg(1, 5)
    n.update_kwarg("alpha", 2)
    print(n.args, n.kwargs)
    n.insert_arg(0, 9)
    print(n.args)
    n.args = (n.args[1],)
    print(n.all_input_nodes)
    n.replace_input_with(n.args[0], n.prev)
    print(n.args)


def case_is_impure():
    print([(n.name, n.is_impure()) for n in symbolic_trace(Lin()).graph.nodes])


def case_normalized():
    g = symbolic_trace(lambda x, y: torch.add(x, y, alpha=2))
    n = list(g.graph.nodes)[2]
    r = n.normalized_arguments(g, (torch.Tensor, torch.Tensor), {"alpha": int})
    print(r and (r.args, r.kwargs))


def case_graph_build():
    g = Graph()
    x = g.placeholder("x", default_value=3)
    y = g.placeholder("y", type_expr=int)
    a = g.call_method("add", (x, y), {"alpha": 1})
    b = g.call_module("m.n", (a,))
    c = g.create_node("call_function", torch.sin, (b,), name="zork")
    g.output((c, {"a": c, "b": [1, slice(1, None, 2)]}))
    print(g)
    print(g.python_code("self").src)


def case_graph_copy():
    g = symbolic_trace(Lin()).graph
    h = Graph()
    m = {}
    r = h.graph_copy(g, m)
    h.output(r)
    print(h)
    print(len(m))
    d = copy.deepcopy(g)
    print(d)


def case_names():
    g = Graph()
    print([g.placeholder(n).name for n in ("x", "x", "self", "class", "x_1", "1a", "a.b", "len", "_x", "torch")])
    print(
        g.call_function(torch.relu).name,
        g.call_function(F.relu).name,
        g.call_method("add_").name,
        g.call_module("A.bC.0").name,
        g.call_function(operator.getitem).name,
        g.get_attr("X").name,
    )


def case_gm_dict():
    g = Graph()
    x = g.get_attr("a.w")
    g.output(x)
    m = GraphModule({"a.w": torch.ones(2)}, g, "Foo")
    print(type(m).__name__, m(), m)


def case_gm_missing():
    g = Graph()
    x = g.get_attr("a.w")
    g.output(x)
    GraphModule({}, g)


def case_gm_str():
    print(symbolic_trace(Lin()))
    print(repr(symbolic_trace(nn.Sequential(nn.Linear(1, 1)))))


def case_gm_pickle():
    g = pickle.loads(pickle.dumps(symbolic_trace(Lin())))
    show(g)
    print(type(g).__name__)


def case_gm_copy():
    g = symbolic_trace(Lin())
    g.meta["k"] = 1
    h = copy.deepcopy(g)
    c = copy.copy(g)
    show(h)
    print(h.meta, c.meta, h.l is g.l, c.l is g.l)


def case_gm_add_sub():
    g = symbolic_trace(Lin())
    print(
        g.add_submodule("q.r", nn.ReLU()),
        g.delete_submodule("q.r"),
        g.delete_submodule("nope"),
        g.delete_all_unused_submodules(),
        [n for n, _ in g.named_modules()],
    )


def case_gm_print():
    symbolic_trace(Lin()).print_readable()


def case_custom_codegen():
    class CG(fx.graph.CodeGen):
        def gen_fn_def(self, free, ann):
            return f"def forward(self, args_list{ann}):\n    {', '.join(free)} = args_list"

        def process_inputs(self, *a):
            return a[0]

        def additional_globals(self):
            return []

    g = symbolic_trace(lambda x, y: x + y)
    g.graph.set_codegen(CG())
    g.recompile()
    show(g)
    print(g([1, 2]))


def case_on_generate():
    g = symbolic_trace(lambda x: x + 1)
    with g.graph.on_generate_code(lambda cur: lambda body: ["print('hi')\n"] + body):
        g.recompile()
        print(g.code)


def case_proxy_attr():
    g = Graph()
    p = Proxy(g.placeholder("x"))
    q = p.foo
    r = q(3)
    print(g, repr(p), type(q).__name__)
    print(torch.relu(p), p.node, F.gelu(p))
    print(g)


def case_proxy_set():
    g = Graph()
    p = Proxy(g.placeholder("x"))
    print(bool(p))


def case_tensor_const():
    t = torch.ones(2)
    g = symbolic_trace(lambda x: x + t)
    show(g)
    print([n for n, _ in g.named_buffers()], g._tensor_constant0)


def case_shape_prop():
    from torch.fx.passes.shape_prop import ShapeProp

    g = symbolic_trace(Lin())
    ShapeProp(g).propagate(torch.ones(4, 3))
    print([(n.name, n.meta.get("tensor_meta")) for n in g.graph.nodes])


def case_split_module():
    from torch.fx.passes.split_module import split_module

    m = Lin()
    g = symbolic_trace(lambda x, y: ((x + y) * 2 - y).relu())
    i = iter([0, 0, 1, 1, 1, 1])
    s = split_module(g, g, lambda n: 0 if n.name in ("add", "mul") else 1)
    show(s)
    show(s.submod_0)
    show(s.submod_1)


def case_matcher():
    from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

    p = symbolic_trace(lambda a: a.relu() + 1).graph
    g = symbolic_trace(lambda x: (x.relu() + 1).relu() + 1).graph
    print([sorted(map(str, m.nodes_map.values())) for m in SubgraphMatcher(p).match(g)])


def case_operator_support():
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupport

    class S(OperatorSupport):
        def is_node_supported(self, sub, n):
            return n.op == "call_function" and n.target is operator.add

    g = symbolic_trace(lambda x: ((x + 1) + 2).relu() + 3)
    p = CapabilityBasedPartitioner(g, S(), allows_single_node_partition=True)
    ps = p.propose_partitions()
    print(len(ps))
    show(p.fuse_partitions(ps))


def case_minimizer_types():
    from torch.fx.node import map_arg, map_aggregate

    print(
        map_aggregate([1, (2, {"a": slice(1, 2)})], lambda x: x + 1 if isinstance(x, int) else x),
        type(map_aggregate([1], lambda x: x)).__name__,
        map_arg((1,), lambda n: n),
    )


def case_has_side():
    from torch.fx.node import has_side_effect

    @has_side_effect
    def eff(x):
        return x

    g = Graph()
    x = g.placeholder("x")
    g.call_function(eff, (x,))
    g.output(x)
    g.eliminate_dead_code()
    print(g)


def case_assert_rewrite():
    def f(x, y):
        assert x == y, "bad"
        return x

    from torch.fx.experimental.rewriter import RewritingTracer

    print(GraphModule(nn.Module(), RewritingTracer().trace(f)).code)


def case_type_str():
    class E:
        pass

    def f(x: "torch.Tensor", y: E = None):
        return x

    show(symbolic_trace(f))


def case_class_method():
    class M(nn.Module):
        def helper(self, x):
            return x + self.k

        def __init__(self):
            super().__init__()
            self.k = 3
            self.register_buffer("b", torch.ones(1))

        def forward(self, x):
            return self.helper(x) + self.b + self.b

    show(symbolic_trace(M()))


def case_return_mix():
    show(symbolic_trace(lambda x: {"a": (x, 1, None), "b": [x.size(), torch.float32, "s"]}))


def case_namedtuple():
    from collections import namedtuple

    P = namedtuple("P", "a b")
    globals()["P"] = P
    g = symbolic_trace(lambda x: P(x, x + 1))
    show(g)
