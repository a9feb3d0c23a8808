# SPDX-License-Identifier: Apache-2.0
"""Which module of the hierarchy is being called, for the metadata of nodes, while a program is captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ingot import _C, nn
from ingot._dynamo import exc
from ingot.export._errors import from_user_code
from ingot.nn.modules.module import observe
from ingot.utils import _pytree as pytree


def class_name(cls: type) -> str:
    """Qualified, classes of Ingot as PyTorch's."""
    module = cls.__module__
    if module == "ingot" or module.startswith("ingot."):
        module = "torch" + module[len("ingot") :]
    return f"{module}.{cls.__qualname__}"


_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)


def is_layer(module: nn.Module) -> bool:
    """Whether a strict capture treats the call as one function: a layer of PyTorch, not a container."""
    return type(module).__module__.startswith("ingot.nn.") and not isinstance(module, _CONTAINERS)


def is_layer_forward(module: nn.Module) -> bool:
    """Whether what runs is PyTorch's: a layer, a container, or a class that inherits the forward of one."""
    return (getattr(type(module).forward, "__module__", None) or "").startswith("ingot.nn.modules.")


_NUMBERS = (_C.SymInt, _C.SymFloat, _C.SymBool)


class ModuleCall:
    """How a module was called first: leaves and structure of its arguments and of its result."""

    def __init__(self, path: str, args: tuple, kwargs: dict[str, Any]) -> None:
        self.path = path
        self.inputs, self.in_spec = pytree.tree_flatten((args, kwargs))
        self.outputs: list[Any] = []
        self.out_spec: Any = None

    def ended(self, result: Any) -> None:
        self.outputs, self.out_spec = pytree.tree_flatten(result)

    def values(self) -> list[Any]:
        """The leaves that are values of the graph."""
        return [leaf for leaf in (*self.inputs, *self.outputs) if isinstance(leaf, (_C.Tensor, *_NUMBERS))]


def _items(result: Any) -> int:
    """How many values there are in nested tuples, the tuples among them."""
    return sum(1 + _items(v) if isinstance(v, (tuple, list)) else 1 for v in result)


def _holds_tensor(value: Any) -> bool:
    """Whether it is a tensor or a list, tuple or dict with one in it."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensor, value))
    return any(map(_holds_tensor, value.values())) if isinstance(value, dict) else isinstance(value, _C.Tensor)


class ModuleStack:
    """While it is entered, calls of `modules`, a hierarchy under all its names, keep the engine's nn_module_stack up to
    date. Modules that are not in the hierarchy (made while the program runs) belong to their caller."""

    def __init__(self, modules: Iterable[tuple[str, nn.Module]], options: Any, state: Any = None) -> None:
        self._strict = options.strict
        self._state = state  # notified of what a strict capture reads: state.read(...), state.call(layer)
        self._opaque = False  # inside a call that counts as one function
        self._allow_rnn = options.allow_rnn
        self._names: dict[int, list[str]] = {}
        for path, module in modules:
            self._names.setdefault(id(module), []).append(path)
        self._in_layer = False
        self._preserve = set(options.preserve)
        self.calls: list[ModuleCall] = []
        self._stack: list[tuple[str, int]] = []  # (path, id of the module)
        self._running = [0]  # numbers of the calls under way, outermost first
        self._ncalls = 0
        self._levels: dict[tuple[str, str], tuple[str, str, str]] = {}  # (key, path, class) by path and shown path
        # A strict capture calls a module of several names by the first one that the program read.
        self._shared = self._strict and any(len(names) > 1 for names in self._names.values())
        self._read: dict[int, list[tuple[int, str]]] = {}  # names that were read, by which call, and not called yet
        self._first: dict[int, str] = {}

    def shown(self) -> dict[str, str]:
        """The names of modules with several names, by the name under which their state is stored."""
        return {self._names[at][-1]: first for at, first in self._first.items()}

    def _loaded(self, module: nn.Module, name: str, member: Any, kind: str) -> Any:
        if kind != "_modules":
            if self._opaque or member is None or id(module) not in self._names:
                return member
            return self._state.read(module, kind, name, member, self._place(module))
        names = self._names.get(id(member), ())
        if self._shared and len(names) > 1:
            above = self._place(module)
            path = f"{above}.{name}" if above else name
            if path in names:
                self._read.setdefault(id(member), []).append((self._running[-1], path))
                self._first.setdefault(id(member), path)
        return member

    def _place(self, module: nn.Module) -> str:
        """The path that a module is used under at the moment."""
        for path, at in reversed(self._stack):
            if at == id(module):
                return path
        read = self._read.get(id(module))
        return read[-1][1] if read else self._names.get(id(module), [""])[0]

    def _take_read(self, module: nn.Module) -> str | None:
        """The name by which the caller, and nobody else, read the module last."""
        read = self._read.get(id(module), [])
        for i in reversed(range(len(read))):
            if read[i][0] == self._running[-1]:
                return read.pop(i)[1]
        return None

    def _path(self, module: nn.Module) -> str | None:
        names = self._names.get(id(module))
        if names is None:
            return None
        read = self._take_read(module)
        if read is not None:
            return read
        if len(names) > 1 and self._stack:  # a module of several names: the one below the caller
            prefix = self._stack[-1][0]
            inside = [n for n in names if n.startswith(f"{prefix}." if prefix else "")]
            return inside[0] if inside else names[0]
        return names[0]

    def _level(self, path: str, shown: str, module: nn.Module) -> tuple[str, str, str]:
        level = self._levels.get((path, shown))
        if level is None:
            below = shown.replace(".", "_") if self._strict else path
            key = "L__self__" + ("_" + below if self._strict and path else below)
            level = self._levels[path, shown] = key, path, class_name(type(module))
        return level

    def __call__(self, module: nn.Module, call: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        path = self._path(module)
        if path is None:
            return call(*args, **kwargs)
        if not self._allow_rnn and isinstance(module, nn.RNNBase):
            raise exc.Unsupported("TorchDynamo purposely graph breaks on RNN, GRU, LSTMs")
        shown = self._first.setdefault(id(module), path) if self._shared and len(self._names[id(module)]) > 1 else path
        inside = self._in_layer  # what is inside a layer belongs to the layer
        layer = self._strict and not self._in_layer and is_layer(module)
        if layer:
            name = "l__self___" + shown.replace(".", "_").lower()
            self._opaque = _C.trace_layer(name, type(module).__name__)
            if self._opaque:
                self._state.call(module)
            self._in_layer = True
        self._stack.append((path, id(module)))
        self._ncalls += 1
        self._running.append(self._ncalls)
        if not inside:
            _C.trace_module(*self._level(path, shown, module))
        kept = None
        if path in self._preserve:
            self._preserve.discard(path)
            kept = ModuleCall(path, args, kwargs)
            self.calls.append(kept)
        result = None
        try:
            result = call(*args, **kwargs)
            if kept is not None:
                kept.ended(result)
            return result
        except RuntimeError as error:
            if layer:  # the call that fails is the layer's
                error._call = "L__self___" + shown.replace(".", "_"), args, kwargs
            raise
        finally:
            self._stack.pop()
            self._running.pop()
            if not inside:
                _C.trace_module()
            if layer:
                _C.trace_layer(None)
                self._in_layer = self._opaque = False
                if isinstance(result, (tuple, list)):
                    _C.trace_items(_items(result))

    def _assigned(self, module: nn.Module, name: str, value: Any) -> None:
        """A strict capture cannot express that a tensor becomes an attribute of a module. What is modified in-place
        (`self.count += 1`) is assigned again, and is the same object."""
        if value is module._buffers.get(name):
            return
        if id(module) in self._names and _holds_tensor(value):
            text = f"Mutating module attribute {name} during export."
            raise AssertionError(from_user_code(text, _C.trace_stack()))

    def __enter__(self) -> None:
        assigned = self._assigned if self._strict else None
        loaded = self._loaded if self._strict and self._state is not None else None
        self._before = observe(self, assigned, loaded)

    def __exit__(self, *unused: Any) -> None:
        observe(*self._before)
