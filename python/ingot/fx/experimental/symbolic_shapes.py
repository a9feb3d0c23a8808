# SPDX-License-Identifier: Apache-2.0
"""The environment of symbolic sizes, and its errors."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import logging
import operator
import re
import typing
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from ingot import _C
from ingot._C import ConstraintViolationError, GuardOnDataDependentSymNode
from ingot.fx.experimental._guard_texts import GuardTexts

__all__ = [
    "Constraint", "ConstraintViolationError", "DimDynamic", "EqualityConstraint", "GuardOnDataDependentSymNode",
    "RelaxedUnspecConstraint", "RuntimeAssert", "ShapeEnv", "ShapeEnvSettings", "ShapeGuard",
    "StatefulSymbolicContext", "StatelessSymbolicContext", "StrictMinMaxConstraint", "SymbolicContext", "bind_symbols",
    "cast_symbool_to_symint_guardless", "constrain_range", "constrain_unify", "definitely_false", "definitely_true",
    "eval_guards", "expect_true", "free_symbols", "is_accessor_node",
    "free_unbacked_symbols", "fx_placeholder_targets", "fx_placeholder_vals", "guard_bool", "guard_float",
    "guard_int", "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious", "has_free_symbols",
    "has_hint", "hint_int", "is_concrete_bool", "is_concrete_float", "is_concrete_int", "is_symbolic", "parallel_and",
    "parallel_or", "statically_known_false", "statically_known_true", "sym_eq",
]  # fmt: skip

_SYMBOLIC = SymTypes = (_C.SymInt, _C.SymFloat, _C.SymBool)
SymNode = _C.SymNode
log = logging.getLogger("torch.fx.experimental.symbolic_shapes")


class DimDynamic(enum.Enum):
    """How a size becomes a symbol."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    SIZE_LIKE_UNBACKED = 3
    INFER_STRIDE = 4
    OBLIVIOUS_SIZE = 5


class SymbolicContext:
    """How a tensor's sizes become symbols."""


@dataclasses.dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """One kind and one constraint per dimension."""

    dynamic_sizes: list[DimDynamic]
    dynamic_strides: list[DimDynamic] = None  # type: ignore[assignment]
    constraint_sizes: list[Any] = None  # type: ignore[assignment]
    constraint_strides: list[Any] = None  # type: ignore[assignment]
    view_base_context: SymbolicContext | None = None

    def __post_init__(self) -> None:
        n = len(self.dynamic_sizes)
        for field, entry in (
            ("dynamic_strides", DimDynamic.INFER_STRIDE), ("constraint_sizes", None), ("constraint_strides", None)
        ):  # fmt: skip
            if getattr(self, field) is None:
                object.__setattr__(self, field, [entry] * n)


@dataclasses.dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """The same for a tensor of a source, with the symbols that environments made for it."""

    tensor_source: Any = None
    shape_env_to_source_to_symbol_cache: dict[int, dict[str, Any]] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tensor_source is None:
            raise AssertionError("a StatefulSymbolicContext needs a tensor_source")
        if self.shape_env_to_source_to_symbol_cache is None:
            object.__setattr__(self, "shape_env_to_source_to_symbol_cache", {})


@dataclasses.dataclass(frozen=True)
class SubclassSymbolicContext(StatefulSymbolicContext):
    """The same for a tensor that holds others, each of which has a context of its own."""

    inner_contexts: dict[str, SymbolicContext] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inner_contexts is None:
            object.__setattr__(self, "inner_contexts", {})


@dataclasses.dataclass(frozen=True)
class Constraint:
    """What a user requires of a size."""

    warn_only: bool


@dataclasses.dataclass(frozen=True)
class StrictMinMaxConstraint(Constraint):
    """A size that works for a whole range."""

    vr: Any

    def render(self, source: Any) -> str:
        return f"{self.vr.lower} <= {source.name()} <= {self.vr.upper}"


@dataclasses.dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """A size that is not a constant."""

    def render(self, source: Any) -> str:
        return f"RelaxedUnspecConstraint({source.name()})"


@dataclasses.dataclass(frozen=True)
class EqualityConstraint(Constraint):
    """Sizes that are equal, or derived from others."""

    source_pairs: list[tuple[Any, Any]]
    derived_equalities: list[tuple[Any, Any, Any]]
    phantom_symbols: list[Any]


def is_symbolic(val: Any) -> bool:
    """Whether a number is an expression of symbols."""
    return isinstance(val, _SYMBOLIC) and not _is_constant(val)


def _is_constant(val: Any) -> bool:
    node = val.node
    return any(f() is not None for f in (node.maybe_as_int, node.maybe_as_float, node.maybe_as_bool))


def has_hint(a: Any) -> bool:
    """Whether the value of the example is known."""
    return a.node.has_hint() if isinstance(a, _SYMBOLIC) else True


def hint_int(a: Any, fallback: int | None = None) -> int:
    """The value of the example, without a guard."""
    if not isinstance(a, _C.SymInt):
        if type(a) is not int:
            raise AssertionError(f"expected an int, found {type(a)}")
        return a
    return a.node.require_hint(fallback) if fallback is not None and not has_hint(a) else a.node.require_hint()


def guard_bool(a: Any) -> bool:
    return bool(a)


def guard_int(a: Any) -> int:
    return int(a)


def guard_float(a: Any) -> float:
    return float(a)


def guard_scalar(a: Any) -> bool | int | float:
    """A plain number: a guard makes a symbolic one it."""
    if isinstance(a, (bool, _C.SymBool)):
        return guard_bool(a)
    if isinstance(a, (int, _C.SymInt)):
        return guard_int(a)
    if isinstance(a, (float, _C.SymFloat)):
        return guard_float(a)
    raise AssertionError(f"unrecognized scalar {a}")


def _known(x: Any) -> bool | None:
    """What is known of a condition without a guard."""
    return _C.sym_known(x) if isinstance(x, _C.SymBool) else bool(x)


def statically_known_true(x: Any) -> bool:
    return _known(x) is True


def statically_known_false(x: Any) -> bool:
    return _known(x) is False


def definitely_true(a: Any) -> bool:
    """Whether a condition holds; of a condition on data nobody knows that."""
    return (not isinstance(a, _C.SymBool) or has_hint(a)) and guard_bool(a)


def definitely_false(a: Any) -> bool:
    """Whether a condition does not hold; of a condition on data nobody knows that."""
    return (not isinstance(a, _C.SymBool) or has_hint(a)) and not bool(a)


def guard_or_false(a: Any) -> bool:
    """Whether a condition holds; one on data that could hold or not does not."""
    return statically_known_true(a) if isinstance(a, _C.SymBool) and not has_hint(a) else guard_bool(a)


def guard_or_true(a: Any) -> bool:
    """Whether a condition could hold."""
    return not statically_known_false(a) if isinstance(a, _C.SymBool) and not has_hint(a) else guard_bool(a)


def guard_size_oblivious(expr: Any) -> bool:
    """A condition on sizes, where a size from data counts as neither 0 nor 1."""
    if isinstance(expr, _C.SymBool):
        return _C.sym_guard_size(expr)
    if not isinstance(expr, bool):
        raise AssertionError(f"expected a condition, found {expr!r}")
    return expr


def expect_true(a: Any, skip: int = 0) -> bool:
    """A condition that must hold: it becomes a runtime assertion if it is on data."""
    return _C.sym_check(a, None) if isinstance(a, _C.SymBool) else bool(a)


def is_concrete_int(a: Any) -> bool:
    if not isinstance(a, (int, _C.SymInt)):
        raise AssertionError
    return isinstance(a, int) or (isinstance(a, _C.SymInt) and a.node.maybe_as_int() is not None)


def is_concrete_float(a: Any) -> bool:
    if not isinstance(a, (float, _C.SymFloat)):
        raise AssertionError
    return isinstance(a, float) or (isinstance(a, _C.SymFloat) and a.node.maybe_as_float() is not None)


def is_concrete_bool(a: Any) -> bool:
    if not isinstance(a, (bool, _C.SymBool)):
        raise AssertionError
    return isinstance(a, bool) or (isinstance(a, _C.SymBool) and a.node.maybe_as_bool() is not None)


def sym_eq(x: Any, y: Any) -> Any:
    """Equality of numbers, or of sequences of them, without a guard."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        if len(x) != len(y):
            return False
        result: Any = True
        for a, b in zip(x, y, strict=True):
            same = sym_eq(a, b)
            result = same if result is True else (result & same if not isinstance(same, bool) else result and same)
        return result
    if isinstance(x, (int, _C.SymInt)) and isinstance(y, (int, _C.SymInt)):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


def parallel_or(*args: Any) -> bool:
    """Whether one of the conditions holds; those that are known are asked first."""
    if any(statically_known_true(a) for a in args):
        return True
    return any(bool(a) for a in args)


def parallel_and(*args: Any) -> bool:
    if any(statically_known_false(a) for a in args):
        return False
    return all(bool(a) for a in args)


def constrain_range(a: Any, *, min: int | None = None, max: int | None = None) -> None:
    """The range of a number from data."""
    from ingot.utils._sympy.numbers import int_oo
    from ingot.utils._sympy.value_ranges import ValueRanges

    low = -int_oo if min is None else min
    high = int_oo if max is None else max
    if high < low:
        raise ValueError(
            "Maximum value to constrain_as_size can't be less than the specified min value, received "
            f"min={low} and max={high}"
        )
    if isinstance(a, int):
        if not low <= a <= high:
            raise ValueError(f"Invalid value {a} for range [{low}:{high}]")
        return
    if isinstance(a, (_C.SymFloat, _C.SymBool)):
        raise AssertionError("only integers have a range to constrain")
    known = ShapeEnv._of(a.node.shape_env).bound_sympy(a.node.expr)
    _ = known & ValueRanges(low, high)  # ValueRangeError: nothing is left
    if not _C.capture_is_open():
        hint = a.node.hint if a.node.has_hint() else None
        if hint is not None and not low <= hint <= high:
            raise AssertionError(f"{hint} not in VR[{low}, {high}]")
        for condition in ([] if min is None else [a >= min]) + ([] if max is None else [a <= max]):
            expect_true(condition)
        return
    import ingot

    ingot.ops.aten.sym_constrain_range.default(a, min=min, max=max)


def constrain_unify(a: Any, b: Any) -> None:
    """Two numbers that are the same."""
    if isinstance(a, int) and isinstance(b, int):
        if a != b:
            raise AssertionError(f"{a} and {b} are not the same number")
        return
    expect_true(a == b)


def cast_symbool_to_symint_guardless(symbool: Any) -> Any:
    """1 or 0, without a guard."""
    import ingot

    return int(symbool) if isinstance(symbool, bool) else ingot.sym_int(symbool)


def is_accessor_node(node: Any) -> bool:
    """Whether a node reads a size, a stride or the offset of a tensor that the program received or computed."""
    import ingot

    if node.op == "call_method":
        value = node.args[0].meta.get("example_value", node.args[0].meta.get("val"))
        return isinstance(value, _C.Tensor) and node.target in ("size", "stride", "storage_offset", "item")
    aten = ingot.ops.aten
    readers = (aten.sym_size, aten.sym_size.default, aten.sym_size.int, aten.sym_stride, aten.sym_stride.default,
               aten.sym_stride.int, aten.sym_storage_offset, aten.sym_storage_offset.default)  # fmt: skip
    return node.op == "call_function" and node.target in readers


def _constrain_range_for_size(a: Any, min: int | None = None, max: int | None = None) -> None:
    """The range of a number from data that is used as a size."""
    if isinstance(a, (_C.SymFloat, _C.SymBool)):
        raise ValueError("Constraining SymFloat/SymBool is nyi")
    import ingot

    ingot.ops.aten.sym_constrain_range_for_size.default(a, min=min, max=max)


def _symbols(value: Any) -> Iterator[Any]:
    from ingot.utils._pytree import tree_leaves

    for leaf in tree_leaves(value):
        if isinstance(leaf, _C.Tensor):
            yield from _symbols([*leaf.shape, *leaf.stride(), leaf.storage_offset()])
        elif isinstance(leaf, _SYMBOLIC):
            yield from getattr(leaf.node.expr, "free_symbols", ())
        elif hasattr(leaf, "free_symbols"):
            yield from leaf.free_symbols
        elif leaf is not None and not isinstance(leaf, (int, float, bool)):
            raise AssertionError(f"cannot extract sympy expressions from {leaf} {type(leaf)}")


def free_symbols(val: Any) -> set[Any]:
    """The symbols in numbers, expressions, and the sizes of tensors."""
    return set(_symbols(val))


def has_free_symbols(val: Any) -> bool:
    return next(_symbols(val), None) is not None


def free_unbacked_symbols(x: Any) -> set[Any]:
    """Those that stand for data."""
    return {s for s in _symbols(x) if str(s).startswith(("u", "zuf"))}


def has_symbolic_sizes_strides(elem: Any) -> bool:
    """Whether a size, a stride or the offset of a tensor is symbolic."""
    numbers = (*elem.shape, *elem.stride(), elem.storage_offset())
    return any(isinstance(n, _C.SymInt) for n in numbers)


def create_contiguous(shape: Any) -> list[Any]:
    """Products of the sizes in front of the last one, as PyTorch 2.5 computes them."""
    strides: list[Any] = [1]
    for size in reversed(shape[:-1]):
        strides.append(size * strides[-1])
    return strides[::-1]


def is_nested_int(s: Any) -> bool:
    """Whether a number stands for the sizes of a ragged dim; nothing here makes such numbers."""
    return False


def is_symbol_binding_fx_node(node: Any) -> Any:
    """The symbol that a node is the first to have: an input, or a number read from data; None for other nodes."""
    value = node.meta.get("val")
    if not isinstance(value, _C.SymInt) or not value.node.expr.is_symbol:
        return None
    fresh = not value.node.has_hint() and node.op == "call_function"
    return value.node.expr if node.op == "placeholder" or fresh else None


def find_symbol_binding_fx_nodes(graph: Any) -> dict[Any, Any]:
    """The nodes that bind the symbols of a graph, by symbol."""
    found: dict[Any, Any] = {}
    for node in graph.nodes:
        symbol = is_symbol_binding_fx_node(node)
        if symbol is not None:
            found.setdefault(symbol, node)
    return found


@dataclasses.dataclass(frozen=True)
class ConvertIntKey:
    """A step of a path: the integer of a truth value."""

    def __str__(self) -> str:
        return ".cast_symbool_to_symint_guardless()"

    def get(self, b: Any) -> Any:
        return cast_symbool_to_symint_guardless(b)


@dataclasses.dataclass(frozen=True)
class CallMethodKey:
    """A step of a path: the result of a method."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}()"

    def get(self, o: Any) -> Any:
        return getattr(o, self.name)()


@dataclasses.dataclass(frozen=True)
class InnerTensorKey:
    """A step of a path: a tensor that another one holds."""

    inner_name: str

    def __str__(self) -> str:
        return f".{self.inner_name}"

    def get(self, o: Any) -> Any:
        return getattr(o, self.inner_name)


@dataclasses.dataclass(frozen=True)
class DivideByKey:
    """A step of a path: the number divided by another one."""

    divisor: Any

    def __str__(self) -> str:
        return f".__floordiv__({self.divisor})"

    def get(self, o: int) -> int:
        return o // self.divisor


def fx_placeholder_vals(gm: Any) -> list[Any]:
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm: Any) -> list[str]:
    return [n.target for n in gm.graph.nodes if n.op == "placeholder"]


def bind_symbols(gm: Any, *args: Any) -> dict[Any, int]:
    """The symbols of a graph's inputs and the numbers that these inputs have in their places."""
    found: dict[Any, int] = {}
    for known, value in zip(fx_placeholder_vals(gm), args, strict=False):
        if not isinstance(known, _C.Tensor):
            continue
        for size, actual in zip(known.shape, value.shape, strict=True):
            if is_symbolic(size) and size.node.expr not in found and str(size.node.expr).isidentifier():
                found[size.node.expr] = int(actual)
    return found


# The functions that expressions are printed with.
_FUNCTIONS = {
    "Eq": operator.eq, "Ne": operator.ne, "Mod": operator.mod, "PythonMod": operator.mod, "Max": max, "Min": min,
    "And": lambda *a: all(a), "Or": lambda *a: any(a), "Not": operator.not_, "ToFloat": float,
}  # fmt: skip


def eval_guards(gm: Any, *args: Any, ignore_static: bool = True) -> bool:
    """Whether these inputs have the sizes that the graph was traced for: equal where it has one symbol, the numbers
    that it has where it has none."""
    bound = {str(k): v for k, v in bind_symbols(gm, *args).items()}
    for known, value in zip(fx_placeholder_vals(gm), args, strict=False):
        if not isinstance(known, _C.Tensor):
            continue
        if known.ndim != value.ndim:
            return False
        for size, actual in zip(known.shape, value.shape, strict=True):
            if not is_symbolic(size):
                if not ignore_static and size != actual:
                    return False
            elif eval(str(size.node.expr), {"__builtins__": {}}, dict(bound)) != actual:  # noqa: S307 (our own text)
                return False
    env = getattr(gm, "shape_env", None)
    guards = env._guards() if env is not None else []
    return all(bool(eval(str(e), {"__builtins__": {}, **_FUNCTIONS}, dict(bound)))  # noqa: S307 (our own text)
               for e in guards if all(str(s) in bound for s in e.free_symbols))  # fmt: skip


class ShapeGuard(NamedTuple):
    """A condition on sizes that holds for all inputs of a program."""

    expr: Any
    stack: Any = None


@dataclasses.dataclass(frozen=True)
class RuntimeAssert:
    """A condition on data that the program checks."""

    expr: Any
    msg: str = dataclasses.field(default="", repr=False)
    stack: Any = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True)
class ShapeEnvSettings:
    """How an environment was made."""

    allow_scalar_outputs: bool = True
    allow_dynamic_output_shape_ops: bool = True
    assume_static_by_default: bool = False
    specialize_zero_one: bool = True
    duck_shape: bool = True
    prefer_deferred_runtime_asserts_over_guards: bool = False
    allow_complex_guards_as_runtime_asserts: bool = False


class ShapeEnv(_C.ShapeEnv):
    """Symbols of one or several programs, and what is known about them."""

    def __new__(cls, same: Any = None, **options: Any) -> ShapeEnv:
        return super().__new__(cls) if same is None else super().__new__(cls, same)

    def __init__(
        self,
        same: Any = None,
        *,
        tracked_fakes: list[Any] | None = None,
        should_record_events: bool | None = None,
        duck_shape: bool | None = None,
        **options: Any,
    ) -> None:
        for name in options:
            if name not in ShapeEnvSettings.__dataclass_fields__:
                raise TypeError(f"ShapeEnv._init() got an unexpected keyword argument '{name}'")
        self.tracked_fakes = tracked_fakes
        self.settings = ShapeEnvSettings(duck_shape=duck_shape is not False, **options)
        self.specialize_zero_one = self.settings.specialize_zero_one
        self.assume_static_by_default = self.settings.assume_static_by_default
        self.allow_scalar_outputs = self.settings.allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = self.settings.allow_dynamic_output_shape_ops
        self.duck_shape = self.settings.duck_shape
        self.frozen = False
        self.val_to_var: dict[int, Any] = {}
        self.var_to_val: dict[Any, int] = {}
        self.source_to_var: dict[str, Any] = {}
        self.var_to_sources: dict[Any, list[Any]] = {}
        self._unbacked: list[Any] = []
        self._forgotten: set[int] = set()
        ShapeEnv._known.setdefault(self._key, self)

    # The object of each environment of the engine, as long as somebody has it.
    _known: typing.ClassVar[weakref.WeakValueDictionary[int, ShapeEnv]] = weakref.WeakValueDictionary()

    @staticmethod
    def _of(env: Any) -> ShapeEnv:
        """An environment of the engine with the methods of this class."""
        if isinstance(env, ShapeEnv):
            return env
        found = ShapeEnv._known.get(env._key)
        return ShapeEnv(env) if found is None else found

    # ---- symbols

    def create_symbol(
        self,
        val: int,
        source: Any = None,
        dynamic_dim: DimDynamic = DimDynamic.DUCK,
        constraint_dim: Any = None,
        positive: bool | None = True,
        do_not_specialize_zero_one: bool = False,
        symbolic_context: Any = None,
    ) -> Any:
        """The expression of an input's size: a number, a symbol, or the one of an equal size."""
        if self.specialize_zero_one and not do_not_specialize_zero_one and val in (0, 1):
            return val
        if dynamic_dim is DimDynamic.STATIC:
            return val
        if dynamic_dim is DimDynamic.SIZE_LIKE_UNBACKED:
            return self.create_unbacked_symint().node.expr
        duck = dynamic_dim is DimDynamic.DUCK and self.duck_shape
        if duck and val in self.val_to_var:
            return self.val_to_var[val]
        low = -(2**63) if not positive else 2 if self.specialize_zero_one and not do_not_specialize_zero_one else 0
        symbol = self._new_symbol(val, low, None).node.expr
        self.var_to_val[symbol] = val
        self.var_to_sources[symbol] = [source]
        if duck:
            self.val_to_var[val] = symbol
        return symbol

    def _fake(self, tensor: Any, source: Any, context: Any) -> Any:
        """A tensor without elements whose sizes are symbols, of the kinds that the context says."""
        kinds = [DimDynamic.DUCK] * tensor.dim() if context is None else context.dynamic_sizes
        shared = {val: self._number(symbol) for val, symbol in self.val_to_var.items()}
        tables: list[dict | None] = []
        for kind in kinds:
            duck = kind is DimDynamic.DUCK and self.duck_shape
            tables.append(None if kind is DimDynamic.STATIC else shared if duck else {})
        fake = _C.fake_from_tensor(self, tensor, tuple(tables))
        for table in tables:
            for val, number in (table or {}).items():
                symbol = number.node.expr
                if symbol in self.var_to_val:
                    continue
                self.var_to_val[symbol] = val
                self.var_to_sources[symbol] = [] if source is None else [source]
                if table is shared:
                    self.val_to_var[val] = symbol
        return fake

    def create_unspecified_symbol(
        self, val: int, source: Any = None, dynamic_dim: DimDynamic = DimDynamic.DUCK, constraint_dim: Any = None,
        symbolic_context: Any = None,
    ) -> Any:  # fmt: skip
        """The expression of an input that is a number: nothing is known about it."""
        return self.create_symbol(val, source, dynamic_dim, constraint_dim, positive=None,
                                  do_not_specialize_zero_one=True)  # fmt: skip

    def create_symintnode(self, sym: Any, *, hint: int | None = None, source: Any = None) -> Any:
        """The number that an expression describes."""
        return sym if isinstance(sym, int) else self._number(sym)

    create_symboolnode = create_symfloatnode = create_symintnode

    def create_unspecified_symint_and_symbol(self, value: int, source: Any, dynamic_dim: DimDynamic) -> Any:
        return self.create_symintnode(self.create_unspecified_symbol(value, source, dynamic_dim), hint=value)

    def create_unbacked_symint(self) -> Any:
        """A number that is read from data."""
        number = super().create_unbacked_symint()
        self._unbacked.append(number.node.expr)
        return number

    def create_unbacked_symfloat(self) -> Any:
        """A floating-point number that is read from data."""
        number = super().create_unbacked_symfloat()
        self._unbacked.append(number.node.expr)
        return number

    def create_unbacked_symbool(self) -> Any:
        """A truth value that is read from data: a number that is 0 or 1."""
        number = self.create_unbacked_symint()
        constrain_range(number, min=0, max=1)
        return number == 1

    def create_symbolic_sizes_strides_storage_offset(
        self, ex: Any, source: Any = None, *, symbolic_context: Any = None
    ) -> tuple[tuple, tuple, Any]:
        """Sizes and strides of a tensor as symbols; strides are products of sizes where they can be."""
        dims = [DimDynamic.DUCK] * ex.dim() if symbolic_context is None else symbolic_context.dynamic_sizes
        if len(dims) != ex.dim():
            raise AssertionError(f"{len(dims)} != {ex.dim()}")
        sizes = [
            self.create_symintnode(self.create_symbol(int(n), source, kind), hint=int(n))
            for n, kind in zip(ex.shape, dims, strict=True)
        ]
        known = {1: 1}
        strides: list[Any] = [None] * ex.dim()
        for stride, d in sorted((int(s), -d) for d, s in enumerate(ex.stride())):
            at = -d
            value = known.get(stride)
            if value is None:
                value = self.create_symintnode(self.create_symbol(stride, source), hint=stride)
            strides[at] = value
            known.setdefault(int(ex.shape[at]) * stride, sizes[at] * value)
        offset = int(ex.storage_offset())
        return tuple(sizes), tuple(strides), self.create_symintnode(self.create_symbol(offset, source), hint=offset)

    # ---- what is known

    @property
    def guards(self) -> list[ShapeGuard]:
        return [ShapeGuard(e) for i, e in enumerate(self._guards()) if i not in self._forgotten]

    @property
    def deferred_runtime_asserts(self) -> dict[Any, list[RuntimeAssert]]:
        """Assertions, by the symbol whose value they need last."""
        found: dict[Any, list[RuntimeAssert]] = {}
        for expr in self._asserts():
            late = [s for s in expr.free_symbols if s not in self.var_to_val]
            last = max(late, key=lambda s: int(re.sub(r"\D", "", str(s)) or 0), default=None)
            found.setdefault(last, []).append(RuntimeAssert(expr))
        return found

    @property
    def num_deferred_runtime_asserts(self) -> int:
        return len(self._asserts())

    @property
    def var_to_range(self) -> dict[Any, Any]:
        return {symbol: self.bound_sympy(symbol) for symbol in self._known_symbols()}

    @property
    def replacements(self) -> dict[Any, Any]:
        """Symbols that are known to be something else."""
        found = {s: self._number(s).node.expr for s in self._known_symbols()}
        return {s: e for s, e in found.items() if str(s) != str(e)}

    def _known_symbols(self) -> list[Any]:
        return [*self.var_to_val, *self._unbacked]

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> Any:
        """The range of an expression."""
        from ingot.utils._sympy.numbers import int_oo
        from ingot.utils._sympy.value_ranges import ValueRanges

        number = expr if isinstance(expr, int) else self._number(expr)
        if isinstance(number, int):
            return ValueRanges(number, number)
        if isinstance(number, _C.SymFloat):
            return ValueRanges.unknown()
        low, high = self._range(number)
        return ValueRanges(-int_oo if low is None else low, int_oo if high is None else high)

    def evaluate_expr(self, orig_expr: Any, hint: Any = None, fx_node: Any = None, **unused: Any) -> Any:
        """The value of an expression for the example inputs; a guard makes it hold."""
        return guard_scalar(self._number(orig_expr)) if hasattr(orig_expr, "free_symbols") else orig_expr

    def size_hint(self, expr: Any, *, allow_none: bool = False) -> Any:
        """The value of an expression for the example inputs, without a guard."""
        number = self._number(expr) if hasattr(expr, "free_symbols") else expr
        if not isinstance(number, _SYMBOLIC):
            return number
        if allow_none and not number.node.has_hint():
            return None
        return number.node.require_hint()

    def simplify(self, expr: Any) -> Any:
        number = self._number(expr) if hasattr(expr, "free_symbols") else expr
        return number.node.expr if isinstance(number, _SYMBOLIC) else number

    replace = simplify

    def is_unbacked_symint(self, symbol: Any) -> bool:
        number = self._number(symbol)
        return isinstance(number, _C.SymInt) and not number.node.has_hint()

    def get_nontrivial_guards(self) -> list[Any]:
        """Guards that do not follow from what the symbols are known to be."""
        return [e for e in map(self.simplify, self._guards()) if not isinstance(e, bool) and str(e) != "True"]

    def format_guards(self, verbose: bool = False) -> str:
        return "\n".join(f" - {guard.expr}" for guard in self.guards)

    def freeze(self) -> None:
        """No more guards are expected; those that come are recorded all the same."""
        self.frozen = True

    def freeze_runtime_asserts(self) -> None:
        """No more assertions of numbers from data are expected."""
        self.runtime_asserts_frozen = True

    @contextlib.contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """What is decided inside leaves no guards."""
        before = len(self._guards())
        try:
            yield
        finally:
            self._forgotten.update(range(before, len(self._guards())))

    def check_equal(self, other: ShapeEnv) -> None:
        """AssertionError unless both environments know the same."""
        for name in ("var_to_val", "replacements", "var_to_range"):
            mine, others = (str(getattr(env, name)) for env in (self, other))
            if mine != others:
                raise AssertionError(f"ShapeEnv not equal: field values don't match: {name}: {mine} != {others}")
        mine, others = ([str(g.expr) for g in env.guards] for env in (self, other))
        if mine != others:
            raise AssertionError(f"ShapeEnv not equal: field values don't match: guards: {mine} != {others}")

    # ---- guards as programs check them

    def produce_guards(
        self, placeholders: Any, sources: Any, *, ignore_static: bool = True, _simplified: bool = False, **unused: Any
    ) -> list[str]:
        """The guards as expressions of Python: what inputs must be for the program to be valid. Inputs are sources,
        or names of local variables. _simplified: only the conditions, without layouts and ranges."""
        names = [f"L[{source!r}]" if isinstance(source, str) else source.name() for source in sources]
        texts = GuardTexts(self, placeholders, names, ignore_static)
        return texts.simplified() if _simplified else texts.all()

    def produce_guards_expression(self, placeholders: Any, *, ignore_static: bool = True) -> str | None:
        """All guards in one expression about t0, t1, ...; None: there are none."""
        names = [f"t{i}" for i in range(len(placeholders))]
        return " and ".join(self.produce_guards(placeholders, names, ignore_static=ignore_static)) or None

    def evaluate_guards_expression(self, code: str, args: Any) -> bool:
        """Whether arguments satisfy what produce_guards_expression returned."""
        values = {f"t{i}": value for i, value in enumerate(args)}
        return bool(eval(code, {"__builtins__": {}, **_FUNCTIONS}, {"L": values}))  # noqa: S307 (our own text)

    def evaluate_guards_for_args(self, placeholders: Any, args: Any, *, ignore_static: bool = True) -> bool:
        code = self.produce_guards_expression(placeholders, ignore_static=ignore_static)
        return code is None or self.evaluate_guards_expression(code, args)

    def get_pruned_guards(self, symints: Any) -> list[ShapeGuard]:
        """The guards on nothing but the symbols of these numbers."""
        symbols = free_symbols(list(symints))
        return [guard for guard in self.guards if set(guard.expr.free_symbols) <= symbols]

    def bind_symbols(self, placeholders: Any, args: Any) -> dict[Any, int]:
        """The symbols of inputs and the numbers that arguments have in their places."""
        found: dict[Any, int] = {}
        for known, value in zip(placeholders, args, strict=True):
            pairs = zip(known.shape, value.shape, strict=True) if isinstance(known, _C.Tensor) else [(known, value)]
            for size, actual in pairs:
                if is_symbolic(size) and str(size.node.expr).isidentifier():
                    found.setdefault(size.node.expr, int(actual))
        return found

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        yield
