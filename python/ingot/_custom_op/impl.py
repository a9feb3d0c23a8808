# SPDX-License-Identifier: Apache-2.0
"""CustomOp: an operator that is defined by an annotated function without a body; kernels per device, a fake kernel and
a formula for gradients are registered on it. It must be functional."""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ingot import _C
from ingot._C import Tensor
from ingot._library import autograd
from ingot._library.infer_schema import infer_schema
from ingot._library.utils import get_source, is_functional_schema, lookup_op
from ingot.library import Library, register_fake

__all__ = ["CustomOp", "custom_op", "parse_qualname", "validate_namespace", "validate_schema"]

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}

global_registry: dict[str, CustomOp] = {}


def validate_namespace(ns: str) -> None:
    """ValueError: the namespace cannot have custom operators."""
    if "." in ns:
        raise ValueError(f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)')
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. ")


def parse_qualname(qualname: str) -> tuple[str, str]:
    """("ns", "name") of "ns::name"; ValueError: it does not have that form."""
    names = qualname.split("::", 1)
    if len(names) != 2:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in names[1]:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. Please name your "
            f"operator something like ns::foo. Got: {qualname}"
        )
    return names[0], names[1]



def validate_schema(schema: Any) -> None:
    """ValueError: an operator of that schema is not functional, or has an argument called self."""
    if not is_functional_schema(schema):
        text = str(schema).partition("::")[2]
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of "
            f"the inputs, and has at least one return). Got the following non-functional schema: {text}"
        )
    if any(a.name == "self" for a in schema.arguments):
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )


def _devices(device_types: str | Sequence[str]) -> tuple[str, ...]:
    return (device_types,) if isinstance(device_types, str) else tuple(device_types)


class CustomOp:
    """An operator with the registrations of the older interface."""

    def __init__(self, lib: Library, namespace: str, name: str, overload: Any) -> None:
        self._lib = lib
        self._cpp_ns = namespace
        self._opname = name
        self._ophandle = self._overload = overload
        self._qualname = f"{namespace}::{name}"
        self.__name__ = None
        self._impls: dict[str, str] = {}  # where each was registered
        self._save: Callable | None = None
        self._backward: Callable | None = None
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._overload(*args, **kwargs)

    def _destroy(self) -> None:
        self._lib._destroy()
        del global_registry[self._qualname]

    def _claim(self, kind: str, stacklevel: int) -> None:
        """RuntimeError: there is such an implementation already."""
        if kind in self._impls:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {self._impls[kind]}. This is not supported."
            )
        self._impls[kind] = get_source(stacklevel + 1)

    def impl(self, device_types: str | Sequence[str], _stacklevel: int = 2) -> Callable:
        """A decorator: the kernel for some devices."""
        names = _devices(device_types)
        for name in names:
            if name not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{name}, ...]): we only support device_type in "
                    f"{SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
                )

        def register(fn: Callable) -> Callable:
            for name in dict.fromkeys(names):
                self._claim(name, _stacklevel - 1)
                self._lib.impl(self._overload, fn, SUPPORTED_DEVICE_TYPE_TO_KEY[name])
            return fn

        return register

    def impl_factory(self) -> Callable:
        """A decorator: the kernel of an operator without tensor arguments."""

        def register(fn: Callable) -> Callable:
            self._claim("factory", 1)
            self._lib.impl(self._overload, fn, "BackendSelect")
            return fn

        return register

    def impl_abstract(self, _stacklevel: int = 2) -> Callable:
        """A decorator: the results for fake tensors."""

        def register(fn: Callable) -> Callable:
            self._claim("abstract", _stacklevel - 1)
            register_fake(self._overload, fn)
            return fn

        return register

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable:
        """A decorator: fn(inputs, output) returns what the formula needs."""

        def register(fn: Callable) -> Callable:
            self._check_formula()
            self._claim("save_for_backward", _stacklevel - 1)
            self._save = fn
            self._join_formula()
            return fn

        return register

    def impl_backward(
        self, output_differentiability: Sequence[bool] | None = None, _stacklevel: int = 2
    ) -> Callable:
        """A decorator: fn(ctx, saved, *grads) returns {argument: gradient}."""
        outputs = self._overload._schema.returns
        if output_differentiability is not None:
            fits = len(output_differentiability) == len(outputs)
            if not fits or not all(isinstance(x, bool) for x in output_differentiability):
                raise RuntimeError(
                    "impl_backward(output_differentiability): expected output_differentiability to be a list of bools "
                    f"with length equal to the number of outputs of this CustomOp got: {output_differentiability}"
                )

        def register(fn: Callable) -> Callable:
            self._check_formula()
            self._claim("backward", _stacklevel - 1)
            self._backward = fn
            self._join_formula()
            return fn

        return register

    def _check_formula(self) -> None:
        if not is_functional_schema(self._overload._schema):
            raise RuntimeError(
                "impl_backward/impl_save_for_backward: expected operator that returns fresh Tensors and mutates "
                "nothing"
            )

    def _join_formula(self) -> None:
        """Both halves are there: the operator has a gradient."""
        save, backward = self._save, self._backward
        if save is None or backward is None:
            return
        schema = self._overload._schema
        names = [a.name for a in schema.arguments]
        inputs_type = collections.namedtuple(f"{self._opname}_args", names)  # type: ignore[misc]  # noqa: PYI024

        def setup(ctx: Any, inputs: tuple, output: Any, keyword_only_inputs: dict | None = None) -> None:
            given = dict(zip(names, inputs, strict=False)) | (keyword_only_inputs or {})
            ctx._given = given
            ctx._saved = save(inputs_type(**given), output)

        def run(ctx: Any, *grads: Any) -> tuple:
            return self._gradients(ctx._given, backward(ctx, ctx._saved, *grads))

        _C.library_impl(self._overload, "autograd", autograd.AutogradRule(self._overload, run, setup))

    def _gradients(self, given: dict[str, Any], answer: Any) -> tuple:
        """The gradients in the order of the arguments; RuntimeError: the formula answered something else."""
        schema = self._overload._schema
        if not isinstance(answer, dict):
            self._refuse(f"expected the output of the backward function to be a dict but got {type(answer)}")
        wanted = {a.name for a in schema.arguments if "Tensor" in str(a.type)}
        if answer.keys() != wanted:
            self._refuse(
                f"expected the returned grad_input dict to have keys {wanted} but got {answer.keys()}. The backward "
                "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
                "Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict"
            )
        for name, grad in answer.items():
            self._check_gradient(name, given[name], grad)
        positional = [a.name for a in schema.arguments if not a.kwarg_only]
        return tuple(answer.get(name) for name in positional)

    def _refuse(self, what: str) -> NoReturn:
        raise RuntimeError(
            f"In the backward function defined for {self} at {self._impls['backward']} using the CustomOp API, {what}"
        )

    def _check_gradient(self, name: str, arg: Any, grad: Any) -> None:
        if isinstance(arg, (list, tuple)):
            self._check_gradients(name, arg, grad)
        elif grad is not None and not isinstance(grad, Tensor):
            self._refuse(
                f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient to be "
                "either None or a Tensor"
            )
        elif grad is not None and not isinstance(arg, Tensor):
            self._refuse(
                f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input "
                f"'{name}' was not a Tensor (it was type {type(arg)})."
            )

    def _check_gradients(self, name: str, arg: Sequence[Any], grad: Any) -> None:
        """Those of a list."""
        expected = f"for input '{name}' expected the grad_input dict to hold a list of"
        if not isinstance(grad, (list, tuple)):
            self._refuse(f"{expected} gradients but got object of type {type(grad)}.")
        if len(grad) != len(arg):
            self._refuse(f"{expected} {len(arg)} gradients but got {len(grad)}")
        for i, (value, g) in enumerate(zip(arg, grad, strict=True)):
            if g is not None and not isinstance(g, Tensor):
                self._refuse(f"{expected} None or Tensor gradients but got object of {type(g)} at index {i}")
            if g is not None and not isinstance(value, Tensor):
                self._refuse(
                    f"for input '{name}', got a Tensor as the gradient for the {i}-th value but expected None because "
                    f"the {i}-th value was not a Tensor (it was type {[type(v) for v in arg]}"
                )


def _make(qualname: str, schema: str) -> CustomOp:
    """The operator of a schema without a name."""
    namespace, name = parse_qualname(qualname)
    validate_namespace(namespace)
    lib = Library(namespace, "FRAGMENT")
    lib.define(name + schema)
    overload = lib._defined[0]
    try:
        validate_schema(overload._schema)
    except ValueError:
        lib._destroy()
        raise
    op = CustomOp(lib, namespace, name, overload)
    _C.library_impl(overload, "autograd", _no_formula(op))
    return op


def _no_formula(op: CustomOp) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        for found, other in (("save_for_backward", "backward"), ("backward", "save_for_backward")):
            if found in op._impls:
                raise RuntimeError(
                    f"We found a '{found}' registration for {op} at {op._impls[found]} but were unable to find a "
                    f"'{other}' registration. To use the CustomOp API to register a backward formula, please provide "
                    "us both a backward function and a 'save for backward' function via `impl_backward` and "
                    "`impl_save_for_backward` respectively."
                )
        raise RuntimeError("Autograd has not been implemented for operator")

    return run


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[[Callable], CustomOp]:
    """A decorator: a function without a body becomes an operator; its annotations are the schema."""

    def make(func: Callable) -> CustomOp:
        if not inspect.isfunction(func):
            raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
        name = parse_qualname(qualname)[1]
        if func.__name__ != name:
            raise ValueError(
                f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to "
                "`custom_op`"
            )
        return _make(qualname, infer_schema(func, mutates_args=()) if manual_schema is None else manual_schema)

    return make


def _find_custom_op(qualname: str) -> CustomOp:
    """The operator of that name; ValueError: it is not defined."""
    if qualname in global_registry:
        return global_registry[qualname]
    try:
        overload = lookup_op(qualname)
    except AttributeError:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and "
            "(if registered from C++) loaded it via torch.ops.load_library."
        ) from None
    namespace, name = parse_qualname(qualname)
    return CustomOp(Library(namespace, "FRAGMENT"), namespace, name, overload)
