# SPDX-License-Identifier: Apache-2.0
"""torch.library: custom operators. The engine keeps schemas and implementations (ingot/library.h); here is the Python
interface for them: Library, define, impl, register_fake, custom_op, register_autograd."""

from __future__ import annotations

import contextlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ingot
from ingot import _C
from ingot._C import Tensor
from ingot._modes import no_grad

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autograd", "register_fake", "register_kernel", "register_vmap",
]  # fmt: skip

_KINDS = {
    "": "kernel", "cpu": "kernel", "default": "kernel", "compositeexplicitautograd": "kernel", "autograd": "autograd",
    "backendselect": "kernel", "compositeimplicitautograd": "composite", "autogradcpu": "autograd", "meta": "fake",
}  # fmt: skip


def fallthrough_kernel() -> None:
    """A dummy for Library.impl: the next implementation is used, which is what happens without it."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _parse_namespace(qualname: str) -> tuple[str, str]:
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def _overload(name: str) -> Any:
    """The OpOverload called "ns::name" or "ns::name.overload"; RuntimeError: it is not defined."""
    namespace, rest = _parse_namespace(name)
    base, _, overload = rest.partition(".")
    packet = _C._packet(namespace, base)
    found = getattr(packet, overload or "default", None) if packet is not None else None
    if not isinstance(found, _C.OpOverload):
        raise RuntimeError(f"operator {name} does not exist")
    return found


def _implement(overload: Any, key: str, fn: Callable) -> None:
    text = key.lower()
    if fn is fallthrough_kernel:
        return
    if text not in _KINDS:
        from ingot._dispatch_keys import DispatchKey

        if not any(text == name.lower() for name in DispatchKey.__members__):
            raise RuntimeError(f"Could not parse dispatch key: {key}")
        return  # another device, or a layer that is a mode here: accepted, never used
    _C.library_impl(overload, _KINDS[text], fn)
    if text == "compositeexplicitautograd" and not _C.library_has(overload, "fake"):
        _C.library_impl(overload, "fake", fn)


class Library:
    """Operators of one namespace: DEF makes the namespace, FRAGMENT adds to it, IMPL only implements."""

    _definers: typing.ClassVar[set[str]] = set()
    _implemented: typing.ClassVar[set[tuple[str, str]]] = set()  # (operator, dispatch key), as long as it stands

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        if ns in ("prim", "aten") and kind == "DEF" or ns == "prim":
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in Library._definers:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                    "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, "
                    "consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define "
                    "operators for a single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to "
                    "explicitly indicate this."
                )
            Library._definers.add(ns)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._defined: list[Any] = []
        self._places: list[tuple[str, str]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator by "name(Tensor x) -> Tensor" and returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            name = schema.partition("(")[0]
            raise RuntimeError(
                f'def("{name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s should be '
                "placed in the (unique) TORCH_LIBRARY block for their namespace."
            )
        tags = (tags,) if not isinstance(tags, (tuple, list)) else tags
        text = schema if "::" in schema.split("(")[0] else f"{self.ns}::{schema}"
        if text.split("::")[0] != self.ns:
            raise RuntimeError(f"{schema}: its namespace is not '{self.ns}', the namespace of the library")
        overload = _C.library_define(text, tags)
        self._defined.append(overload)
        return overload._schema.name.partition("::")[2]

    def _find(self, op_name: Any) -> Any:
        if isinstance(op_name, _C.OpOverload):
            return op_name
        if isinstance(op_name, _C.OpOverloadPacket):
            return op_name.default
        name = str(op_name)
        if "::" in name and name.split("::")[0] != self.ns:
            raise RuntimeError(f"{name}: its namespace is not '{self.ns}', the namespace of the library")
        return _overload(name if "::" in name else f"{self.ns}::{name}")

    def impl(self, op_name: Any, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Implements an operator for a dispatch key ("CPU", "Meta", "CompositeImplicitAutograd", ...)."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        run = (lambda *args, **kwargs: fn(None, *args, **kwargs)) if with_keyset else fn
        overload, key = self._find(op_name), dispatch_key or self.dispatch_key
        place = (overload.name(), key)
        if place in Library._implemented:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{overload.name().partition('::')[2].removesuffix('.default')}'s behavior for {key} dispatch key and "
                f"{self.ns} namespace."
            )
        _implement(overload, key, fn if fn is fallthrough_kernel else run)
        Library._implemented.add(place)
        self._places.append(place)

    def _register_fake(self, op_name: Any, fn: Callable, _stacklevel: int = 1) -> None:
        _C.library_impl(self._find(op_name), "fake", fn)

    def _destroy(self) -> None:
        """Its operators are not found any more."""
        for overload in self._defined:
            _C.library_undefine(overload)
        self._defined.clear()
        Library._implemented.difference_update(self._places)
        self._places.clear()
        if self.kind == "DEF":
            Library._definers.discard(self.ns)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


def define(qualname: Any, schema: str, *args: Any, lib: Library | None = None, tags: Any = ()) -> Any:
    """define("lib::name", "(Tensor x) -> Tensor"), or define(library, schema) as a decorator's first half."""
    if isinstance(qualname, Library):
        name = qualname.define(schema, *args, tags=tags)

        def wrap(fn: Callable) -> Callable:
            qualname.impl(name, fn)
            return fn

        return wrap
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    _parse_namespace(qualname)
    if not re.match(r"\s*\(.*\)\s*->", schema, re.S):
        raise ValueError(
            f"define(qualname, schema, ...): expected schema to look like e.g. \"(Tensor x) -> Tensor\" but got "
            f'"{schema}"'
        )
    tags = (tags,) if not isinstance(tags, (tuple, list)) else tags
    if lib is not None:
        lib.define(qualname + schema, tags=tags)
    else:
        _C.library_define(qualname + schema, tags)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """impl("lib::name", "cpu", fn), or as a decorator; or impl(library, name, dispatch_key="") as a decorator. Types
    are devices, or dispatch keys."""
    if isinstance(qualname, Library):
        key = func or ""

        def wrap_library(fn: Callable) -> Callable:
            qualname.impl(types, fn, key)
            return fn

        return wrap_library

    def wrap(fn: Callable) -> Callable:
        for key in (types,) if isinstance(types, str) else tuple(types):
            (_implement if lib is None else lambda o, k, f: lib.impl(o, f, k))(_overload(qualname), key, fn)
        return fn

    return wrap if func is None else wrap(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """The implementation for tensors on some devices; None: on all."""
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    name = op.name() if isinstance(op, _C.OpOverload) else op
    return impl(name, "default" if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: Any, func: Any = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> Any:
    """The operator's results for fake tensors; a decorator when func is None."""
    if isinstance(op, CustomOpDef):
        return op.register_fake(func) if func is not None else op.register_fake
    if not isinstance(op, (str, _C.OpOverload)):
        raise ValueError(f"register_fake({op}): got unexpected type for op: {type(op)}")

    def wrap(fn: Callable) -> Callable:
        overload = op if isinstance(op, _C.OpOverload) else _overload(op)
        before = _fakes.get(overload.name())
        if before is not None and before[0] is overload and not allow_override:
            raise RuntimeError(
                f"register_fake(...): the operator {overload.name().removesuffix('.default')} already has an fake impl "
                f"registered at {before[1]}."
            )
        _C.library_impl(overload, "fake", fn)
        code = getattr(inspect.unwrap(fn), "__code__", None) if callable(fn) else None
        place = f"{code.co_filename}:{code.co_firstlineno}" if code else "an unknown place"
        _fakes[overload.name()] = (overload, place)
        return fn

    return wrap if func is None else wrap(func)


# By name of the operator: the operator itself, since one of the same name may be defined later, and where it was given.
_fakes: dict[str, tuple[Any, str]] = {}


def impl_abstract(qualname: str, func: Any = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """The older name of register_fake."""
    return register_fake(qualname, func, lib=lib)


class FakeImplCtx:
    """What an implementation on fake tensors may ask for."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A new size that depends on data, at least min and at most max."""
        if isinstance(min, _C.SymInt) or isinstance(max, _C.SymInt):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints but "
                "got SymInt. This is not supported."
            )
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: this API can "
                "only create non-negative sizes."
            )
        size = _C.new_unbacked()
        ingot.sym_constrain_range_for_size(size, min=min, max=max)
        return size

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        return self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeImplCtx:
    """For use inside a function given to register_fake."""
    return FakeImplCtx()


# ---- schemas from annotations ----

_PLAIN = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", complex: "complex",
    ingot.dtype: "ScalarType", ingot.device: "Device", types.NoneType: "None",
}  # fmt: skip
_IN_LISTS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", complex: "complex"}


def _is_number(t: Any) -> bool:
    return typing.get_origin(t) in (typing.Union, types.UnionType) and set(typing.get_args(t)) == {int, float, bool}


def _schema_type(t: Any) -> str | None:
    """Text of a type in a schema; None: it has none."""
    if t in _PLAIN and t is not types.NoneType:
        return _PLAIN[t]
    if _is_number(t) or getattr(t, "__name__", "") == "Number":
        return "Scalar"
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin in (typing.Union, types.UnionType) and types.NoneType in args:
        rest = tuple(a for a in args if a is not types.NoneType)
        inner = _schema_type(rest[0] if len(rest) == 1 else typing.Union[rest])  # noqa: UP007
        return None if inner is None else f"{inner}?"
    if origin in (list, Sequence) or getattr(origin, "__name__", "") == "Sequence":
        inner = args[0] if args else None
        if inner in _IN_LISTS:
            return f"{_IN_LISTS[inner]}[]"
        if _is_number(inner):
            return "Scalar[]"
        optional = _schema_type(inner)
        return "Tensor?[]" if optional == "Tensor?" else None
    return None


_Number = typing.Union[int, float, bool]  # noqa: UP007 (as PyTorch prints it)


def _parameter_types() -> dict[Any, str]:
    """The types that parameters may have, in the order in which messages list them."""
    found: dict[Any, str] = {}
    for t, text, listed, optional_in_lists, optional_lists in (
        (Tensor, "Tensor", True, True, False), (int, "SymInt", True, False, True), (float, "float", True, False, True),
        (bool, "bool", True, False, True), (str, "str", False, False, False), (_Number, "Scalar", True, False, False),
        (ingot.dtype, "ScalarType", False, False, False), (ingot.device, "Device", False, False, False),
    ):  # fmt: skip
        many = (typing.Sequence, typing.List) if listed else ()  # noqa: UP006
        found[t] = text
        found[typing.Optional[t]] = f"{text}?"  # noqa: UP045
        found |= {kind[t]: f"{text}[]" for kind in many}
        if optional_in_lists:
            found |= {kind[typing.Optional[t]]: f"{text}?[]" for kind in many}  # noqa: UP045
        if optional_lists:
            found |= {typing.Optional[kind[t]]: f"{text}[]?" for kind in many}  # noqa: UP045
    return found


def _return_types() -> dict[Any, str]:
    return {
        Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", int: "SymInt", float: "float", bool: "bool",  # noqa: UP006
        _Number: "Scalar",
    }  # fmt: skip


def _default_text(name: str, value: Any, error: Callable) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, ingot.dtype):
        return re.sub(r"^torch\.", "", str(value))
    if isinstance(value, ingot.device):
        return f'"{value}"'
    error(
        f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we "
        "can prioritize this."
    )
    return ""


def _returns_text(t: Any, error: Callable) -> str:
    if t is None or t is types.NoneType:
        return "()"
    texts = [_schema_type(a) for a in typing.get_args(t)] if typing.get_origin(t) is tuple else [_schema_type(t)]
    allowed = set(_return_types().values())
    if any(text not in allowed for text in texts) or typing.get_origin(t) not in (None, list, tuple, typing.Union):
        error(f"Return has unsupported type {t}. The valid types are: {_return_types()}.")
    return f"({', '.join(typing.cast(list, texts))})" if typing.get_origin(t) is tuple else typing.cast(str, texts[0])


def _refuse_type(name: str, t: Any, error: Callable) -> None:
    """No schema has such a parameter; of a tuple of one kind, the list of it is suggested."""
    if typing.get_origin(t) is not tuple:
        error(f"Parameter {name} has unsupported type {t}. The valid types are: {_parameter_types().keys()}.")
    kinds = set(typing.get_args(t))
    instead = f"For example, typing.List[{next(iter(kinds)).__name__}]." if len(kinds) == 1 else ""
    error(
        f"Parameter {name} has unsupported type {t}. We do not support Tuple inputs in schema. As a workaround, please "
        f"try to use List instead. {instead}\n\nThe valid types are: {_parameter_types().keys()}."
    )


def _hints(fn: Callable, error: Callable) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn)
    except NameError as unknown:
        error(f"Unsupported type annotation {unknown.name}. It is not a type.")
        raise


def infer_schema(
    prototype_function: Callable, /, *, mutates_args: Any = (), op_name: str | None = None
) -> str:
    """The schema of a function by its annotations: "(Tensor x, float s) -> Tensor"."""
    signature = inspect.signature(prototype_function)

    def error(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    hints = _hints(prototype_function, error)

    parts: list[str] = []
    seen_keyword = False
    unknown = mutates_args == "unknown"
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            error("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind == p.KEYWORD_ONLY and not seen_keyword:
            parts.append("*")
            seen_keyword = True
        if name not in hints:
            error(f"Parameter {name} must have a type annotation.")
        text = _schema_type(hints[name])
        if text is None:
            _refuse_type(name, hints[name], error)
        if text.startswith("Tensor") and (unknown or name in mutates_args):
            text = text.replace("Tensor", f"Tensor(a{i}!)", 1)
        elif not unknown and name in mutates_args:
            error(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        parts.append(f"{text} {name}" + ("" if p.default is p.empty else f"={_default_text(name, p.default, error)}"))
    extra = set() if unknown else set(mutates_args) - set(signature.parameters)
    if extra:
        error(
            f"{extra} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if "return" not in hints and signature.return_annotation is not None:
        error("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returns_text(hints.get('return'), error)}"


# ---- gradients ----


class _Call:
    """One call on its way through autograd.Function, which takes flat arguments."""

    def __init__(self, rule: _AutogradRule, spec: Any) -> None:
        self.rule = rule
        self.spec = spec
        self.out_spec: Any = None
        self.nargs = 0


class _AutogradRule:
    """What register_autograd was given, as an implementation that is called when a gradient is needed."""

    def __init__(self, overload: Any, backward: Callable, setup_context: Callable | None) -> None:
        self.overload = overload
        self.backward = backward
        self.setup_context = setup_context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ingot.utils import _pytree as pytree

        leaves, spec = pytree.tree_flatten((args, kwargs))
        call = _Call(self, spec)
        outs = _generated().apply(call, *leaves)
        return pytree.tree_unflatten(list(outs) if isinstance(outs, tuple) else [outs], call.out_spec)


def _run_forward(ctx: Any, call: _Call, *leaves: Any) -> Any:
    from ingot.utils import _pytree as pytree

    args, kwargs = pytree.tree_unflatten(list(leaves), call.spec)
    ctx._call = call
    ctx.needs_input_grad = tuple(ctx.needs_input_grad)[1:]
    with no_grad():
        result = call.rule.overload(*args, **kwargs)
    call.nargs = len(args)
    setup = call.rule.setup_context
    if setup is not None:
        filled = _fill_defaults(call.rule.overload._schema, args)
        extra = {"keyword_only_inputs": kwargs} if kwargs else {}
        setup(ctx=ctx, inputs=filled, output=result, **extra)
    outs, call.out_spec = pytree.tree_flatten(result)
    ctx._args = args
    return tuple(outs) if len(outs) != 1 else outs[0]


def _fill_defaults(schema: Any, args: tuple) -> tuple:
    rest = [a for a in schema.arguments if not a.kwarg_only][len(args) :]
    return (*args, *(a.default_value for a in rest))


def _run_backward(ctx: Any, *grads: Any) -> tuple:
    from ingot.utils import _pytree as pytree

    call = ctx._call
    spec = call.out_spec
    structured = pytree.tree_unflatten(list(grads), spec)
    many = isinstance(structured, (tuple, list)) and not spec.is_leaf() and len(call.rule.overload._schema.returns) > 1
    answer = call.rule.backward(ctx, *structured) if many else call.rule.backward(ctx, structured)
    answer = answer if isinstance(answer, tuple) else (answer,)
    flat: list[Any] = []
    for arg, grad in zip(ctx._args, answer, strict=False):
        n = len(pytree.tree_leaves(arg))
        flat.extend(list(grad) if isinstance(grad, (list, tuple)) else [grad] * n)
    total = call.spec.num_leaves
    return (None, *flat, *([None] * (total - len(flat))))


def _generated() -> Any:
    """The autograd.Function that all rules share; created on first use."""
    global _GENERATED
    if _GENERATED is None:
        from ingot.autograd import Function

        _GENERATED = type(
            "GeneratedBackwardFor_custom_op",
            (Function,),
            {"forward": staticmethod(_run_forward), "backward": staticmethod(_run_backward)},
        )
    return _GENERATED


_GENERATED: Any = None


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: Library | None = None
) -> None:
    """backward(ctx, *grads) gives a gradient per argument; setup_context(ctx, inputs, output) saves what it needs."""
    if isinstance(op, CustomOpDef):
        op.register_autograd(backward, setup_context=setup_context)
        return
    overload = op if isinstance(op, _C.OpOverload) else _overload(op)
    _register_formula(op, overload, backward, setup_context)


def _register_formula(shown: Any, overload: Any, backward: Callable, setup_context: Callable | None) -> None:
    schema = overload._schema
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema {schema}. Please "
            "create a functional operator and register an autograd formula for that."
        )
    if any(a.kwarg_only and str(a.type) in ("Tensor", "Optional[Tensor]", "List[Tensor]") for a in schema.arguments):
        text = str(schema).partition("::")[2]
        raise NotImplementedError(
            f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {text}"
        )
    _C.library_impl(overload, "autograd", _AutogradRule(overload, backward, setup_context))


# ---- custom_op ----


def _check_no_alias(name: str, fn: Callable, args: tuple, kwargs: dict, result: Any) -> None:
    from ingot.utils import _pytree as pytree

    seen = {_C.storage_key(t) for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
    for t in pytree.tree_leaves(result):
        if not isinstance(t, Tensor):
            continue
        if _C.storage_key(t) in seen:
            raise RuntimeError(
                f"{name} (with implementation in {getattr(fn, '__module__', '?')}): The output of this custom operator "
                "(1) must not also be an input to this custom operator and (2) may not alias any inputs to this custom "
                "operator or other returns. The most common way to trigger this error is if we have y = custom_op(x) "
                "and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) "
                "(e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        seen.add(_C.storage_key(t))


class CustomOpDef:
    """What custom_op makes of a function: an operator that is called like the function."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable, tags: Any = ()) -> None:
        self._namespace = namespace
        self._name = name
        self._qualname = f"{namespace}::{name}"
        self._init_fn = fn
        self._opoverload = _C.library_define(f"{self._qualname}{schema}", tags)
        self._has_autograd = False
        self._kernels: dict[str | None, Callable] = {}
        self._disabled: set[str | None] = set()
        _C.library_impl(self._opoverload, "autograd", self._no_formula)
        _C.library_impl(self._opoverload, "absent", self._no_fake)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _no_fake(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def _no_formula(self, *args: Any, **kwargs: Any) -> Any:
        def refuse(ctx: Any, *grads: Any) -> None:
            raise RuntimeError(
                f"Trying to backward through {self._opoverload} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )

        if any(a.alias_info is not None and a.alias_info.is_write for a in self._opoverload._schema.arguments):
            with no_grad():
                return self._opoverload(*args, **kwargs)
        return _AutogradRule(self._opoverload, refuse, None)(*args, **kwargs)

    def _checked(self, fn: Callable) -> Callable:
        def run(*args: Any, **kwargs: Any) -> Any:
            result = fn(*args, **kwargs)
            _check_no_alias(self._qualname, fn, args, kwargs, result)
            return result

        return run

    def _switched(self, key: str | None, fn: Callable) -> Callable:
        """The kernel, or the function itself while the kernel is switched off."""
        if fn is self._init_fn:
            return fn

        def run(*args: Any, **kwargs: Any) -> Any:
            return (self._init_fn if key in self._disabled else fn)(*args, **kwargs)

        return run

    def register_kernel(self, device_types: Any, fn: Callable | None = None, /) -> Any:
        """The implementation for tensors on some devices; None: on all."""

        def wrap(f: Callable) -> Callable:
            for key in (device_types,) if device_types is None or isinstance(device_types, str) else device_types:
                self._kernels[key] = f
                _implement(self._opoverload, key or "default", self._checked(self._switched(key, f)))
            return f

        return wrap if fn is None else wrap(fn)

    def register_fake(self, fn: Callable, /) -> Callable:
        """The operator's results for fake tensors."""
        _C.library_impl(self._opoverload, "fake", self._checked(fn))
        return fn

    register_abstract = impl_abstract = register_fake

    def register_vmap(self, func: Callable | None = None, /) -> Any:
        """Keeps the rule func(info, in_dims, *args) -> (results, out_dims). vmap does not use it: it calls custom
        operators once per slice, which gives the same results."""

        def wrap(f: Callable) -> Callable:
            self._vmap = f
            _vmap_rules[self._opoverload] = f
            return f

        return wrap if func is None else wrap(func)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """While the block runs, the kernel of a device is in force or not; without it, the function itself runs."""
        kernels = self._kernels
        if device_type not in kernels:
            import logging

            logging.getLogger(__name__).warning(
                "Attempted to set_kernel_enabled(%s, %s) on %s, but there was no kernel registered for this device "
                "type.", device_type, enabled, self._qualname,
            )  # fmt: skip
            yield
            return
        before = device_type in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if before else self._disabled.discard)(device_type)

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """See torch.library.register_autograd."""
        _register_formula(self, self._opoverload, backward, setup_context)


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Sequence[Any] | None = None,
) -> Any:
    """Makes an operator "lib::name" of an annotated function."""

    def wrap(f: Callable) -> CustomOpDef:
        namespace, _, short = name.partition("::")
        if not short or "::" in short:
            raise ValueError(f"Expected `name` to be of the form `namespace::name`, but got {name}.")
        text = infer_schema(f, mutates_args=mutates_args) if schema is None else schema
        written = set(re.findall(r"!\)(?:\[\])?\??(?:\[\])? (\w+)", text))
        if schema is not None and mutates_args != "unknown" and written != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
                f"suggests that the op mutates {written}which is different from what was provided to us in "
                "`mutates_args`. Please make these consistent."
            )
        op = CustomOpDef(namespace, short, text, f, tags or ())
        op.register_kernel(device_types, f)
        if schema is None and text.endswith("-> ()"):
            op.register_fake(lambda *args, **kwargs: None)
        return op

    return wrap if fn is None else wrap(fn)


# How vmap calls operators of the user, by operator.
_vmap_rules: dict[Any, Callable] = {}


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Keeps the rule func(info, in_dims, *args) -> (results, out_dims). vmap does not use it: it calls custom operators
    once per slice, which gives the same results."""

    def wrap(f: Callable) -> Callable:
        _vmap_rules[_overload_of(op)] = f
        return f

    return wrap if func is None else wrap(func)


def _overload_of(op: Any) -> Any:
    """The operator that a name, packet, overload or custom operator stands for."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, str):
        namespace, _, name = op.partition("::")
        packet, _, overload = name.partition(".")
        found = getattr(getattr(_ops_module(), namespace), packet)
        return getattr(found, overload or "default")
    return op.default if isinstance(op, _C.OpOverloadPacket) else op


def _ops_module() -> Any:
    import ingot

    return ingot.ops


class OpCheckError(Exception):
    """A check of an operator failed."""


_CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def opcheck(
    op: Any,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _CHECKS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Checks an operator on a sample: that it mutates and aliases what its schema says, that its fake kernel gives what
    its kernel gives, that captured programs compute the same. By check: "SUCCESS", or the error."""
    from ingot import _opcheck

    if not isinstance(op, (CustomOpDef, _C.OpOverload, _C.OpOverloadPacket)):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    overload = _overload_of(op)
    chosen = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = [name for name in chosen if name not in _CHECKS]
    if unknown:
        raise ValueError(f"opcheck(op, ...): invalid test_utils. Expected test_utils to be subset of {_CHECKS}")
    results: dict[str, Any] = {}
    for name in chosen:
        try:
            getattr(_opcheck, name)(overload, args, kwargs or {}, rtol, atol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results
