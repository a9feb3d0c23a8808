# SPDX-License-Identifier: Apache-2.0
"""torch.utils._pytree."""

import collections
import copy
import json
import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import *
from enum import Enum
import torch
import torch.utils._pytree as P
from torch.utils._pytree import *

Pt = namedtuple("Pt", ["x", "y"])


class E(Enum):
    A = 1


class Custom:
    def __init__(s, a, b):
        s.a, s.b = (a, b)

    def __repr__(s):
        return f"C({s.a},{s.b})"

    def __eq__(s, o):
        return type(o) is Custom and (s.a, s.b) == (o.a, o.b)


def reg(cls=Custom, **k):
    P.register_pytree_node(cls, lambda c: ([c.a, c.b], None), lambda v, c: cls(*v), **k)


def t(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e))


def case_reprs():
    for x in (
        1,
        [1, 2],
        (1,),
        {"a": 1, "b": [2]},
        OrderedDict(a=1),
        defaultdict(int, a=1),
        deque([1, 2], maxlen=3),
        Pt(1, [2]),
        None,
        [],
        {},
        (),
        [None, (None,)],
        torch.Size([1, 2]),
        {3: 1, "k": (2, 3)},
    ):
        print(tree_structure(x))
        print(
            tree_flatten(x)[1].num_leaves,
            tree_flatten(x)[1].num_nodes if hasattr(tree_structure(x), "num_nodes") else "",
            tree_structure(x).num_children,
        )


def case_treespec_repr_nested():
    print(tree_structure([1, {"a": [2, (3, Pt(4, 5))], "b": OrderedDict(z=1, y=[1, 2])}, deque([1])]))


def case_unflatten_errors():
    s = tree_structure([1, 2])
    t(lambda: tree_unflatten([1], s))
    t(lambda: tree_unflatten([1, 2], [1]))
    t(lambda: tree_unflatten(3, s))
    t(lambda: s.unflatten([1, 2, 3]))
    t(lambda: s.unflatten(iter([1, 2])))
    t(lambda: tree_unflatten([1], LeafSpec()))


def case_flatten_up_to():
    s = tree_structure([1, (2, {"a": 3})])
    t(lambda: s.flatten_up_to([1, (2, {"a": [3, 4]})]))
    t(lambda: s.flatten_up_to([1, 2]))
    t(lambda: s.flatten_up_to((1, 2)))
    t(lambda: s.flatten_up_to([1, (2, {"b": 3})]))
    t(lambda: s.flatten_up_to([1, (2,)]))
    t(lambda: s.flatten_up_to([1, (2, {"a": 1, "b": 2})]))
    t(lambda: s.flatten_up_to([1]))
    t(lambda: tree_structure(Pt(1, 2)).flatten_up_to((1, 2)))
    t(lambda: tree_structure(deque([1], maxlen=2)).flatten_up_to(deque([5], maxlen=3)))
    t(lambda: tree_structure(OrderedDict(a=1, b=2)).flatten_up_to(dict(b=1, a=2)))
    t(lambda: tree_structure({"a": 1}).flatten_up_to(OrderedDict(a=4)))
    t(lambda: tree_structure({"a": 1, "b": 2}).flatten_up_to(defaultdict(int, b=5, a=4)))


def case_map_multi():
    t(lambda: tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)]))
    t(lambda: tree_map(lambda a, b: (a, b), [1, 2], [(1, 2), 3]))
    t(lambda: tree_map(lambda a, b: 0, [1, 2], [1]))
    t(lambda: tree_map(lambda a, b: 0, {"a": 1}, {"b": 1}))
    t(lambda: tree_map(lambda a, b: 0, [1], (1,)))


def case_map_is_leaf():
    t(lambda: tree_map(lambda x: x if x is None else str(x), [1, None, (2,)], is_leaf=lambda x: x is None))
    t(lambda: tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)))
    t(lambda: tree_structure([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)))


def case_map_only():
    t(lambda: tree_map_only(int, lambda x: x + 1, [1, "a", 2.0]))
    t(lambda: tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0]))
    t(lambda: tree_map_only(lambda x: x == 1, lambda x: 9, [1, 2]))
    t(lambda: tree_map_only(3, lambda x: x, [1]))
    t(lambda: tree_map_only(int | str, lambda x: x * 2, [1, "a", 2.0]))
    t(lambda: map_only(int)(lambda x: x + 1)(2))
    t(lambda: map_only(3))


def case_all_any():
    t(lambda: tree_all(bool, [1, 0]))
    t(lambda: tree_any(bool, [1, 0]))
    t(lambda: tree_all_only(int, lambda x: x > 0, [1, "a"]))
    t(lambda: tree_any_only(str, lambda x: x == "a", [1, "a"]))
    t(lambda: tree_all_only(int, bool, ["a"]))
    t(lambda: tree_any_only(int, bool, ["a"]))


def case_inplace():
    x = [1, {"a": 2}]
    r = tree_map_(lambda v: print(v), x)
    print(r is x)
    r = tree_map_only_(int, lambda v: print(v), x)
    print(r is x)


def case_iter():
    print(list(tree_iter([1, (2, {"a": 3})])), type(tree_iter([1])).__name__)


def case_register_twice():

    class A(Custom):
        pass

    reg(A, serialized_type_name="user.A")
    t(lambda: reg(A))
    t(lambda: P._register_pytree_node(A, lambda x: ([], None), lambda v, c: A(1, 2)))

    class B(Custom):
        pass

    t(lambda: reg(B, serialized_type_name="user.A"))


def case_register_deprecated():
    import warnings

    class D(Custom):
        pass

    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        P._register_pytree_node(D, lambda c: ([c.a, c.b], None), lambda v, c: D(*v))
        print([(x.category.__name__, str(x.message)) for x in w])
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")

        class D2(Custom):
            pass

        P._register_pytree_node(
            D2,
            lambda c: ([c.a, c.b], None),
            lambda v, c: D2(*v),
            to_str_fn=lambda *a: "",
            maybe_from_str_fn=lambda *a: "",
        )
        print([(x.category.__name__, str(x.message)) for x in w])


def case_dumps():
    for x in (
        1,
        [1, 2],
        {"a": 1},
        OrderedDict(a=1),
        (1, [2, {"k": None}]),
        None,
        deque([1], maxlen=2),
        defaultdict(int, a=1),
    ):
        t(lambda x=x: treespec_dumps(tree_structure(x)))


def case_dumps_loads():
    for x in (
        [1, 2],
        {"a": 1, "b": (2, 3)},
        OrderedDict(a=1),
        (1, [2, {"k": None}]),
        deque([1], maxlen=2),
        defaultdict(list, a=1),
        LeafSpec,
    ):
        s = tree_structure(x)
        t(lambda s=s: treespec_loads(treespec_dumps(s)) == s)
        t(lambda s=s: treespec_loads(treespec_dumps(s)))


def case_dumps_namedtuple():
    s = tree_structure(Pt(1, 2))
    t(lambda: treespec_dumps(s))
    P._register_namedtuple(Pt, serialized_type_name="user.Pt")
    t(lambda: treespec_dumps(s))
    t(lambda: treespec_loads(treespec_dumps(s)) == s)

    class P2(NamedTuple):
        z: int

    P._register_namedtuple(P2, serialized_type_name=f"{__name__}.P2")
    t(lambda: treespec_dumps(tree_structure(P2(1))))


def case_dumps_protocol():
    s = tree_structure([1])
    t(lambda: treespec_dumps(s, 1))
    t(lambda: treespec_dumps(s, 0))
    t(lambda: treespec_dumps(s, -1))
    t(lambda: treespec_loads("[2, {}]"))
    t(lambda: treespec_loads("[1]"))
    t(lambda: treespec_dumps(3))
    t(lambda: treespec_dumps("random_blurb"))
    t(lambda: treespec_loads('[1, {"type": "nope", "context": "null", "children_spec": []}]'))
    t(lambda: treespec_loads("x"))


def case_dumps_custom():

    class H(Custom):
        pass

    reg(H)
    t(lambda: treespec_dumps(tree_structure(H(1, 2))))

    class I(Custom):
        pass

    P.register_pytree_node(
        I,
        lambda c: ([c.a], c.b),
        lambda v, c: I(v[0], c),
        serialized_type_name="user.I",
        to_dumpable_context=lambda c: "moo",
        from_dumpable_context=lambda c: "cow",
    )
    s = tree_structure(I(1, "zz"))
    t(lambda: treespec_dumps(s))
    t(lambda: treespec_loads(treespec_dumps(s)))


def case_dumps_bad_context():

    class J(Custom):
        pass

    P.register_pytree_node(J, lambda c: ([c.a], c), lambda v, c: J(v[0], c), serialized_type_name="user.J")
    t(lambda: treespec_dumps(tree_structure(J(1, E.A))))


def case_pprint():
    t(lambda: treespec_pprint(tree_structure([1, (2,)])))
    t(lambda: P._treespec_to_json if False else 1)


def case_keypaths():
    x = {"a": [1, (2,)], "b": Pt(3, 4), "o": OrderedDict(k=5), 7: deque([6]), "d": defaultdict(int, z=1)}
    l, s = tree_flatten_with_path(x)
    print([(keystr(k), v) for k, v in l])
    print(l[0][0], l[2][0], l[3][0])
    print(s == tree_structure(x))


def case_keys_types():
    print(
        MappingKey("a"),
        SequenceKey(1),
        GetAttrKey("x"),
        MappingKey("a") == MappingKey("a"),
        hash(SequenceKey(1)) == hash(SequenceKey(1)),
        str(MappingKey(3)),
        repr(MappingKey("q")),
        keystr((SequenceKey(1), MappingKey("a"), GetAttrKey("b"))),
    )
    print(MappingKey("a").get({"a": 4}), SequenceKey(1).get([1, 5]), GetAttrKey("real").get(3))
    print(key_get([1, {"a": 5}], (SequenceKey(1), MappingKey("a"))))


def case_leaves_with_path():
    print(tree_leaves_with_path([1, {"a": 2}]))
    print(tree_map_with_path(lambda k, v: keystr(k) + str(v), [1, {"a": 2}]))
    print(tree_map_with_path(lambda k, a, b: (keystr(k), a, b), [1, {"a": 2}], [3, {"a": 4}]))


def case_path_custom():

    class K(Custom):
        pass

    reg(K)
    t(lambda: tree_flatten_with_path([K(1, 2)]))

    class L(Custom):
        pass

    P.register_pytree_node(
        L,
        lambda c: ([c.a, c.b], None),
        lambda v, c: L(*v),
        flatten_with_keys_fn=lambda c: ([(GetAttrKey("a"), c.a), (GetAttrKey("b"), c.b)], None),
    )
    t(lambda: tree_flatten_with_path([L(1, [2])]))
    t(lambda: tree_map_with_path(lambda k, v: keystr(k), L(1, [2])))


def case_path_leaf():
    t(lambda: tree_flatten_with_path([1, None, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)))
    t(lambda: tree_flatten_with_path(4))


def case_dataclass():

    @dataclasses.dataclass
    class DC:
        a: int
        b: Any = None

    print(tree_flatten([DC(1)])[1])
    from torch._export.utils import register_dataclass_as_pytree_node

    register_dataclass_as_pytree_node(DC, serialized_type_name="user.DC")
    l, s = tree_flatten(DC(1, [2]))
    print(l, s)
    print(treespec_dumps(s))
    print(tree_unflatten(l, s))
    l, s = tree_flatten(DC(1))
    print(l, s)
    t(lambda: tree_flatten_with_path(DC(1, 2)))


def case_pickle():
    s = tree_structure([1, {"a": Pt(2, 3)}, deque([1])])
    print(
        pickle.loads(pickle.dumps(s)) == s,
        copy.deepcopy(s) == s,
        copy.copy(s) == s,
        pickle.loads(pickle.dumps(LeafSpec())) == LeafSpec(),
    )


def case_equal():
    print(
        tree_structure(OrderedDict(a=1, b=2)) == tree_structure(OrderedDict(b=1, a=2)),
        tree_structure({"a": 1, "b": 2}) == tree_structure({"b": 1, "a": 2}),
        tree_structure([1]) == 3,
        tree_structure(deque([1])) == tree_structure(deque([1], maxlen=3)),
        tree_structure(defaultdict(int, a=1)) == tree_structure(defaultdict(list, a=1)),
        tree_structure(Pt(1, 2)) == tree_structure((1, 2)),
    )


def case_dict_order():
    print(tree_flatten({"b": 1, "a": 2}), tree_flatten({3: 1, "a": 2}))


def case_subclass_leaf():

    class D(dict):
        pass

    class L(list):
        pass

    print(tree_leaves([D(a=1), L([1])]), type(tree_structure([D(a=1)])).__name__)


def case_arg_tree_leaves():
    print(arg_tree_leaves(1, [2], a=3, b=(4,)))


def case_context_types():
    for x in (
        {"b": 1, "a": 2},
        OrderedDict(z=1),
        defaultdict(int, a=1),
        deque([1], maxlen=3),
        deque([1]),
        Pt(1, 2),
        (1,),
        [1],
    ):
        print(tree_structure(x).context)


def case_defaultdict_unf():
    l, s = tree_flatten(defaultdict(list, a=1))
    r = tree_unflatten(l, s)
    print(r, r["zz"])


def case_structseq():
    r = torch.ones(2, 3).max(0)
    print(tree_structure(r))
    print(type(tree_map(lambda x: x + 1, r)).__name__)
    print([keystr(k) for k, _ in tree_flatten_with_path(r)[0]])


def case_optree_hint():
    t(lambda: P.register_pytree_node(3, None, None))
    t(lambda: tree_map(3, [1]))
