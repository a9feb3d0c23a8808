# SPDX-License-Identifier: Apache-2.0
"""Pytrees: every container flattens, unflattens, prints and serializes as PyTorch does it."""

import collections
import dataclasses
import enum
import pickle
import time

import pytest

import ingot
from ingot.utils import _pytree as pt

Point = collections.namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


TREES = [
    ((1, 2), [1, 2], "TreeSpec(tuple, None, [*,\n  *])"),
    ([], [], "TreeSpec(list, None, [])"),
    ({"b": 1, "a": (2,)}, [1, 2], "TreeSpec(dict, ['b', 'a'], [*,\n  TreeSpec(tuple, None, [*])])"),
    (collections.OrderedDict(q=1), [1], "TreeSpec(OrderedDict, ['q'], [*])"),
    (collections.defaultdict(list, z=1), [1], "TreeSpec(defaultdict, [<class 'list'>, ['z']], [*])"),
    (collections.deque([1, 2], maxlen=3), [1, 2], "TreeSpec(deque, 3, [*,\n  *])"),
    (Point(1, [2]), [1, 2], f"TreeSpec(namedtuple, {Point}, [*,\n  TreeSpec(list, None, [*])])"),
    (ingot.Size([4, 5]), [4, 5], "TreeSpec(Size, None, [*,\n  *])"),
    (None, [None], "*"),
    ("text", ["text"], "*"),
]


@pytest.mark.parametrize("tree, leaves, text", TREES, ids=lambda value: type(value).__name__)
def test_flatten_unflatten_repr(tree, leaves, text):
    flat, spec = pt.tree_flatten(tree)
    assert flat == leaves
    assert repr(spec) == text
    back = pt.tree_unflatten(flat, spec)
    assert back == tree and type(back) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert pt.tree_leaves(tree) == list(pt.tree_iter(tree)) == leaves
    assert pt.tree_structure(tree) == spec and hash(pt.tree_structure(tree)) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_maxlen_and_factory_survive():
    back = pt.tree_map(lambda x: x + 1, collections.deque([1], maxlen=3))
    assert back.maxlen == 3 and list(back) == [2]
    back = pt.tree_map(lambda x: x + 1, collections.defaultdict(list, a=1))
    assert back.default_factory is list and back["a"] == 2


def test_tensors_and_struct_time_are_leaves():
    x = ingot.ones(2)
    assert pt.tree_flatten(x)[0][0] is x
    assert pt.tree_structure(time.gmtime(0)).is_leaf()
    assert pt.is_structseq(time.gmtime(0)) and not pt.is_structseq((1,))


def test_results_of_operators_are_nodes():
    result = ingot.max(ingot.ones(2, 3), 1)
    leaves, spec = pt.tree_flatten(result)
    assert len(leaves) == 2
    back = pt.tree_unflatten(leaves, spec)
    assert type(back) is type(result) and back.indices is result.indices


def test_map_over_several_trees():
    assert pt.tree_map(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]) == [11, {"k": 22}]
    assert pt.tree_map(lambda a, b: (a, b), [None], [[1]]) == [(None, [1])]  # a prefix is enough
    assert pt.tree_map(lambda a, b: a - b, {"a": 1}, collections.defaultdict(list, a=1)) == {"a": 0}


@pytest.mark.parametrize(
    "first, second, message",
    [
        ([1, 2], [1], "Node arity mismatch; expected 2, but got 1."),
        ([1, 2], (1, 2), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
        ([1, 2], 3, "Node type mismatch; expected <class 'list'>, but got <class 'int'>."),
        ({"a": 1}, {"b": 1}, "Node keys mismatch; missing key(s): {'a'}; extra key(s): {'b'}."),
    ],
)
def test_structures_that_differ(first, second, message):
    with pytest.raises(ValueError) as error:
        pt.tree_map(lambda a, b: a, first, second)
    assert str(error.value) == message


def test_errors_of_unflatten():
    spec = pt.tree_structure([1])
    with pytest.raises(ValueError, match=r"`leaves` has length 2 but the spec refers to a pytree that holds 1 items"):
        pt.tree_unflatten([1, 2], spec)
    calls = {
        "tree_unflatten(leaves, treespec)": lambda: pt.tree_unflatten([1], 3),
        "treespec_dumps(treespec, protocol)": lambda: pt.treespec_dumps(3),
    }
    for call, wrong in calls.items():
        with pytest.raises(TypeError) as error:
            wrong()
        text = "Expected `treespec` to be instance of TreeSpec but got item of type <class 'int'>."
        assert str(error.value) == f"{call}: {text}"


def test_is_leaf():
    assert pt.tree_leaves([(1, 2), [3]], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert pt.tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]


def test_map_only_all_any():
    assert pt.tree_map_only(int, lambda x: x + 1, [1, "a"]) == [2, "a"]
    assert pt.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0]) == [2, "aa", 2.0]
    assert pt.tree_map_only(lambda x: x == 1, lambda x: 7, [1, 2]) == [7, 2]
    with pytest.raises(TypeError, match="Argument must be a type, a tuple of types, or a callable."):
        pt.tree_map_only(3, lambda x: x, [1])
    assert pt.tree_all(bool, [1, [2]]) and not pt.tree_all(bool, [1, 0])
    assert pt.tree_any(bool, [0, 1]) and not pt.tree_any(bool, [0])
    assert pt.tree_all_only(int, lambda x: x > 0, [1, "a"]) and not pt.tree_any_only(str, str.isdigit, [1, "a"])
    seen = []
    assert pt.tree_map_(seen.append, [1, (2,)]) == [1, (2,)] and seen == [1, 2]
    assert pt.arg_tree_leaves(1, [2], k={"a": 3}) == [1, 2, 3]


def test_key_paths():
    found, spec = pt.tree_flatten_with_path([1, {"a": (2,)}, Point(3, 4)])
    assert [pt.keystr(path) for path, _ in found] == ["[0]", "[1]['a'][0]", "[2].x", "[2].y"]
    assert found[1][0] == (pt.SequenceKey(1), pt.MappingKey("a"), pt.SequenceKey(0))
    assert pt.key_get([1, {"a": (2,)}], found[1][0]) == 2
    assert pt.tree_map_with_path(lambda path, x: (pt.keystr(path), x), {"k": [5]}) == {"k": [("['k'][0]", 5)]}
    assert spec == pt.tree_structure([1, {"a": (2,)}, Point(3, 4)])


def test_broadcast():
    spec = pt.tree_structure([1, (2, 3)])
    assert pt._broadcast_to_and_flatten(7, spec) == [7, 7, 7]
    assert pt._broadcast_to_and_flatten([7, 8], spec) == [7, 8, 8]
    assert pt._broadcast_to_and_flatten([7], spec) is None
    assert pt._broadcast_to_and_flatten((7, 8), spec) is None


LEAF = '{"type": null, "context": null, "children_spec": []}'


@pytest.mark.parametrize(
    "tree, text",
    [
        (1, LEAF),
        ((1,), f'{{"type": "builtins.tuple", "context": "null", "children_spec": [{LEAF}]}}'),
        ([1], f'{{"type": "builtins.list", "context": "null", "children_spec": [{LEAF}]}}'),
        ({"a": 1}, f'{{"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": [{LEAF}]}}'),
        (
            collections.OrderedDict(a=1),
            f'{{"type": "collections.OrderedDict", "context": "[\\"a\\"]", "children_spec": [{LEAF}]}}',
        ),
        (
            collections.defaultdict(list, a=1),
            '{"type": "collections.defaultdict", "context": {"default_factory_module": "builtins", '
            f'"default_factory_name": "list", "dict_context": ["a"]}}, "children_spec": [{LEAF}]}}',
        ),
        (
            collections.deque([1], maxlen=3),
            f'{{"type": "collections.deque", "context": "3", "children_spec": [{LEAF}]}}',
        ),
        (ingot.Size([1]), f'{{"type": "torch.Size", "context": "null", "children_spec": [{LEAF}]}}'),
        (
            {Color.RED: 1},
            '{"type": "builtins.dict", "context": "[{\\"__enum__\\": true, \\"fqn\\": \\"'
            f'{__name__}:Color\\", \\"name\\": \\"RED\\"}}]", "children_spec": [{LEAF}]}}',
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_text_form(tree, text):
    spec = pt.tree_structure(tree)
    assert pt.treespec_dumps(spec) == f"[1, {text}]"
    assert pt.treespec_loads(pt.treespec_dumps(spec)) == spec


def test_text_form_errors():
    with pytest.raises(NotImplementedError, match="didn't register a serializated_type_name"):
        pt.treespec_dumps(pt.tree_structure(Point(1, 2)))
    with pytest.raises(TypeError, match="Unable to serialize context"):
        pt.treespec_dumps(pt.tree_structure({Point: 1}))
    with pytest.raises(ValueError, match=r"Unknown protocol 2. Available protocols: \[1\]"):
        pt.treespec_loads("[2, {}]")
    with pytest.raises(NotImplementedError, match="Deserializing foo in pytree is not registered."):
        pt.treespec_loads('[1, {"type": "foo", "context": "null", "children_spec": []}]')
    with pytest.raises(ImportError, match="module not_loaded_anywhere is not imported"):
        pt.treespec_loads(
            '[1, {"type": "collections.defaultdict", "context": {"default_factory_module": "not_loaded_anywhere", '
            '"default_factory_name": "x", "dict_context": []}, "children_spec": []}]'
        )


def test_registered_namedtuple():
    Named = collections.namedtuple("Named", "a b")
    pt._register_namedtuple(Named, serialized_type_name="test_pytree.Named")
    try:
        spec = pt.tree_structure(Named(1, 2))
        text = pt.treespec_dumps(spec)
        assert '"type": "collections.namedtuple", "context": "test_pytree.Named"' in text
        assert pt.treespec_loads(text) == spec
    finally:
        pt._deregister_pytree_node(Named)


class Box:
    def __init__(self, items, tag):
        self.items, self.tag = items, tag


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_registered_class():
    functions = (lambda b: (b.items, b.tag), lambda items, tag: Box(list(items), tag))
    pt.register_pytree_node(Box, *functions, serialized_type_name="test_pytree.Box")
    try:
        with pytest.raises(ValueError, match="is already registered as pytree node"):
            pt.register_pytree_node(Box, *functions)
        back = pt.tree_map(lambda x: x + 1, Box([1, 2], "t"))
        assert isinstance(back, Box) and back.items == [2, 3] and back.tag == "t"
        spec = pt.tree_structure(Box([1], [Color.RED]))
        assert pt.treespec_loads(pt.treespec_dumps(spec)) == spec
        with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
            pt.tree_flatten_with_path(Box([1], 0))
        with pytest.raises(ValueError, match="Node context mismatch for custom node type"):
            pt.tree_map(lambda a, b: a, Box([1], 1), Box([1], 2))
        with pytest.warns(UserWarning, match="Overwriting the previous registration"):
            pt._register_pytree_node(Box, lambda b: (b.items[:1], b.tag), functions[1])
        assert pt.tree_leaves(Box([1, 2], "t")) == [1]
        with pytest.raises(NotImplementedError, match="No registered serialization name"):
            pt.treespec_dumps(pt.tree_structure(Box([1], 0)))
    finally:
        pt._deregister_pytree_node(Box)
    assert pt.tree_structure(Box([1], 1)).is_leaf()


def test_class_derived_from_a_namedtuple_is_a_leaf():
    class Derived(Point):
        pass

    assert pt.tree_leaves(Derived(1, 2)) == [(1, 2)]
    assert pt.tree_leaves(Point(1, 2)) == [1, 2]


def test_public_names():
    assert "tree_map_with_path" in pt.__all__
    assert all(hasattr(pt, name) for name in pt.__all__)


def test_spec_printed_with_an_indent():
    assert pt.tree_structure((1, 2)).__repr__(4) == "TreeSpec(tuple, None, [*,\n      *])"


def test_custom_context_functions():
    class Other(Box):
        pass

    with pytest.raises(ValueError, match="Both to_dumpable_context and from_dumpable_context"):
        pt.register_pytree_node(
            Other, lambda b: (b.items, b.tag), lambda i, t: Other(i, t), to_dumpable_context=lambda c: c
        )
    pt.register_pytree_node(
        Other,
        lambda b: (b.items, b.tag),
        lambda i, t: Other(i, t),
        serialized_type_name="test_pytree.Other",
        to_dumpable_context=lambda c: f"<{c}>",
        from_dumpable_context=lambda c: c[1:-1],
        flatten_with_keys_fn=lambda b: ([(pt.GetAttrKey(f"i{n}"), v) for n, v in enumerate(b.items)], b.tag),
    )
    try:
        spec = pt.tree_structure(Other([1], "tag"))
        assert '"context": "<tag>"' in pt.treespec_dumps(spec)
        assert pt.treespec_loads(pt.treespec_dumps(spec)) == spec
        assert pt.keystr(pt.tree_leaves_with_path([Other([1], 0)])[0][0]) == "[0].i0"
    finally:
        pt._deregister_pytree_node(Other)


def test_dataclass():
    @dataclasses.dataclass
    class Data:
        x: int
        y: int
        z: int = None

    assert len(pt.tree_leaves(Data(1, 2))) == 1
    pt.register_dataclass_as_pytree_node(Data, serialized_type_name="test_pytree.Data")
    leaves, spec = pt.tree_flatten(Data(3, 4))
    assert leaves == [3, 4]
    assert spec == pt.TreeSpec(Data, [["x", "y"], ["z"]], [pt.LeafSpec(), pt.LeafSpec()])
    assert pt.tree_unflatten(leaves, spec) == Data(3, 4)
    assert pt.treespec_loads(pt.treespec_dumps(spec)) == spec
    with pytest.raises(AssertionError, match="Only dataclasses can be registered"):
        pt.register_dataclass_as_pytree_node(int)

    @dataclasses.dataclass
    class WithNone:
        x: int
        z: int = None

    pt.register_dataclass_as_pytree_node(WithNone, return_none_fields=True)
    assert pt.tree_leaves(WithNone(1)) == [1, None]


def test_constants():
    class Word:
        def __init__(self, text):
            self.text = text

        def __eq__(self, other):
            return self.text == other.text

        def __hash__(self):
            return hash(self.text)

    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pt.register_constant(Box)
    pt.register_constant(Word)
    leaves, spec = pt.tree_flatten([Word("a"), 1])
    assert leaves == [1] and pt.tree_unflatten([2], spec) == [Word("a"), 2]
    assert spec == pt.tree_structure([Word("a"), 1]) != pt.tree_structure([Word("b"), 1])
    assert pt.is_constant_class(Word)


def test_spec_methods():
    spec = pt.tree_structure([1, (2, 3)])
    assert (spec.num_nodes, spec.num_leaves, spec.num_children) == (5, 3, 2)
    assert spec.child(1) == spec.children_specs[1] == pt.treespec_tuple([pt.LeafSpec(), pt.treespec_leaf()])
    assert spec.flatten_up_to([1, (2, [3])]) == [1, 2, [3]]
    assert pt.treespec_pprint(spec) == "[*, (*, *)]"
    assert pt.treespec_dict(a=pt.LeafSpec()) == pt.tree_structure({"a": 1})
    assert isinstance(pt.tree_structure(1), pt.LeafSpec) and not isinstance(spec, pt.LeafSpec)


def test_star_import():
    space = {}
    exec("from ingot.utils._pytree import *", space)
    assert "tree_map" in space and "MappingKey" not in space and "Any" not in space
    with pytest.raises(TypeError, match=r"treespec_dumps\(treespec, protocol\): Expected `treespec` to be instance of"):
        pt.treespec_dumps(3)
