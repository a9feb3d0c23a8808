# SPDX-License-Identifier: Apache-2.0
"""Nodes of graphs. The type is the engine's (_C.FxNode); here is what only concerns Python objects: names of
functions, mapping over nested arguments."""
from __future__ import annotations

import builtins
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Union

from ingot import _C
from ingot.functional import _assert
from ingot.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

# What the arguments of a node may be, besides nodes and containers of them.
base_types = (
    str, int, float, bool, complex, _C.dtype, _C.Tensor, _C.device, _C.memory_format, _C.layout, _C.OpOverload,
    _C.SymInt, _C.SymBool, _C.SymFloat,
)  # fmt: skip
BaseArgumentTypes = Union[base_types]  # noqa: UP007 (PyTorch has a typing.Union here)
Argument = Any
Target = Union[Callable[..., Any], str]  # noqa: UP007

_side_effectful_functions: set[Callable] = {_assert}


def has_side_effect(fn: Callable) -> Callable:
    """Marks a function: calls of it are never dead code."""
    _side_effectful_functions.add(fn)
    return fn


def _module_name(module: str) -> str:
    """Ingot's modules are PyTorch's in printed code."""
    if module in ("ingot.nn._losses", "ingot.nn._attention"):
        return "torch.nn.functional"
    if module == "ingot" or module.startswith("ingot."):
        module = "torch" + module[len("ingot") :]
    return module.replace("torch._ops", "torch.ops")


def _find_module(fn: Callable) -> str | None:
    """The module of a function: its own word, or that of the namespace where it is known by its name."""
    name = getattr(fn, "__name__", None)
    module = getattr(fn, "__module__", None)
    if module is not None or name is None:
        return module
    import ingot

    for guess in (ingot, ingot.nn.functional, _C):
        if getattr(guess, name, None) is fn:
            return guess.__name__
    return None


def _get_qualified_name(func: Callable) -> str:
    name = getattr(func, "__name__", None) or type(func).__name__
    if getattr(builtins, name, None) is func:
        return name
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType, type(_C.Tensor.add))):
        return f"torch.Tensor.{name}"
    if isinstance(func, (_C.OpOverload, _C.OpOverloadPacket)):
        return f"torch.ops.{func}"
    if getattr(func, "_is_nn", False):
        return f"torch._C._nn.{name}"
    module = _find_module(func)
    if module is None:
        raise RuntimeError(f"cannot find the module of {func!r}: give the function a __module__ to use it in a graph")
    if name == "<lambda>":
        name = _name_of_lambda(func)
    if module == "_operator":
        return f"_operator.{name}"
    return f"{_module_name(module)}.{name}"


def _name_of_lambda(func: Callable) -> str:
    """The variable that a lambda is assigned to in its source."""
    try:
        name = inspect.getsource(func).split("=")[0].strip()
    except (OSError, TypeError):
        return "lambda"
    return name if name.isidentifier() else "lambda"


def _code_repr(arg: Any) -> str:
    """An argument as printed code spells it, for objects that the engine does not know."""
    if isinstance(arg, enum.Enum):
        return f"{type(arg).__name__}.{arg.name}"
    if isinstance(arg, type):
        return _get_qualified_name(arg)
    return repr(arg)


def _type_repr(obj: Any) -> str:
    """A type as the list of nodes spells it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        module = _module_name(obj.__module__)
        return obj.__qualname__ if module == "builtins" else f"{module}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


# Origins of subscripted types are classes; code calls them by their names in typing.
_ORIGINS = {getattr(builtins, name.lower()): getattr(typing, name) for name in "List Dict Set FrozenSet Tuple".split()}


def _type_code(obj: Any, globals_: dict[str, Any]) -> str:
    """A type as code spells it; the names that the code needs go to globals_."""
    if obj == ():
        return "()"
    origin = getattr(obj, "__origin__", None)
    if origin is not None:
        name = _type_code(_ORIGINS.get(origin, origin), globals_) if origin not in _ORIGINS else ""
        name = name or _global_name(_type_repr(_ORIGINS[origin]), _ORIGINS[origin], globals_)
        args = [_type_code(arg, globals_) for arg in getattr(obj, "__args__", ())]
        return f"{name}[{','.join(args)}]" if args else name
    return _global_name(_type_repr(obj), obj, globals_)


def _global_name(hint: str, obj: Any, globals_: dict[str, Any]) -> str:
    if hint.startswith("torch.") and isinstance(obj, type):
        return hint
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", hint)
    globals_[name] = obj
    return name


def _type_texts(obj: Any) -> tuple[str, str]:
    """How code and the list of nodes spell a type; the engine keeps both."""
    return _type_code(obj, {}), _type_repr(obj)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as the list of nodes prints it, long lists cut."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        items = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        if len(arg) > len(items):
            items.append(f"...[total_len={len(arg)}]")
        text = ", ".join(items)
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node(_C.FxNode):
    """One step of a graph. Made by its graph (create_node and similar); there is one object per node."""

    @property
    def stack_trace(self) -> str | None:
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def update_arg(self, idx: int, arg: Any) -> None:
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Replaces this node by `replace_with` in every user that the callback allows; returns these users."""
        if propagate_meta:
            if len(replace_with.meta) != 0:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = [u for u in self.users if delete_user_cb(u)]
        owner = getattr(self.graph, "owning_module", None)
        hook = getattr(owner, "_replace_hook", None)
        if hook is not None:
            for user in users:
                hook(old=self, new=replace_with.name, user=user)
        self._replace(replace_with, users)
        return users

    def is_impure(self) -> bool:
        """Whether dead code elimination keeps it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = getattr(self.graph, "owning_module", None)
            return bool(module is not None and getattr(module.get_submodule(self.target), "_is_impure", False))
        return self._effect or (self.op == "call_function" and self.target in _side_effectful_functions)

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        name = _get_qualified_name(target)
        if name.startswith("_operator."):
            return name[1:]
        return name if "." in name else f"builtins.{name}"

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """The node's line of str(graph); a placeholder goes to placeholder_names when they are collected."""
        if placeholder_names and self.op == "placeholder":
            placeholder_names.append(self.target)
            return None
        return self._text()

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments as the schema or the signature of the target has them; None: there is none that fits. The last
        parameter has no effect, as in PyTorch 2.5."""
        from ingot.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs)
        return None


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Applies fn to each Node in a; the rest stays."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Applies fn to each leaf of nested tuples, lists, dicts and slices, whose kinds are kept (lists and dicts become
    immutable)."""
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)
