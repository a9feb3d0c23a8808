# SPDX-License-Identifier: Apache-2.0
"""Signatures of operators as Python's inspect has them, and the arguments of a call in the form of a signature."""
from __future__ import annotations

import inspect
import numbers
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

import ingot
from ingot import _C
from ingot.fx.node import _module_name

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
    "normalize_function", "normalize_module", "type_matches",
]  # fmt: skip


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call: by place and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


# The words of schemas, beside List[...] and Optional[...].
_WORDS: dict[str, Any] = {
    "Tensor": _C.Tensor, "Device": _C.device, "number": numbers.Number, "int": int, "float": float, "bool": bool,
    "str": str, "complex": complex, "Generator": _C.Generator, "NoneType": type(None),
}  # fmt: skip


def _python_type(text: str) -> Any:
    """The type of typing that a type of a schema is."""
    for word, made in (("List", typing.List), ("Optional", typing.Optional)):
        if text.startswith(f"{word}[") and text.endswith("]"):
            return made[_python_type(text[len(word) + 1 : -1])]
    return _WORDS.get(text, Any)


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    return _python_type(str(ts_type))


def _signature(schema: Any) -> inspect.Signature:
    parameters = []
    kinds = inspect.Parameter
    for a in schema.arguments:
        default = a.default_value if a.has_default_value() else kinds.empty
        kind = kinds.KEYWORD_ONLY if a.kwarg_only else kinds.POSITIONAL_OR_KEYWORD
        name = "input" if a.name == "self" else a.name
        parameters.append(kinds(name, kind, default=default, annotation=_python_type(str(a.type))))
    returns = [_python_type(str(r.type)) for r in schema.returns]
    result: Any = returns[0] if len(returns) == 1 else tuple(returns) if returns else None
    try:
        return inspect.Signature(parameters, return_annotation=result)
    except ValueError:  # a default in front of a parameter without one
        bare = [p.replace(kind=kinds.KEYWORD_ONLY) if p.default is kinds.empty and i else p
                for i, p in enumerate(parameters)]  # fmt: skip
        ordered = sorted(bare, key=lambda p: p.kind)
        return inspect.Signature(ordered, return_annotation=result)


def _schemas(op: Any) -> list[Any]:
    if isinstance(op, _C.OpOverload):
        return [op._schema]
    if isinstance(op, _C.OpOverloadPacket):
        return [getattr(op, name)._schema for name in op.overloads()]
    if isinstance(op, type(_C.Tensor.add)):
        return []
    if hasattr(op, "_schemas"):
        packet = getattr(ingot.ops.aten, op.__name__, None)
        return _schemas(packet) if packet is not None else list(op._schemas)
    return []


def get_signature_for_torch_op(op: Callable, return_schemas: bool = False) -> Any:
    """The signatures of the overloads of an operator, with their schemas if wanted; None: it is no operator."""
    schemas = _schemas(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_signature(s) for s in schemas]
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(target: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """RuntimeError if the overloads that take these arguments write to one of them."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    matched = [s for sig, s in zip(signatures or (), schemas or (), strict=True) if _binds(sig, args, kwargs)]
    if len(matched) == 1 and matched[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {matched[0]}. FX only supports functional code, so operations that "
            "mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def _binds(signature: inspect.Signature, args: tuple, kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types: their common class, or Any."""
    if not isinstance(x, (list, tuple)):
        return x
    made = (lambda t: typing.List[t]) if isinstance(x, list) else (lambda t: typing.Tuple[t, ...])  # noqa: UP006
    if not x:
        return made(Any)
    base = x[0]
    for t in x[1:]:
        if not isinstance(t, type) or not isinstance(base, type):
            base = base if t == base else Any
        elif issubclass(base, t):
            base = t
        elif not issubclass(t, base):
            base = Any
    return made(base)


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type may be given where a signature has the other."""
    origin = getattr(signature_type, "__origin__", signature_type)
    if signature_type is argument_type or signature_type == argument_type:
        return True
    if origin is typing.Union or isinstance(signature_type, types.UnionType):
        return any(type_matches(t, argument_type) for t in signature_type.__args__)
    if origin is list:
        inner = signature_type.__args__[0]
        if inner is int and argument_type is int:  # a single number stands for a list of it
            return True
        given = getattr(argument_type, "__origin__", None)
        arguments = getattr(argument_type, "__args__", ())
        if given in (list, tuple) and arguments:
            return all(_is_subclass(t, inner) for t in arguments if t is not ...)
        return False
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    return _is_subclass(argument_type, signature_type)


def _is_subclass(t: Any, of: Any) -> bool:
    return isinstance(t, type) and isinstance(of, type) and issubclass(t, of)


def _normalized(
    signature: inspect.Signature, args: tuple, kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    """Arguments in the order of the signature, defaults filled in; None: it has parameters without names."""
    kinds = inspect.Parameter
    for name, p in signature.parameters.items():
        if p.kind not in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY):
            if not (name == "_" and p.kind is kinds.VAR_POSITIONAL):
                return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    places = []
    names = {}
    for i, name in enumerate(signature.parameters):
        if name not in bound.arguments:
            continue
        if not only_kwargs and i < len(args):
            places.append(bound.arguments[name])
        else:
            names[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(places), names)


def _types_match(signature: inspect.Signature, arg_types: tuple, kwarg_types: dict[str, Any]) -> bool:
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    return all(type_matches(signature.parameters[name].annotation, t) for name, t in bound.arguments.items())


def _qualified(fn: Any) -> str:
    if isinstance(fn, type(ingot.relu)):  # static methods of a class, in PyTorch
        return f"torch._VariableFunctionsClass.{fn.__name__}"
    return f"{_module_name(getattr(fn, '__module__', '') or '')}.{fn.__name__}"


def normalize_function(
    target: Callable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call as the target's signature has them. Among several overloads the types of the arguments
    decide; None: no signature is known, or none fits."""
    kwargs = dict(kwargs or {})
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        if not isinstance(target, types.FunctionType):
            return None
        return _normalized(inspect.signature(inspect.unwrap(target)), args, kwargs, normalize_to_only_use_kwargs)
    matched = [s for s in signatures if _binds(s, args, kwargs)]
    if len(matched) > 1 and (arg_types is not None or kwarg_types is not None):
        matched = [s for s in matched if _types_match(s, arg_types or (), kwarg_types or {})][:1]
    if len(matched) > 1:
        listed = "\n".join(str(s) for s in matched)
        raise RuntimeError(
            f"Tried to normalize arguments to {_qualified(target)} but the schema match was ambiguous! Please provide "
            f"argument types to the normalize_arguments() call. Available schemas:\n{listed}"
        )
    return _normalized(matched[0], args, kwargs, normalize_to_only_use_kwargs) if matched else None


def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The same for a call of a layer of torch.nn; None for other modules."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    if getattr(ingot.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(type(module).forward)
    first, *rest = signature.parameters.values()
    return _normalized(signature.replace(parameters=rest), args, dict(kwargs or {}), normalize_to_only_use_kwargs)
