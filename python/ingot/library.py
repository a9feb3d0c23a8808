# SPDX-License-Identifier: Apache-2.0
"""torch.library: custom operators. The engine keeps schemas and implementations (ingot/library.h); here is the Python
interface for them: Library, define, impl, register_fake, custom_op, register_autograd."""

from __future__ import annotations

import contextlib
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ingot import _C
from ingot._library import autograd, fake_impl
from ingot._library.custom_ops import CustomOpDef, custom_op
from ingot._library.fake_impl import FakeImplCtx, get_ctx
from ingot._library.infer_schema import infer_schema
from ingot._library.kernels import device_key, fallthrough_kernel, find_key, implement
from ingot._library.simple_registry import singleton
from ingot._library.utils import Kernel, get_source, is_builtin, lookup_op, parse_namespace

__all__ = [
    "CustomOpDef", "FakeImplCtx", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl",
    "impl_abstract", "infer_schema", "opcheck", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch", "register_vmap",
]  # fmt: skip


def _overload(name: str) -> Any:
    """The OpOverload called "ns::name" or "ns::name.overload"; RuntimeError: it is not defined."""
    try:
        return lookup_op(name)
    except AttributeError:
        raise RuntimeError(f"operator {name} does not exist") from None


class Library:
    """Operators of one namespace: DEF makes the namespace, FRAGMENT adds to it, IMPL only implements."""

    _definers: typing.ClassVar[set[str]] = set()

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        if ns == "prim":
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in Library._definers or ns == "aten":
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
        self.m: Any = object()  # PyTorch's library of C++; None: this one is destroyed
        self._defined: list[Any] = []
        self._implemented: list[tuple[Any, str]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator by "name(Tensor x) -> Tensor" and returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema.split("(")[0]}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All '
                "def()s should be placed in the (unique) TORCH_LIBRARY block for their namespace."
            )
        tags = (tags,) if not isinstance(tags, (tuple, list)) else tags
        for tag in tags:
            if not isinstance(tag, _C.Tag):
                raise TypeError(f"define(): incompatible function arguments: expected tags of torch.Tag, found {tag!r}")
        text = schema if "::" in schema.split("(")[0] else f"{self.ns}::{schema}"
        if text.split("::")[0] != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({text.split('::')[0]}) in schema string does not match namespace of "
                f"enclosing TORCH_LIBRARY block ({self.ns}).  Move this definition to the (unique) TORCH_LIBRARY block "
                "corresponding to this namespace (and consider deleting the namespace from your schema string.)"
            )
        overload = _C.library_define(text, tags)
        self._defined.append(overload)
        return overload._schema.name.partition("::")[2]

    def _find(self, op_name: Any) -> Any:
        if isinstance(op_name, _C.OpOverload):
            return op_name
        if isinstance(op_name, _C.OpOverloadPacket):
            return op_name.default
        if not isinstance(op_name, str):
            raise RuntimeError("impl should be passed either a name or an OpOverload object as the first argument")
        if "::" in op_name and op_name.split("::")[0] != self.ns:
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided namespace ({op_name.split("::")[0]}) in operator name '
                f"does not match namespace of enclosing TORCH_LIBRARY block ({self.ns}).  Move this definition to the "
                "TORCH_LIBRARY block corresponding to this namespace (and consider deleting the namespace from your "
                "schema string.)"
            )
        return _overload(op_name if "::" in op_name else f"{self.ns}::{op_name}")

    def _claim(self, overload: Any, key: str) -> None:
        """RuntimeError: a Python function implements the operator for that key already."""
        if key.lower() in singleton.find(overload).kernels:
            name = overload._schema.name.partition("::")[2]
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{name}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        self._implemented.append((overload, key.lower()))

    def impl(self, op_name: Any, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Implements an operator for a dispatch key ("CPU", "Meta", "CompositeImplicitAutograd", ...)."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key
        overload = self._find(op_name)
        run = (lambda *args, **kwargs: fn(None, *args, **kwargs)) if with_keyset else fn
        self._claim(overload, key)
        implement(overload, key, fn if fn is fallthrough_kernel else run)

    def _register_fake(self, op_name: Any, fn: Callable, _stacklevel: int = 1) -> None:
        _register_fake(self._find(op_name), fn, get_source(_stacklevel + 1))

    def _destroy(self) -> None:
        """Its operators are not found any more."""
        for overload, key in self._implemented:
            singleton.find(overload).kernels.discard(key)
        for overload in self._defined:
            singleton.forget(overload)
            _C.library_undefine(overload)
        self._defined.clear()
        self._implemented.clear()
        self.m = None
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
    namespace, name = parse_namespace(qualname)
    if not isinstance(schema, str) or not re.match(r"\s*\(.*\)\s*->", schema, re.S):
        raise ValueError(
            f"define(qualname, schema, ...): expected schema to look like e.g. \"(Tensor x) -> Tensor\" but got "
            f'"{schema}"'
        )
    (lib or Library(namespace, "FRAGMENT")).define(name + schema, tags=tags)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """impl("lib::name", "cpu", fn), or as a decorator; or impl(library, name, dispatch_key="") as a decorator."""
    if isinstance(qualname, Library):
        key = func or ""

        def wrap_library(fn: Callable) -> Callable:
            qualname.impl(types, fn, key)
            return fn

        return wrap_library
    many = (types,) if isinstance(types, str) else tuple(types)
    keys = dict.fromkeys(find_key(name) or device_key(name) for name in many)

    def register(fn: Callable) -> None:
        library = lib or Library(parse_namespace(qualname)[0], "FRAGMENT")
        for key in keys:
            library.impl(_overload(qualname), fn, key)

    return register if func is None else register(func)


def _name_of(op: Any, function: str) -> str:
    """The qualified name of an operator; ValueError: it is neither a name nor an operator."""
    if isinstance(op, _C.OpOverload):
        return op.name()
    if not isinstance(op, str):
        raise ValueError(f"{function}(op): got unexpected type for op: {type(op)}")
    return op


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """The implementation for tensors on some devices; None: on all."""
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    name = _name_of(op, "register_kernel")
    definition = custom_ops_of(name)
    if definition is not None:
        return definition.register_kernel(device_types, func)
    return impl(name, "default" if device_types is None else device_types, func, lib=lib)


def custom_ops_of(name: str) -> CustomOpDef | None:
    """The custom operator of that name, if custom_op made it."""
    from ingot._library.custom_ops import OPDEFS

    return OPDEFS.get(name.removesuffix(".default"))


def _register_fake(overload: Any, fn: Callable, place: str) -> None:
    name, entry = overload.name(), singleton.find(overload)
    if entry.fake_impl.kernel is not None:
        raise RuntimeError(
            f"register_fake(...): the operator {name} already has an fake impl registered at "
            f"{entry.fake_impl.kernel.source}."
        )
    if is_builtin(overload) or "meta" in entry.kernels:
        raise RuntimeError(
            f"register_fake(...): the operator {name} already has an DispatchKey::Meta implementation via a "
            "pre-existing torch.library or TORCH_LIBRARY registration. Please either remove that registration or don't "
            "call register_fake."
        )
    if "compositeimplicitautograd" in entry.kernels:
        raise RuntimeError(
            f"register_fake(...): the operator {name} already has an implementation for this device type via a "
            "pre-existing registration to DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators "
            "do not need an fake impl; instead, the operator will decompose into its constituents and those can have "
            "fake impls defined on them."
        )
    _C.library_impl(overload, "fake", fake_impl.with_ctx(overload, fn))
    entry.fake_impl.kernel = Kernel(fn, place)


def register_fake(
    op: Any, func: Any = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> Any:
    """The operator's results for fake tensors; a decorator when func is None."""
    if isinstance(op, CustomOpDef):
        return op.register_fake(func) if func is not None else op.register_fake
    name = _name_of(op, "register_fake")
    definition = custom_ops_of(name)
    if definition is not None:
        return definition.register_fake(func) if func is not None else definition.register_fake
    parse_namespace(name)
    place = get_source(_stacklevel)

    def register(fn: Callable) -> Callable:
        try:
            overload = op if isinstance(op, _C.OpOverload) else lookup_op(name)
        except AttributeError:
            raise RuntimeError(f"operator {name} does not exist") from None
        if allow_override:
            singleton.find(overload).fake_impl.kernel = None
        _register_fake(overload, fn, place)
        return fn

    return register if func is None else register(func)


def impl_abstract(qualname: str, func: Any = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """The older name of register_fake."""
    return register_fake(qualname, func, lib=lib, _stacklevel=_stacklevel + 1)


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: Library | None = None
) -> None:
    """backward(ctx, *grads) gives a gradient per argument; setup_context(ctx, inputs, output) saves what it needs."""
    definition = op if isinstance(op, CustomOpDef) else custom_ops_of(_name_of(op, "register_autograd"))
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    overload = op if isinstance(op, _C.OpOverload) else lookup_op(op)
    autograd.check_functional(overload, overload._schema)
    autograd.check_positional(overload._schema)
    _C.library_impl(overload, "autograd", autograd.AutogradRule(overload, backward, setup_context))


def _overload_of(op: Any, function: str) -> Any:
    """The operator that a name, an overload or a custom operator stands for."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    return op if isinstance(op, _C.OpOverload) else lookup_op(_name_of(op, function))


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """vmap(op) calls the rule func(info, in_dims, *args) -> (results, out_dims). Where the operator is called inside a
    function, it runs once per slice, which gives the same results."""
    overload = _overload_of(op, "register_vmap")

    def register(f: Callable) -> Callable:
        singleton.find(overload).vmap = f
        return f

    return register if func is None else register(func)


def register_torch_dispatch(
    op: Any, torch_dispatch_class: type, func: Callable | None = None, /, *, lib: Any = None
) -> Any:
    """What a class of tensors or modes does for one operator instead of calling its __torch_dispatch__: the function is
    called with the mode or the class, the operator, the types, and the arguments."""
    overload = _overload_of(op, "register_torch_dispatch")

    def register(f: Callable) -> Callable:
        _C.dispatch_rule(overload, torch_dispatch_class, f)
        return f

    return register if func is None else register(func)


class OpCheckError(Exception):
    """A check of an operator failed."""


_CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_ALL_CHECKS = (*_CHECKS[:3], "test_aot_dispatch_static", _CHECKS[3])


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

    overload = op._opoverload if isinstance(op, CustomOpDef) else op
    overload = overload.default if isinstance(overload, _C.OpOverloadPacket) else overload
    if not isinstance(overload, _C.OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    test_utils = (test_utils,) if isinstance(test_utils, str) else test_utils
    if not set(test_utils) <= set(_ALL_CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {_ALL_CHECKS} but it was "
            "not"
        )
    results: dict[str, Any] = {}
    for name in test_utils:
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
