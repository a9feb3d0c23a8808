# SPDX-License-Identifier: Apache-2.0
"""Dim and the forms of dynamic_shapes: from what the user writes to one tuple of dimensions per flat input.

A tuple has an entry per dimension, as the engine takes it: None (static), an int (static, checked), (name, lo, hi),
(text, root, lo, hi, k, c) for k*root + c, True (automatic) or ... (dynamic). The engine interprets them.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ingot import _C, nn
from ingot._C import Tensor
from ingot._compat import level
from ingot._dynamo.exc import UserError, UserErrorType
from ingot.utils import _pytree as pytree

__all__ = ["Constraint", "Dim", "ShapesCollection", "dims", "dynamic_dim", "refine_dynamic_shapes_from_suggested_fixes"]

_LINEAR = "(Only increasing linear operations with integer coefficients are supported.)"


class _Hint:
    """Dim.AUTO, Dim.DYNAMIC, Dim.STATIC: what to do with a dimension that gets no name."""

    def __init__(self, name: str, entry: Any) -> None:
        self._name = name
        self.entry = entry

    def __repr__(self) -> str:
        return f"Dim.{self._name}"

    def __copy__(self) -> _Hint:
        return self

    def __deepcopy__(self, memo: dict) -> _Hint:
        return self


class Dim:
    """A named size with bounds. Two of one name are the same size; `2 * d + 1` is a size derived from it."""

    AUTO = _Hint("AUTO", True)
    DYNAMIC = _Hint("DYNAMIC", ...)
    STATIC = _Hint("STATIC", None)

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        low, high = 0 if min is None else min, sys.maxsize if max is None else max
        if high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__ = name
        self._bounds = low, high
        self._root = self
        self._factor, self._term = 1, 0
        self._made_in = sys._getframe(1).f_code

    @classmethod
    def _derive(cls, root: Dim, factor: int, term: int) -> Dim:
        if factor == 1 and term == 0:
            return root
        self = _DerivedDim.__new__(_DerivedDim)
        scaled = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        self.__name__ = scaled if term == 0 else f"{scaled} {'+' if term > 0 else '-'} {abs(term)}"
        self._root, self._factor, self._term = root, factor, term
        return self

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def root(self) -> Dim:
        return self._root

    def fn(self, size: int) -> int:
        """The size for a size of the root."""
        return self._factor * size + self._term

    @property
    def min(self) -> int:
        if self._root is self:
            return self._bounds[0]
        low = self._factor * self._root.min + self._term
        if low < 0:
            raise AssertionError(
                f"Expected derived min value of {self.__name__} to be >= 0. Please specify an appropriate min value "
                f"for {self._root.__name__} (currently {self._root.min})."
            )
        return low

    @property
    def max(self) -> int:
        if self._root is self:
            return self._bounds[1]
        return sys.maxsize if self._root.max == sys.maxsize else self._factor * self._root.max + self._term

    def __add__(self, other: int) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to add {other} to {self.__name__}, where an integer was expected. {_LINEAR}"
            )
        return self._derive(self._root, self._factor, self._term + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to subtract {other} from {self.__name__}, where an integer was expected. {_LINEAR}"
            )
        return self._derive(self._root, self._factor, self._term - other)

    def __rsub__(self, other: Any) -> Dim:
        raise NotImplementedError(f"Attempted to negate {self.__name__}. {_LINEAR}")

    def __mul__(self, other: int) -> Dim:
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. {_LINEAR}"
            )
        return self._derive(self._root, self._factor * other, self._term * other)

    __rmul__ = __mul__

    def _derived(self) -> bool:
        return self._root is not self

    def _as_class(self) -> str:
        """How PyTorch, whose dims are classes of the module that makes them, shows it."""
        import inspect  # seldom needed

        if self._derived():
            return f"<class 'torch.export.dynamic_shapes.{self.__name__}'>"
        module = inspect.getmodule(self._made_in)
        return f"<class '{module.__name__ if module else '__main__'}.{self.__name__}'>"

    def _entry(self) -> tuple:
        """The form for the engine."""
        low, high = self._root._bounds
        top = None if high == sys.maxsize else high
        if self._derived():
            return self.__name__, self._root.__name__, low, top, self._factor, self._term
        return self.__name__, low, top

    def __repr__(self) -> str:
        if self._derived():
            return self.__name__
        low, high = self._bounds
        bounds = [f"min={low}"] * (low != 0) + [f"max={high}"] * (high != sys.maxsize)
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: dict) -> Dim:
        return self


class _DerivedDim(Dim):
    """A size that another one gives."""


_Dim = Dim
_DimHint = _Hint


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several Dims of the same bounds."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def _shown(shape: Any) -> str:
    """A shape as PyTorch shows it: dims are classes there."""
    if isinstance(shape, dict):
        return "{" + ", ".join(f"{k!r}: {_shown(v)}" for k, v in shape.items()) + "}"
    if isinstance(shape, list):
        return "[" + ", ".join(map(_shown, shape)) + "]"
    if type(shape) is tuple:
        return "(" + ", ".join(map(_shown, shape)) + ("," if len(shape) == 1 else "") + ")"
    return shape._as_class() if isinstance(shape, Dim) else repr(shape)


@dataclasses.dataclass(frozen=True)
class Constraint:
    """A dimension of a tensor marked dynamic, with bounds: `2 <= dynamic_dim(x, 0)` narrows it."""

    tensor: Tensor
    dim: int
    min: int = 0
    max: int = sys.maxsize

    def __ge__(self, low: int) -> Constraint:
        return dataclasses.replace(self, min=max(self.min, low))

    def __gt__(self, low: int) -> Constraint:
        return self >= low + 1

    def __le__(self, high: int) -> Constraint:
        return dataclasses.replace(self, max=min(self.max, high))

    def __lt__(self, high: int) -> Constraint:
        return self <= high - 1

    def __bool__(self) -> bool:
        raise TypeError(
            "Cannot determine truth value of Constraint. If you are trying to combine Constraint's with logical "
            "connectives, you can specify them separately instead."
        )


def dynamic_dim(t: Tensor, index: int) -> Constraint:
    """Marks dimension `index` of a tensor (the older spelling of dynamic_shapes)."""
    if not isinstance(t, Tensor):
        raise UserError(UserErrorType.DYNAMIC_DIM, f"Expected tensor as input to dynamic_dim but got {type(t)}")
    if t.dim() < 1:
        raise UserError(UserErrorType.DYNAMIC_DIM, "Cannot mark 0-dimension tensors to be dynamic")
    if not 0 <= index < t.dim():
        raise UserError(
            UserErrorType.DYNAMIC_DIM,
            f"Expected the dimension passed to dynamic_dim to be in the range [0:{t.dim() - 1}] but got {index}, "
            "which is out of bounds for the given tensor.",
        )
    return Constraint(t, index)


class ShapesCollection:
    """Shapes by tensor: `c[x] = (dim,)`. Passed as dynamic_shapes, or turned into a tree by dynamic_shapes(m, args)."""

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        known = self._shapes.get(id(t))
        if known is not None and known[1] != shape:
            raise AssertionError(
                f"Shapes assigned to tensor do not match: expected {known[1]}, got {shape}"
            )
        self._shapes[id(t)] = t, shape  # the tensor is kept: its id stays its own

    def __getitem__(self, t: Tensor) -> Any:
        if id(t) not in self._shapes:
            self._shapes[id(t)] = t, {}
        return self._shapes[id(t)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
        """The tree of shapes for these arguments; every tensor of the collection must be among them."""
        found: set[int] = set()

        def shape_of(leaf: Any) -> Any:
            if id(leaf) not in self._shapes:
                return None
            found.add(id(leaf))
            return self._shapes[id(leaf)][1]

        tree = {name: _map(shape_of, value) for name, value in combine_args(m, args, kwargs).items()}
        if len(found) != len(self._shapes):
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when "
                "passing them as args? Maybe such tensors are contained in classes that were not registered with "
                "pytree?"
            )
        return tree


def combine_args(f: Any, args: tuple, kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Arguments by parameter name: *args a tuple, **kwargs a dict."""
    kwargs = kwargs or {}
    signature = inspect.signature(f.forward if isinstance(f, nn.Module) else f)
    try:
        return dict(signature.bind(*args, **kwargs).arguments)
    except TypeError as error:
        raise TypeError(str(error)) from None


# Trees. Containers of Python have shapes of the same type; a registered class is entered by its fields, for which a
# list stands.


def _children(value: Any) -> tuple[Any, list[Any], list[Any]] | None:
    """Type of the container, keys, children; None: a leaf."""
    node = pytree._node_of(value)
    if node is None:
        return None
    if isinstance(value, dict):
        return node.type, list(value), list(value.values())
    items = list(node.flatten_fn(value)[0])
    return node.type, list(range(len(items))), items


def _map(fn: Callable[[Any], Any], value: Any) -> Any:
    """The tree of shapes that fn gives for the leaves."""
    node = pytree._node_of(value)
    if node is None:
        return fn(value)
    items, context = node.flatten_fn(value)
    mapped = [_map(fn, item) for item in items]
    return node.unflatten_fn(mapped, context) if node.type in pytree.BUILTIN_TYPES else mapped


def _where(path: tuple) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _mismatch(path: tuple, inputs: str, shapes: str) -> UserError:
    at = _where(path)
    return UserError(
        UserErrorType.INVALID_INPUT,
        "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
        f"`inputs{at}` {inputs}, but `dynamic_shapes{at}` {shapes}",
        case_name="dynamic_shapes_validation",
    )


def _type_of(shapes: Any) -> Any:
    """The type of a container of Python; None: anything else."""
    node = pytree._node_of(shapes)
    return node.type if node is not None and node.type in pytree.BUILTIN_TYPES else None


def _in_container(path: tuple, kind: Any, keys: list, shapes: Any) -> list[Any]:
    """The shapes for the children of a container of Python."""
    found = _type_of(shapes)
    is_dict = issubclass(kind, dict) if isinstance(kind, type) else False
    if found is None:
        raise _mismatch(path, f"is a {kind}", "is not")
    if found is not kind and not (is_dict and isinstance(shapes, dict) and set(shapes) == set(keys)):
        raise _mismatch(path, f"is a {kind}", f"is a {found}")
    if len(shapes) != len(keys):
        raise _mismatch(path, f"has {len(keys)} elements", f"has {len(shapes)} elements")
    if not is_dict:
        return list(shapes)
    if set(shapes) != set(keys):
        raise _mismatch(path, f"has keys {keys}", f"has keys {list(shapes)}")
    return [shapes[key] for key in keys]


def _in_class(keys: list, shapes: Any) -> list[Any]:
    """The shapes for the fields of a registered class."""
    if type(shapes) is not list:
        raise ValueError(f"Node type mismatch; expected {list}, but got {_type_of(shapes) or type(shapes)}.")
    if len(shapes) != len(keys):
        raise ValueError(f"Node arity mismatch; expected {len(keys)}, but got {len(shapes)}.")
    return shapes


def _leaves(path: tuple, value: Any, shapes: Any) -> Iterator[tuple[tuple, Any, Any]]:
    """(path, leaf, its shape) in flat order."""
    inside = _children(value)
    if inside is None:
        yield path, value, shapes
        return
    kind, keys, items = inside
    builtin = kind in pytree.BUILTIN_TYPES
    below = _in_container(path, kind, keys, shapes) if builtin else _in_class(keys, shapes)
    for key, item, shape in zip(keys, items, below, strict=True):
        yield from _leaves((*path, key), item, shape)


def _readable(dim: Dim) -> str:
    """A definition with its bounds; those that every size has are left out."""
    low, high = dim._bounds
    bounds = [f"min={low}"] * (low != 2) + [f"max={high}"] * (high != sys.maxsize)
    return f"Dim({', '.join([repr(dim.__name__), *bounds])})"


def _wanted() -> str:
    """The entries of shapes that errors name."""
    return f"an int, a Dim, Dim.AUTO, {'Dim.STATIC, or Dim.DYNAMIC' if level().mixed_dims else 'or Dim.STATIC'}"


class _Reader:
    """Reads the shapes of tensors and remembers the definitions of names."""

    def __init__(self, lenient: bool) -> None:
        self.lenient = lenient
        self._seen: dict[str, Dim] = {}
        self._automatic = False

    def check_mixture(self) -> None:
        """UserError: some sizes are as the program allows, others are declared, which 2.5 does not take."""
        if not (self._automatic and self._seen) or level().mixed_dims:
            return
        raise UserError(
            UserErrorType.INVALID_INPUT,
            "Specifying both `Dim.AUTO` and `Dim` or `DerivedDim` in `dynamic_shapes` is not well supported at the "
            "moment, and can easily lead to constraint violation errors or obscure errors in torch.export. "
            "Dim/DerivedDims expect all equal or related dimensions to be specified, and does not yet compose well "
            "with `Dim.AUTO`. We suggest using `Dim.AUTO` mixed with `None` for auto-dynamic + static shapes, plus "
            "torch._check(dim >= min), torch._check(dim <= max) calls in your program to specify min/max ranges, or "
            "`Dim`/`DerivedDim` mixed with `None` if you want to assert on the exact specification of your program's "
            "dynamic shapes behavior.",
            case_name="dynamic_shapes_validation",
        )

    def _entry(self, dim: Any, which: str, shape: Any, at: str) -> Any:
        if dim is None or type(dim) is int:
            return dim
        if isinstance(dim, _Hint):
            self._automatic |= dim is Dim.AUTO
            return dim.entry
        if not isinstance(dim, Dim):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"Unexpected dimension {which} in input tensor shape {_shown(shape)} specified at `{at}` (expected "
                f"None, {_wanted()}, but got {dim} instead)",
                case_name="dynamic_shapes_validation",
            )
        root = dim.root
        known = self._seen.setdefault(root.__name__, root)
        if known._bounds != root._bounds:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"Found different definitions {_readable(known)} and {_readable(root)} for the same symbolic "
                f"dimension {root._as_class()}!",
            )
        _ = dim.min  # its own error for a negative derived size
        return dim._entry()

    def _has_dim(self, tensor: Tensor, index: Any, where: str) -> bool:
        """Whether the tensor has such a dimension. An export for inference rejects one that it does not have."""
        if type(index) is not int:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"Unexpected key {index!r} in the shape specified at `{where}` (expected the index of a dimension)",
                case_name="dynamic_shapes_validation",
            )
        if 0 <= index < tensor.dim():
            return True
        if self.lenient:
            warnings.warn(
                f"`{where}` names dimension {index} of a tensor that has {tensor.dim()}; it is ignored", stacklevel=2
            )
            return False
        if tensor.dim() < 1:
            raise UserError(UserErrorType.DYNAMIC_DIM, "Cannot mark 0-dimension tensors to be dynamic")
        raise UserError(
            UserErrorType.DYNAMIC_DIM,
            f"Expected the dimension passed to dynamic_dim to be in the range [0:{tensor.dim() - 1}] but got "
            f"{index}, which is out of bounds for the given tensor.",
        )

    def shape(self, path: tuple, leaf: Any, shape: Any) -> tuple | None:
        """The entries of one tensor; None: all static."""
        at = f"dynamic_shapes{_where(path)}"
        if not isinstance(leaf, Tensor):
            if shape is not None:
                raise UserError(
                    UserErrorType.INVALID_INPUT,
                    f"Cannot associate shape {_shown(shape)} specified at `{at}` to non-tensor type {type(leaf)} at "
                    f"`inputs{_where(path)}` (expected None)",
                    case_name="dynamic_shapes_validation",
                )
            return None
        if shape is None:
            return None
        entries: list[Any] = [None] * leaf.dim()
        if isinstance(shape, dict):
            for i, dim in shape.items():
                entry = self._entry(dim, f"mapped to index {i}", shape, at)
                if self._has_dim(leaf, i, at):
                    entries[i] = entry
        elif isinstance(shape, (tuple, list)):
            for i, dim in enumerate(shape):
                entry = self._entry(dim, f"#{i}", shape, at)
                if self._has_dim(leaf, i, at):
                    entries[i] = entry
            if len(shape) < leaf.dim():
                raise UserError(
                    UserErrorType.INVALID_INPUT,
                    f"Expected a dimension for each of the {leaf.dim()} dimensions of `inputs{_where(path)}`, but the "
                    f"shape {_shown(shape)} specified at `{at}` has {len(shape)}",
                    case_name="dynamic_shapes_validation",
                )
        else:
            text = shape if isinstance(shape, str) else _shown(shape)
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"Unexpected input tensor shape {text} specified at `{at}` (expected either a list/tuple of "
                f"dimensions, or a dict mapping indices to dimensions, where each dimension is {_wanted()})",
                case_name="dynamic_shapes_validation",
            )
        return tuple(entries) if any(e is not None for e in entries) else None


def _by_name(combined: dict[str, Any], shapes: Any) -> dict[str, Any]:
    """The shapes of each argument."""
    if isinstance(shapes, dict):
        names = list(combined)
        if sorted(map(str, shapes)) != sorted(names):
            text = (
                f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {names} of "
                f"`inputs`, but here they are {list(shapes)}. "
            )
            if len(names) == 1 and isinstance(combined[names[0]], dict):
                text += (
                    "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose "
                    "`dynamic_shapes` in a list/tuple?"
                )
            else:
                text += (
                    "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a "
                    "list/tuple matching `inputs`."
                )
            raise UserError(UserErrorType.INVALID_INPUT, text, case_name="dynamic_shapes_validation")
        return shapes
    if isinstance(shapes, (list, tuple)):
        if len(shapes) != len(combined):
            raise _mismatch((), f"has {len(combined)} elements", f"has {len(shapes)} elements")
        return dict(zip(combined, shapes, strict=True))
    raise UserError(
        UserErrorType.INVALID_INPUT,
        f"Expected dynamic_shapes to be a dict, a list, a tuple or a ShapesCollection, but got {type(shapes)}",
        case_name="dynamic_shapes_validation",
    )


def read_shapes(
    f: Any, args: tuple, kwargs: dict[str, Any], shapes: Any, lenient: bool = False
) -> dict[tuple, tuple | None]:
    """The entries of each tensor by its path (parameter, key, index, ...); what is static may be absent. lenient: a
    dimension that a tensor does not have is ignored, as exports for training do."""
    if isinstance(shapes, ShapesCollection):
        shapes = shapes.dynamic_shapes(f, args, kwargs)
    if shapes is None or (isinstance(shapes, (dict, list, tuple)) and len(shapes) == 0):
        return {}
    combined = combine_args(f, args, kwargs)
    reader = _Reader(lenient)
    by_name = _by_name(combined, shapes)
    positional = isinstance(shapes, (list, tuple))
    leaves = [
        (name, *leaf)
        for i, (name, value) in enumerate(combined.items())
        for leaf in _leaves((i if positional else name,), value, by_name[name])
    ]  # all of them first: a wrong structure is the error that counts
    found = {(name, *path[1:]): reader.shape(path, leaf, shape) for name, path, leaf, shape in leaves}
    reader.check_mixture()
    return found


def shapes_of_constraints(constraints: list[Constraint], leaves: list[Any]) -> list[tuple | None]:
    """The entries of marked dimensions (dynamic_dim), each its own name."""
    out: list[list[Any] | None] = [None] * len(leaves)
    for number, mark in enumerate(constraints):
        for i, leaf in enumerate(leaves):
            if leaf is not mark.tensor:
                continue
            entries = out[i] or [None] * leaf.dim()
            entries[mark.dim] = f"_dim{number}", mark.min, None if mark.max == sys.maxsize else mark.max
            out[i] = entries
    return [None if entries is None else tuple(entries) for entries in out]


def shape_constraints(inputs: list[Any], shapes: dict[tuple, tuple | None]) -> list[dict[str, Any]]:
    """The dynamic dimensions one by one: which input, which dimension, its bounds."""
    out = []
    for number, given in enumerate(inputs):
        for dim, entry in enumerate(shapes.get(given.path) or ()):
            if entry is None or type(entry) is int:
                continue
            low, high = (entry[-2], entry[-1]) if type(entry) is tuple and len(entry) == 3 else (0, None)
            out.append({"input": number, "name": given.name, "dim": dim, "min": low, "max": high})
    return out


# The reverse: fixes that an error suggests


def map_dims(tree: Any, fn: Callable[[Any], Any]) -> Any:
    """A tree of dims with fn of each entry in its place."""
    if isinstance(tree, dict):
        return {key: map_dims(value, fn) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_dims(value, fn) for value in tree)
    return fn(tree)


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """dynamic_shapes with the "Suggested fixes:" of a constraint violation applied."""
    fixes = _C.dim_fixes(msg)
    if not fixes:
        raise UserError(
            UserErrorType.INVALID_INPUT,
            "Suggested fixes not found in error message given to refine_dynamic_shapes_from_suggested_fixes()",
        )
    return apply_fixes(fixes, dynamic_shapes)


def automatic_dims(dynamic_shapes: Any) -> Any:
    """dynamic_shapes with whatever the program allows in place of dims."""
    return map_dims(dynamic_shapes, lambda dim: Dim.AUTO if isinstance(dim, Dim) or dim is Dim.DYNAMIC else dim)


def apply_fixes(found: list[tuple[str, Any]], dynamic_shapes: Any) -> Any:
    """dynamic_shapes with fixes: a number, (least, most) or (root, factor, term) by the name of a dim."""
    fixes = dict(found)
    made: dict[str, Any] = {}

    def root(name: str, like: Dim | None = None) -> Dim:
        if name not in made:
            bounds = fixes.get(name)
            if isinstance(bounds, tuple) and len(bounds) == 2:
                made[name] = Dim(name, min=bounds[0], max=bounds[1])
            else:
                made[name] = like if like is not None else Dim(name)
        return made[name]

    def fixed(dim: Any) -> Any:
        if not isinstance(dim, Dim):
            return dim
        fix = fixes.get(dim.__name__)
        if fix is None and dim._derived():
            base = fixed(dim.root)
            return dim._factor * base + dim._term
        if isinstance(fix, int):
            return fix
        if isinstance(fix, tuple) and len(fix) == 3:
            name, factor, term = fix
            return factor * root(name, seen.get(name)) + term
        return root(dim.__name__, dim)

    def collect(dim: Any) -> None:
        if isinstance(dim, Dim):
            seen.setdefault(dim.root.__name__, dim.root)

    seen: dict[str, Dim] = {}
    map_dims(dynamic_shapes, collect)
    return map_dims(dynamic_shapes, fixed)


_combine_args = combine_args  # PyTorch's name
