# SPDX-License-Identifier: Apache-2.0
"""Pytrees: nested Python containers flattened into leaves and a spec, and rebuilt.

A container type is one NodeDef in SUPPORTED_NODES: how to list its children with the context that rebuilds it, and
how to rebuild it. Everything else uses these definitions. The text form of a spec (treespec_dumps) is protocol 1 of
PyTorch, byte for byte, because it is stored in .pt2 files.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import sys
import types
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ingot._C import Size

__all__ = [
    "PyTree",
    "Context",
    "FlattenFunc",
    "UnflattenFunc",
    "DumpableContext",
    "ToDumpableContextFn",
    "FromDumpableContextFn",
    "TreeSpec",
    "LeafSpec",
    "keystr",
    "key_get",
    "register_pytree_node",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_unflatten",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_structure",
    "tree_map",
    "tree_map_with_path",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_all",
    "tree_any",
    "tree_all_only",
    "tree_any_only",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
Context = Any
DumpableContext = Any
FlattenFunc = Callable[[Any], "tuple[list, Context]"]
UnflattenFunc = Callable[[Iterable, Context], Any]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
IsLeaf = Callable[[Any], bool]

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
# The pytrees of C++ (optree) are not there; torch.utils._cxx_pytree is this module.
_cxx_pytree_exists = _cxx_pytree_imported = False
_cxx_pytree_pending_imports: list[Any] = []
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


# Key paths


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyEntry = Any
KeyPath = tuple


def keystr(kp: KeyPath) -> str:
    """The path as Python would spell the access: `[0]['a'].x`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """The part of obj that the path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# Node definitions


class NodeDef(NamedTuple):
    type: type
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None


class _SerializeNodeDef(NamedTuple):
    typ: type
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


class ConstantNode(NamedTuple):
    value: Any


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: Callable | None = None,
) -> None:
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=3
        )
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: Callable | None = None,
) -> None:
    """Make instances of cls inner nodes of pytrees."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _register_pytree_node(
    cls: type, flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc, to_str_fn: Callable | None = None,
    maybe_from_str_fn: Callable | None = None, **options: Any,
) -> None:  # fmt: skip
    """The older form: the two string functions are not used; a second registration replaces the first."""
    told = {"torch.utils._pytree._register_pytree_node": "torch.utils._pytree.register_pytree_node"}
    if to_str_fn is not None or maybe_from_str_fn is not None:
        told["to_str_fn` and `maybe_from_str_fn"] = "to_dumpable_context` and `from_dumpable_context"
    for old, new in told.items():
        warnings.warn(f"`{old}` is deprecated. Please use `{new}` instead.", FutureWarning, stacklevel=2)
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
    CONSTANT_NODES.discard(cls)


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Give a named tuple class the name under which specs are stored; flattening knows named tuples anyway."""
    _private_register_pytree_node(
        cls,
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )


def register_constant(cls: type) -> None:
    """Instances of cls become part of the spec: no children, compared by ==."""
    for method, default in (("__eq__", object.__eq__), ("__hash__", object.__hash__)):
        if getattr(cls, method, None) in (default, None):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    _private_register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda children, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _register_fields(cls: type, names: list[str], key: Callable, keep_none: bool, options: dict[str, Any]) -> None:
    """Nodes whose children are attributes; fields that are None belong to the context (unless keep_none)."""

    def flatten(obj: Any) -> tuple[list, Context]:
        values = [(name, getattr(obj, name)) for name in names]
        there = [(name, value) for name, value in values if keep_none or value is not None]
        absent = [name for name, value in values if not keep_none and value is None]
        return [value for _, value in there], [[name for name, _ in there], absent]

    def flatten_with_keys(obj: Any) -> tuple[list, Context]:
        children, context = flatten(obj)
        return [(key(name), child) for name, child in zip(context[0], children)], context

    def unflatten(children: Iterable, context: Context) -> Any:
        there, absent = context
        return cls(**dict(zip(there, children)), **dict.fromkeys(absent))

    options.setdefault("flatten_with_keys_fn", flatten_with_keys)
    _private_register_pytree_node(
        cls, options.pop("flatten_fn", None) or flatten, options.pop("unflatten_fn", None) or unflatten, **options
    )


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a dataclass (or a class made from the fields named) an inner node."""
    drop = set(drop_field_names or ())
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                f"dataclass."
            )
        field_names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in drop]
    elif dataclasses.is_dataclass(cls):
        required = {f.name for f in dataclasses.fields(cls) if f.init} - drop
        missing, unexpected = (
            required - set(field_names),
            set(field_names) - {f.name for f in dataclasses.fields(cls) if f.init},
        )
        if missing or unexpected:
            raise ValueError(
                f"{cls} field_names do not fit its init fields: missing {sorted(missing)}, unexpected "
                f"{sorted(unexpected)}."
            )
    _register_fields(cls, list(field_names), GetAttrKey, False, {"serialized_type_name": serialized_type_name})


def register_dataclass_as_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc | None = None,
    unflatten_fn: UnflattenFunc | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    return_none_fields: bool = False,
) -> None:
    """Make a dataclass an inner node; with return_none_fields a None field is a leaf and not part of the context."""
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    names = [f.name for f in dataclasses.fields(cls)]
    options = {
        "flatten_fn": flatten_fn,
        "unflatten_fn": unflatten_fn,
        "serialized_type_name": serialized_type_name,
        "to_dumpable_context": to_dumpable_context,
        "from_dumpable_context": from_dumpable_context,
    }
    _register_fields(cls, names, MappingKey, return_none_fields, options)


# Kinds of tuples


def is_namedtuple_class(cls: type) -> bool:
    """A class made by collections.namedtuple or typing.NamedTuple. A class derived from one is not: it may hold more
    than its fields, so an instance of it is a leaf until the class is registered."""
    if not (isinstance(cls, type) and cls.__bases__ == (tuple,)):
        return False
    fields = getattr(cls, "_fields", None)
    return isinstance(fields, tuple) and all(type(f) is str for f in fields) and callable(getattr(cls, "_make", None))


def is_namedtuple_instance(obj: Any) -> bool:
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance  # PyTorch's older name


def is_namedtuple(obj: Any) -> bool:
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """A class of C's named tuples (time.struct_time, the results of torch.max): not a base type, with counted
    fields."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    )


def is_structseq_instance(obj: Any) -> bool:
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _namedtuple_flatten(d: Any) -> tuple[list, Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list, Context]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d)], type(d)


def _namedtuple_unflatten(values: Iterable, context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    node = SUPPORTED_SERIALIZED_TYPES.get(context)
    if node is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            f"serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    if node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we couldn't find a "
            f"serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    return node.serialized_type_name


def _described_namedtuple(context: Mapping) -> type:
    """Files of PyTorch 2.1 to 2.3 describe the class instead of naming it: a registered class of that name with those
    fields, or else a new one."""
    name, fields = context.get("class_name"), context.get("fields")
    if not isinstance(name, str) or not isinstance(fields, list) or not all(isinstance(f, str) for f in fields):
        raise ValueError(f"a namedtuple needs a class_name and its fields, found {context!r}")
    for cls in SUPPORTED_NODES:
        if is_namedtuple_class(cls) and cls.__name__ == name and list(cls._fields) == fields:
            return cls
    return namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024  its names come from a file


def _namedtuple_deserialize(context: DumpableContext) -> Context:
    if isinstance(context, Mapping):
        return _described_namedtuple(context)
    if context not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {context} because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[context]


# The containers of the standard library


def _sequence_keys(d: Iterable) -> list:
    return [(SequenceKey(i), value) for i, value in enumerate(d)]


def _mapping_keys(d: Mapping) -> list:
    return [(MappingKey(key), value) for key, value in d.items()]


def _factory(context: DumpableContext) -> Context:
    if set(context) != {"default_factory_module", "default_factory_name", "dict_context"}:
        raise ValueError(f"context of a defaultdict: found {sorted(context)}, expected module, name and keys of it.")
    module, name = context["default_factory_module"], context["default_factory_name"]
    # A spec may come from a file, and loading one must not import what it names: builtins and what is loaded already
    # are enough.
    if module != "builtins" and module not in sys.modules:
        raise ImportError(f"treespec: default factory {module}.{name}: module {module} is not imported.")
    return [getattr(importlib.import_module(module), name), context["dict_context"]]


_DEFAULTDICT_CONTEXT = {
    "to_dumpable_context": lambda c: {
        "default_factory_module": c[0].__module__,
        "default_factory_name": c[0].__qualname__,
        "dict_context": c[1],
    },
    "from_dumpable_context": _factory,
}

for _type, _name, _flat, _build, _keyed, _dump in (
    (
        tuple,
        "builtins.tuple",
        lambda d: (list(d), None),
        lambda v, c: tuple(v),
        lambda d: (_sequence_keys(d), None),
        {},
    ),
    (list, "builtins.list", lambda d: (d, None), lambda v, c: list(v), lambda d: (_sequence_keys(d), None), {}),
    (
        dict,
        "builtins.dict",
        lambda d: (list(d.values()), list(d)),
        lambda v, c: dict(zip(c, v)),
        lambda d: (_mapping_keys(d), list(d)),
        {},
    ),
    (
        namedtuple,
        "collections.namedtuple",
        _namedtuple_flatten,
        _namedtuple_unflatten,
        _namedtuple_flatten_with_keys,
        {"to_dumpable_context": _namedtuple_serialize, "from_dumpable_context": _namedtuple_deserialize},
    ),
    (
        OrderedDict,
        "collections.OrderedDict",
        lambda d: (list(d.values()), list(d)),
        lambda v, c: OrderedDict(zip(c, v)),
        lambda d: (_mapping_keys(d), list(d)),
        {},
    ),
    (
        defaultdict,
        "collections.defaultdict",
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda v, c: defaultdict(c[0], zip(c[1], v)),
        lambda d: (_mapping_keys(d), [d.default_factory, list(d)]),
        _DEFAULTDICT_CONTEXT,
    ),
    (
        deque,
        "collections.deque",
        lambda d: (list(d), d.maxlen),
        lambda v, c: deque(v, maxlen=c),
        lambda d: (_sequence_keys(d), d.maxlen),
        {},
    ),
    (
        Size,
        "torch.Size",
        lambda d: (list(d), None),
        lambda v, c: Size(list(v)),
        lambda d: (_sequence_keys(d), None),
        {},
    ),
):
    _private_register_pytree_node(
        _type, _flat, _build, serialized_type_name=_name, flatten_with_keys_fn=_keyed, **_dump
    )
del _type, _name, _flat, _build, _keyed, _dump

def _node_function(cls: type, field: str) -> Callable:
    """What a container is registered with, for programs that register a container like it."""

    def call(*args: Any) -> Any:
        return getattr(SUPPORTED_NODES[cls], field)(*args)

    return call


_dict_flatten, _dict_unflatten = _node_function(dict, "flatten_fn"), _node_function(dict, "unflatten_fn")
_dict_flatten_with_keys = _node_function(dict, "flatten_with_keys_fn")
_list_flatten, _list_unflatten = _node_function(list, "flatten_fn"), _node_function(list, "unflatten_fn")
_list_flatten_with_keys = _node_function(list, "flatten_with_keys_fn")
_tuple_flatten, _tuple_unflatten = _node_function(tuple, "flatten_fn"), _node_function(tuple, "unflatten_fn")
_tuple_flatten_with_keys = _node_function(tuple, "flatten_with_keys_fn")

STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def _structseq_node(cls: type) -> NodeDef | None:
    """The named results of operators; other C sequences (time.struct_time) stay leaves."""
    if not (cls.__module__.endswith("return_types") and is_structseq_class(cls)):
        return None
    _private_register_pytree_node(
        cls, lambda d: (list(d), None), lambda v, c: cls(v), flatten_with_keys_fn=lambda d: (_sequence_keys(d), None)
    )
    return SUPPORTED_NODES[cls]


def _get_node_type(tree: Any) -> Any:
    cls = type(tree)
    if cls not in SUPPORTED_NODES and is_namedtuple_class(cls):
        return namedtuple
    return cls


def _node_of(tree: Any) -> NodeDef | None:
    """The definition for a value, None if it is a leaf."""
    cls = type(tree)
    node = SUPPORTED_NODES.get(cls)
    if issubclass(cls, tuple):
        if cls is tuple:
            return node
        if is_namedtuple_class(cls):  # a registered name of a class serves storing only
            return node if node and node.flatten_fn is not _namedtuple_flatten else SUPPORTED_NODES[namedtuple]
        return node or _structseq_node(cls)
    return node


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None


def _is_leaf(tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    return tree_is_leaf(tree, is_leaf)


# Specs


class TreeSpec:
    """The structure of a tree without its leaves."""

    __slots__ = ("type", "context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec] = ()) -> None:  # noqa: A002
        self.type = type
        self.context = context
        self._children = list(children_specs)
        self.num_children = len(self._children)
        if type is None:
            if context is not None or self._children:
                raise ValueError("a leaf spec has neither context nor children.")
            self.num_nodes = self.num_leaves = 1
        else:
            self.num_nodes = 1 + sum(c.num_nodes for c in self._children)
            self.num_leaves = sum(c.num_leaves for c in self._children)

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    @property
    def _context(self) -> Context:
        return self.context

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def is_leaf(self) -> bool:
        return self.type is None

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type == other.type
            and self.num_leaves == other.num_leaves
            and self.context == other.context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self.context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif isinstance(context, list):
            context = repr(context)
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        name = getattr(self.type, "__name__", str(self.type))
        separator = ",\n" + " " * (indent + 2)
        children = separator.join(c.__repr__(indent + 2) for c in self._children)
        return f"TreeSpec({name}, {self.context}, [{children}])"

    def __getstate__(self) -> tuple:
        return self.type, self.context, self._children

    def __setstate__(self, state: tuple) -> None:
        TreeSpec.__init__(self, *state)

    def flatten_up_to(self, tree: PyTree) -> list:
        """The parts of tree that stand where this spec has leaves; the upper structure must agree."""
        parts: list = []
        self._flatten_up_to(tree, parts)
        return parts

    def _flatten_up_to(self, tree: PyTree, parts: list) -> None:
        if self.type is None:
            parts.append(tree)
            return
        children = self._children_of(tree)
        for spec, child in zip(self._children, children):
            spec._flatten_up_to(child, parts)

    def _children_of(self, tree: PyTree) -> list:
        node_type = _get_node_type(tree)
        both_dicts = self.type in STANDARD_DICT_TYPES and node_type in STANDARD_DICT_TYPES
        if node_type != self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {node_type!r}.")
        node = _node_of(tree)
        assert node is not None
        children, context = node.flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if both_dicts:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                text = f"; missing key(s): {missing}" if missing else ""
                text += f"; extra key(s): {extra}" if extra else ""
                raise ValueError(f"Node keys mismatch{text}.")
            return [tree[key] for key in keys]
        if node_type not in BUILTIN_TYPES and context != self.context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        if node_type is namedtuple and context != self.context:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self.context!r}, but got {context!r}."
            )
        return children

    def unflatten(self, leaves: Iterable) -> PyTree:
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                f"that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self.context)


class LeafSpec(TreeSpec):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __repr__(self, indent: int = 0) -> str:
        return "*"

    def __reduce__(self) -> tuple:
        return LeafSpec, ()


PyTreeSpec = TreeSpec
_LEAF_SPEC = LeafSpec()


def treespec_leaf() -> TreeSpec:
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    children = dict(mapping, **kwargs)
    return TreeSpec(dict, list(children), list(children.values()))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree with a star for every leaf."""
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


# Flattening


def _flatten(tree: PyTree, leaves: list, is_leaf: IsLeaf | None) -> TreeSpec:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF_SPEC
    node = _node_of(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list, TreeSpec]:
    """The leaves of tree from left to right, and its spec."""
    leaves: list = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> PyTree:
    """The tree of that spec with those leaves."""
    return _ensure_spec(treespec, "tree_unflatten(leaves, treespec)").unflatten(leaves)


def _ensure_spec(treespec: Any, call: str) -> TreeSpec:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"{call}: Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    return treespec


def tree_iter(tree: PyTree, is_leaf: IsLeaf | None = None) -> Iterator:
    """The leaves, one at a time."""
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield tree
    else:
        for child in node.flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list:
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list:
    """The leaves of all arguments."""
    leaves: list = []
    for value in (*args, *kwargs.values()):
        leaves.extend(tree_iter(value))
    return leaves


def _generate_key_paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf | None = None) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _generate_key_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[tuple[KeyPath, Any]]:
    return list(_generate_key_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Like tree_flatten, each leaf with the path that leads to it."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


# Mapping


def _leaf_columns(tree: PyTree, rests: tuple, is_leaf: IsLeaf | None) -> tuple[list[list], TreeSpec]:
    leaves, spec = tree_flatten(tree, is_leaf)
    return [leaves, *(spec.flatten_up_to(r) for r in rests)], spec


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """A tree of the results of func on the leaves (of tree, and of the parts of rests that stand in their places)."""
    columns, spec = _leaf_columns(tree, rests, is_leaf)
    return spec._build(map(func, *columns))


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Call func for its effect; returns tree."""
    for parts in zip(*_leaf_columns(tree, rests, is_leaf)[0]):
        func(*parts)
    return tree


def tree_map_with_path(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Like tree_map; func gets the path first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [kp for kp, _ in found], [leaf for _, leaf in found]
    return spec._build(map(func, paths, leaves, *(spec.flatten_up_to(r) for r in rests)))


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable], Callable]:
    """Decorator: do not change what is not of the types (or does not satisfy the predicate)."""
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):

        def wanted(x: Any) -> bool:
            return isinstance(x, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        wanted = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrap(func: Callable) -> Callable:
        return lambda x: func(x) if wanted(x) else x

    return wrap


def tree_map_only(kind: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    return tree_map(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kind: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    return tree_map_(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kind: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(kind: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kind))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf | None = None) -> list | None:
    """The leaves of tree, each repeated for all leaves of the part of the spec in its place; None if the structures
    differ."""
    _ensure_spec(treespec, "_broadcast_to_and_flatten(tree, treespec)")
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _get_node_type(tree) != treespec.type:
        return None
    node = _node_of(tree)
    assert node is not None
    children, context = node.flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list = []
    for child, spec in zip(children, treespec.children_specs):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        found += flat
    return found


# Text form


class EnumEncoder(json.JSONEncoder):
    def default(self, obj: Any) -> Any:
        if isinstance(obj, enum.Enum):
            cls = type(obj)
            return {"__enum__": True, "fqn": f"{cls.__module__}:{cls.__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj: dict) -> Any:
    """Inverse of EnumEncoder, for enumerations of modules that are already imported."""
    if "__enum__" not in obj:
        return obj
    module, _, qualname = obj["fqn"].partition(":")
    found: Any = sys.modules.get(module)
    if found is None:
        raise ImportError(f"treespec: enumeration {obj['fqn']}: module {module} is not imported.")
    for part in qualname.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and issubclass(found, enum.Enum)):
        raise TypeError(f"treespec: {obj['fqn']} is not an enumeration.")
    return found[obj["name"]]


def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    stored = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if stored is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if stored.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. "
            "Please update your _register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if stored.to_dumpable_context is not None:
        context = stored.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, "
                "or register a custom serializer using _register_pytree_node."
            ) from error
    return {
        "type": stored.serialized_type_name,
        "context": context,
        "children_spec": [_to_json(c) for c in spec.children()],
    }


def _from_json(data: Mapping[str, Any]) -> TreeSpec:
    if data["type"] is None and data["context"] is None and not data["children_spec"]:
        return _LEAF_SPEC
    if data["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[data["type"]]
    load = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    if load is not None:
        context = load(data["context"])
    else:
        context = json.loads(data["context"], object_hook=enum_object_hook)
    return TreeSpec(cls, context, [_from_json(c) for c in data["children_spec"]])


def _check_protocol(protocol: Any) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]"
        )


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The spec as text."""
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _ensure_spec(treespec, "treespec_dumps(treespec, protocol)")
    _check_protocol(protocol)
    return json.dumps((protocol, _to_json(treespec)), cls=EnumEncoder)


def treespec_loads(serialized: str) -> TreeSpec:
    """The spec of a text."""
    protocol, data = json.loads(serialized)
    _check_protocol(protocol)
    return _from_json(data)
