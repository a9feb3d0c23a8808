# SPDX-License-Identifier: Apache-2.0
"""Example inputs bound to the parameters of a module: flat leaves, their names, and their names in guards."""

from __future__ import annotations

import inspect
import re
import types
import weakref
from collections.abc import Iterator
from typing import Any

from ingot import nn
from ingot._C import Tensor
from ingot.utils import _pytree as pytree


class Input:
    """One leaf of the example inputs."""

    __slots__ = ("flat_source", "name", "path", "source", "value")

    def __init__(self, value: Any, name: str, path: tuple, source: str, flat_source: str) -> None:
        self.value = value
        self.name = name  # of the placeholder, before clashes are resolved
        self.path = path  # (parameter, key, index, ...) as dynamic_shapes spells it
        self.source = source  # L['x'][0]: a strict capture's name for it
        self.flat_source = flat_source  # L['args'][0][1]: a non-strict capture's


def key_text(key: Any) -> str:
    """What a key of a pytree path contributes to a name."""
    for field in ("key", "idx", "name"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key)


def _plain_key(key: Any) -> Any:
    for field in ("key", "idx", "name"):
        if hasattr(key, field):
            return getattr(key, field)
    return key


def forward_of(mod: Any) -> Any:
    return mod.forward if isinstance(mod, nn.Module) else mod


Piece = tuple[tuple, Any, str]
_SIGNATURES: weakref.WeakKeyDictionary[types.FunctionType, inspect.Signature] = weakref.WeakKeyDictionary()


def _signature(forward: Any) -> inspect.Signature:
    """The signature of a callable; those of methods are cached, since finding them is slower than a small capture."""
    function = forward.__func__ if type(forward) is types.MethodType else None
    if type(function) is not types.FunctionType:
        return inspect.signature(forward)
    found = _SIGNATURES.get(function)
    if found is None:
        found = _SIGNATURES[function] = inspect.signature(forward)
    return found


def pieces(mod: Any, args: tuple, kwargs: dict[str, Any]) -> list[Piece]:
    """(path, value, flat source) per argument, in the order of (args, kwargs)."""
    return list(_pieces(forward_of(mod), args, kwargs))


def _pieces(forward: Any, args: tuple, kwargs: dict[str, Any]) -> Iterator[Piece]:
    signature = _signature(forward)
    signature.bind(*args, **kwargs)  # its own TypeError
    kinds = inspect.Parameter
    positional = [
        p for p in signature.parameters.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    rest = next((p.name for p in signature.parameters.values() if p.kind is kinds.VAR_POSITIONAL), "args")
    more = next((p.name for p in signature.parameters.values() if p.kind is kinds.VAR_KEYWORD), "kwargs")
    for i, value in enumerate(args):
        path = (positional[i].name,) if i < len(positional) else (rest, i - len(positional))
        yield path, value, f"L['args'][0][{i}]"
    for key, value in kwargs.items():
        named = key in signature.parameters and signature.parameters[key].kind is not kinds.VAR_KEYWORD
        yield (key,) if named else (more, key), value, f"L['args'][1]['{key}']"


def omits_tensor(mod: Any, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a parameter whose default is a tensor is left out."""
    signature = _signature(forward_of(mod))
    given = signature.bind(*args, **kwargs).arguments
    return any(isinstance(p.default, Tensor) and name not in given for name, p in signature.parameters.items())


def argument_names(found: list[Piece]) -> list[str]:
    """One name per argument, *rest numbered: the parameters of the module that the program becomes."""
    return ["_".join(map(str, path)) if "[0][" in flat else str(path[-1]) for path, _, flat in found]


def _name(path: tuple, below: tuple, named: bool) -> str:
    words = [str(key) for key in (path if named else path[1:])] + [key_text(key) for key in below]
    return re.sub(r"[^a-zA-Z0-9]", "_", "_".join(words)).lower()


def bind(found: list[Piece], strict: bool = True) -> list[Input]:
    """The leaves of (args, kwargs) in order. A strict capture names those of **kwargs by their keys alone."""
    out: list[Input] = []
    for path, value, flat in found:
        keyword = flat.startswith("L['args'][1]")
        head = f"L[{path[0]!r}]" + "".join(f"[{key!r}]" for key in path[1:])
        for keys, places, leaf in _walk(value, (), ()):
            tail = "".join(map(str, keys))
            name = _name(path, keys, not (strict and keyword and len(path) > 1))
            out.append(Input(leaf, name, path + places, head + tail, flat + tail))
    return out


def _walk(value: Any, keys: tuple, places: tuple) -> Iterator[tuple[tuple, tuple, Any]]:
    """(keys, the path as dynamic_shapes mirrors it: registered classes by position, leaf)."""
    node = pytree._node_of(value)
    if node is None:
        yield keys, places, value
        return
    if node.flatten_with_keys_fn is not None:
        children = list(node.flatten_with_keys_fn(value)[0])
    else:
        children = [(pytree.SequenceKey(i), child) for i, child in enumerate(node.flatten_fn(value)[0])]
    for i, (key, child) in enumerate(children):
        place = _plain_key(key) if isinstance(value, dict) else i
        yield from _walk(child, (*keys, key), (*places, place))
