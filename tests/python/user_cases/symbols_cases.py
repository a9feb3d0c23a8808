# SPDX-License-Identifier: Apache-2.0
"""Symbolic sizes."""

import torch
import torch.fx.experimental.symbolic_shapes as SS
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.sym_node import SymNode, to_node
from torch.fx.experimental.symbolic_shapes import *


def mk(v, name="x", dyn=None, env=None):
    e = env or ShapeEnv()
    return e, e.create_symintnode(
        e.create_symbol(v, source=ConstantSource(name), dynamic_dim=SS.DimDynamic.DUCK),
        hint=v,
        source=ConstantSource(name),
    )


def case_float():
    e, s = mk(5)
    print(
        s / 2,
        torch.sym_float(s),
        torch.sym_int(s / 2),
        torch.sym_max(s, 3),
        torch.sym_min(s, 3),
        torch.sym_not(s > 3),
        torch.sym_ite(s > 3, s, 1),
    )


def case_math():
    import math

    e, s = mk(5)
    print(math.floor(s / 2), math.ceil(s / 2), torch.sym_sqrt(s), round(s), abs(s), divmod(s, 2) if 0 else 0)


def case_guard_int():
    e, s = mk(5)
    print(SS.guard_int(s), e.guards[0].expr)


def case_statically():
    e, s = mk(5)
    print(statically_known_true(s >= 0), statically_known_true(s > 100), statically_known_true(s >= 2), len(e.guards))


def case_unbacked():
    e = ShapeEnv()
    u = e.create_unbacked_symint()
    f = e.create_unbacked_symfloat()
    b = e.create_unbacked_symbool()
    print(u, f, b, e.var_to_range)
    bool(u > 3)


def case_unbacked_check():
    e = ShapeEnv()
    u = e.create_unbacked_symint()
    torch._check_is_size(u)
    torch._check(u <= 9)
    print(e.var_to_range, bool(u >= 0), bool(u < 10), e.deferred_runtime_asserts if 0 else "")


def case_constrain():
    e = ShapeEnv()
    u = e.create_unbacked_symint()
    SS.constrain_range(u, min=2, max=7) if hasattr(SS, "constrain_range") else None
    print(e.var_to_range)
    print(bool(u > 1))


def case_free_symbols():
    e, s = mk(5)
    print(
        free_symbols(s + 1),
        free_symbols([s * s, 3]),
        SS.free_unbacked_symbols(s),
        SS.free_symbols(torch.ones(2)) if 0 else "",
    )


def case_two():
    e, s = mk(5)
    _, t = mk(7, "y", env=e)
    print(s + t, s * t, (s + t) // 2, s < t, bool(s < t), e.guards[0].expr)
    print(bool(s == t), e.guards[-1].expr)


def case_eq_replace():
    e, s = mk(5)
    _, t = mk(6, "y", env=e)
    print(bool(s + 1 == t), e.replacements, t, (t - s))


def case_duck():
    e, s = mk(5)
    _, t = mk(5, "y", env=e)
    print(s, t, s is t, (s == t))


def case_specialize_01():
    e, s = mk(1)
    print(s, type(s).__name__)
    e, s = mk(0)
    print(s)


def case_fake():
    e = ShapeEnv()
    m = FakeTensorMode(shape_env=e)
    t = m.from_tensor(torch.ones(3, 4), source=ConstantSource("t"))
    print(t.shape, t.stride(), t.numel(), t)


def case_evaluate_guards():
    e, s = mk(5)


def case_bind():
    e, s = mk(5)
    x = e.bind_symbols([s], [9]) if hasattr(e, "bind_symbols") else None
    print(x)


def case_size_hint():
    e, s = mk(5)
    print(
        e.size_hint(s.node.expr),
        e.size_hint(s.node.expr * 2),
        e.evaluate_expr(s.node.expr > 3),
        e.simplify(s.node.expr + s.node.expr),
    )


def case_valuerange_bad():
    from torch.utils._sympy.value_ranges import ValueRanges as V

    V(5, 2)


def case_guard_size_oblivious():
    e = ShapeEnv()
    u = e.create_unbacked_symint()
    torch._check_is_size(u)
    print(guard_size_oblivious(u == 0), guard_size_oblivious(u == 1), guard_size_oblivious(True))


def case_format():
    e, s = mk(5)
    print(f"{s}", repr(s), str(s + 1), hash(s) if 0 else "", "%s" % (s > 2), [s], {"a": s})


def case_pickle_int():
    e, s = mk(5)
    print(range(s))
    print(list(range(s))[:2], e.guards[0].expr)


def case_freeze():
    e, s = mk(5)
    e.freeze()
    print(bool(s > 3), len(e.guards))


def case_suppress():
    e, s = mk(5)
    with e.suppress_guards():
        print(bool(s > 3))
    print(len(e.guards))


def case_rename_unbacked():
    e = ShapeEnv()
    a = e.create_unbacked_symint()
    b = e.create_unbacked_symint()
    torch._check(a == b)
    print(bool(a == b), e.replacements)


def case_fakify_cat():
    e = ShapeEnv()
    m = FakeTensorMode(shape_env=e)
    a = m.from_tensor(torch.ones(3, 4), source=ConstantSource("a"))
    b = m.from_tensor(torch.ones(5, 4), source=ConstantSource("b"))
    c = torch.cat([a, b])
    print(c.shape, [str(g.expr) for g in e.guards])
    print((a @ b.t()).shape, a.view(-1).shape, a[1:].shape, a.expand(2, *a.shape).shape)
