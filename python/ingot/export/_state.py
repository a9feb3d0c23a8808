# SPDX-License-Identifier: Apache-2.0
"""The state of a module around a capture: what is declared to the engine, and what the program did to it meanwhile.

Parameters and buffers are declared under all their names. Tensors that are plain attributes get a name and become
inputs only if the program reads them. When the capture is over, everything is as it was before it: attributes,
containers in them, buffers. A buffer that was assigned is a mutation; a plain tensor attribute must not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import is_
from typing import Any

from ingot import _C, nn
from ingot._C import Tensor
from ingot.export._modules import is_layer, is_layer_forward

_OWN = frozenset(nn.Module().__dict__) - {"training"}
CONTAINED = "self___"  # prefix of tensors that a strict capture found inside containers
FUNCTION = "fn"  # the name of a layer that is captured by itself
_ATOMS = frozenset((int, float, bool, str, type(None)))


class _Snapshot:
    """A list, dict or set (or a tuple that holds some) and what it contains; leaves are the same objects."""

    __slots__ = ("content", "value")

    def __init__(self, value: Any, content: Any) -> None:
        self.value = value
        self.content = content


def _is_flat(value: Any) -> bool:
    """Whether a list or tuple has nothing but numbers and texts in it."""
    return _ATOMS.issuperset(map(type, value))


def _snapshot(value: Any, depth: int = 0) -> Any:
    if type(value) is list and _is_flat(value):
        return _Snapshot(value, value[:])
    if depth > 20 or isinstance(value, nn.Module):
        return value
    if type(value) is list or type(value) is tuple:
        return _Snapshot(value, [_snapshot(v, depth + 1) for v in value])
    if isinstance(value, dict):
        return _Snapshot(value, {k: _snapshot(v, depth + 1) for k, v in value.items()})
    return _Snapshot(value, set(value)) if type(value) is set else value


def _restored(saved: Any) -> Any:
    """The object of a snapshot, with its contents of then."""
    if not isinstance(saved, _Snapshot):
        return saved
    value, content = saved.value, saved.content
    if type(value) is list and len(value) == len(content) and all(map(is_, value, content)):
        return value
    if type(value) is set:
        value.clear()
        value.update(content)
    elif isinstance(value, dict):
        items = {k: _restored(v) for k, v in content.items()}
        if len(items) != len(value) or any(k not in value or value[k] is not v for k, v in items.items()):
            value.clear()
            value.update(items)
    else:
        items = [_restored(v) for v in content]
        if type(value) is list and (len(items) != len(value) or any(map(lambda a, b: a is not b, items, value))):
            value[:] = items
    return value


def _tensors(value: Any, text: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield text, value
    elif isinstance(value, (list, tuple)):
        for i, item in () if _is_flat(value) else enumerate(value):
            yield from _tensors(item, f"{text}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, f"{text}[{key!r}]")


def _source_name(text: str) -> str:
    """The name of a tensor inside a container in a strict capture: sub.items[0] is self___sub_items_0."""
    return CONTAINED + re.sub(r"[^a-zA-Z0-9]", "_", re.sub(r"\[(\d+)\]", r"_\1", text))


class _Attributes:
    """The plain attributes of one module as they were."""

    __slots__ = ("contents", "module", "others", "path", "tensors", "values")

    def __init__(self, path: str, module: nn.Module) -> None:
        self.path = path
        self.module = module
        self.values = dict(module.__dict__)
        self.others = self._others()
        self.contents = [_snapshot(v) for v in self.others.values()]
        self.tensors = self._named(self.others)

    def _others(self) -> dict[str, Any]:
        """Attributes that change or hold a tensor: few, in most layers."""
        return {
            k: v
            for k, v in self.module.__dict__.items()
            if type(v) not in _ATOMS and k not in _OWN and not (type(v) is tuple and _is_flat(v))
        }

    def _named(self, values: dict[str, Any]) -> dict[str, Tensor]:
        """Tensors among the attributes by their spelling from the root."""
        found: dict[str, Tensor] = {}
        for key, value in values.items():
            if type(value) is not list or not _is_flat(value):
                found.update(_tensors(value, f"self.{self.path}.{key}" if self.path else f"self.{key}"))
        return found

    def _is_same(self) -> bool:
        """Whether all attributes are the objects that they were."""
        now, then = self.module.__dict__, self.values
        return len(now) == len(then) and all(map(is_, now, then)) and all(map(is_, now.values(), then.values()))

    def assigned(self) -> list[str]:
        """Names of the tensor attributes that are something else now, spelled from the root. One that appears during
        the export (a cache that is filled on first use) is no state of the module."""
        if not self.tensors:
            return []
        now = self._named(self.others if self._is_same() else self._others())
        return [name for name, t in self.tensors.items() if now.get(name) is not t]

    def restore(self) -> None:
        if not self._is_same():
            state = self.module.__dict__
            for name in [k for k in state if k not in _OWN and k not in self.values]:
                del state[name]
            for name, value in self.values.items():
                if name not in _OWN and state.get(name, self) is not value:
                    state[name] = value
        for saved in self.contents:
            _restored(saved)


def _copy_attributes(tensor: Tensor, fake: Tensor) -> None:
    """Attributes that the program may have set on its parameters."""
    for name, value in tensor.__dict__.items():
        setattr(fake, name, value)


class State:
    """The state of a module, taken before a capture."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.modules = list(module.named_modules(remove_duplicate=False))  # under all their names
        once = {id(m): (path, m) for path, m in reversed(self.modules)}  # under the first one
        modules = [once.pop(id(m)) for _, m in self.modules if id(m) in once]
        self.attributes = [_Attributes(path, m) for path, m in modules]
        self.buffers = [(m, k, t) for _, m in modules for k, t in m._buffers.items() if t is not None]
        self.parameters = [(m, k, t) for _, m in modules for k, t in m._parameters.items()]
        self._fakes: dict[tuple[int, str], Tensor] = {}  # by the place that holds it
        self._real: dict[tuple[int, str], tuple[str, Tensor]] = {}  # the name and the tensor of the place
        # What a strict capture read: tensors by themselves (placeholder, its name, the name that was read, kind) and
        # layers that were called.
        self._direct: dict[int, tuple[Tensor, str, str, str]] = {}
        self._layers: dict[int, nn.Module] = {}

    def declare(self, strict: bool, training: bool) -> None:
        """Declares all tensors of the module to the open capture, and replaces them by fake ones.

        A module of several names has a placeholder for each of them, the last one in use; in a strict capture that one
        alone. Two modules that share a tensor have a placeholder each; a program for training reads the last of them.
        A strict capture has one placeholder for all modules that are no layers; see order() for what becomes of it.
        """
        for slots in ("_parameters", "_buffers"):
            found: list[tuple[str, str, dict, str, Tensor]] = []
            for path, module in self.modules:
                members = getattr(module, slots)
                if not members:
                    continue
                passing = module._non_persistent_buffers_set if slots == "_buffers" else ()
                for key, tensor in members.items():
                    if tensor is not None:
                        kind = "temporary" if key in passing else "parameter" if slots == "_parameters" else "buffer"
                        found.append((kind, f"{path}.{key}" if path else key, members, key, tensor))
            owners = self._owners(found) if strict else {}
            for kind, name, members, key, tensor in found:
                own = not strict or owners[id(members), key] == name
                fake = _C.capture_state(kind, name, tensor, "alias" if own else "name")
                if own:
                    _copy_attributes(tensor, fake)
                    self._fakes[id(members), key] = fake
                    self._real[id(members), key] = name, tensor
            latest = {id(tensor): self._fakes[place] for _, _, members, key, tensor in found
                      if (place := (id(members), key)) in self._fakes}  # fmt: skip
            for _, _, members, key, tensor in found:
                place = id(members), key
                if (training and not strict) or place not in self._fakes:
                    self._fakes[place] = latest[id(tensor)]
                members[key] = self._fakes[place]
        _C.capture_state_order([  # as module.state_dict() goes
            f"{path}.{key}" if path else key for path, module in self.modules
            for members in (module._parameters, module._buffers) for key in members
        ])  # fmt: skip
        holders = {id(a.module) for a in self.attributes if a.tensors}
        for path, module in self.modules:
            for name, value in module.__dict__.items() if id(module) in holders else ():
                if name in _OWN:
                    continue
                full = f"{path}.{name}" if path else name
                if isinstance(value, Tensor):
                    _C.capture_state("constant", full, value, "name")
                elif strict:
                    for text, tensor in _tensors(value, full):
                        _C.capture_state("constant", _source_name(text), tensor, "name")

    def _owners(self, found: list[tuple[str, str, dict, str, Tensor]]) -> dict[tuple[int, str], str]:
        """For every place of a strict capture the name that has its placeholder."""
        layers = {id(m.__dict__[s]) for _, m in self.modules if is_layer(m) for s in ("_parameters", "_buffers")}
        last = {(id(members), key): name for _, name, members, key, _ in found}
        free = {id(t): last[id(members), key] for _, _, members, key, t in found if id(members) not in layers}
        return {
            (id(members), key): last[id(members), key] if id(members) in layers else free[id(tensor)]
            for _, _, members, key, tensor in found
        }

    def read(self, module: nn.Module, kind: str, key: str, value: Tensor, place: str) -> Tensor:
        """A strict capture reads a parameter or buffer outside of layers: the placeholder that stands for it."""
        slot = id(module.__dict__[kind]), key
        if self._fakes.get(slot) is not value:
            return value  # assigned meanwhile
        name, tensor = self._real.get(slot) or next(r for s, r in self._real.items() if self._fakes[s] is value)
        known = self._direct.get(id(tensor))
        if known is None:
            own = value
            if kind == "_parameters" and is_layer(module):  # the layer keeps the one that it has
                again = _C.capture_state("parameter", name, tensor, "again")
                if again is not None:
                    own = again
                    _copy_attributes(tensor, own)
            known = self._direct[id(tensor)] = own, name, f"{place}.{key}" if place else key, kind
        return known[0]

    def call(self, layer: nn.Module) -> None:
        """A strict capture calls a layer, whose state belongs to the program from then on."""
        self._layers[id(layer)] = layer

    def order(self, kept: list[Any]) -> list[tuple[Any, int]]:
        """The inputs of a strict capture, with a number that is the same for the same tensor: what was read by itself,
        then the layers', each in the order of reading; parameters first. The rest is not an input."""
        order: list[tuple[Any, int]] = []
        for kind in ("_parameters", "_buffers"):
            order += [(fake, at) for at, (fake, _, _, slots) in self._direct.items() if slots == kind]
            for layer in self._layers.values():
                for _, module in layer.named_modules(remove_duplicate=False):
                    slots = [(id(module.__dict__[kind]), key) for key in module.__dict__[kind]]
                    order += [(self._fakes[s], id(self._real[s][1])) for s in slots if s in self._real]
        written = {id(tensor) for tensor, _ in self.assigned_buffers()}
        order += [(self._fakes[s], id(t)) for s, (_, t) in self._real.items() if id(t) in written]
        return order + [(value, id(value)) for value in kept]

    def names_of(self, shown: dict[str, str], strict: bool) -> dict[str, str]:
        """For state that is shown under another name than its own, as that of modules of several names: name -> what it
        is shown as."""
        out = {}
        for path, module in self.modules:
            if path in shown and shown[path] != path:
                for key in (*module._parameters, *module._buffers):
                    out[f"{path}.{key}"] = f"{shown[path]}.{key}"
        out.update({name: read for _, name, read, _ in self._direct.values() if name != read})
        return self._below_function(out) if strict and is_layer_forward(self.module) else out

    def _below_function(self, shown: dict[str, str]) -> dict[str, str]:
        """A strict capture of a layer by itself does not enter it but calls it, as the function that it is given."""
        names = (f"{path}.{key}" if path else key for path, m in self.modules for key in (*m._parameters, *m._buffers))
        return {name: f"{FUNCTION}.{shown.get(name, name)}" for name in names}

    def tensors(self) -> Iterator[Tensor]:
        """All parameters and buffers."""
        for _, _, tensor in (*self.parameters, *self.buffers):
            if tensor is not None:
                yield tensor

    def assigned_buffers(self) -> list[tuple[Tensor, Tensor]]:
        """(buffer, what was assigned instead) for buffers that are other tensors now."""
        out = []
        for module, name, tensor in self.buffers:
            now = module._buffers.get(name)
            if now is not None and now is not self._fakes.get((id(module._buffers), name), tensor):
                out.append((tensor, now))
        return out

    def assigned_attributes(self) -> list[str]:
        return [name for attributes in self.attributes for name in attributes.assigned()]

    def restore(self) -> None:
        for attributes in self.attributes:
            attributes.restore()
        for module, name, tensor in self.buffers:
            module._buffers[name] = tensor
        for module, name, tensor in self.parameters:
            module._parameters[name] = tensor


def refuse_assigned(names: list[str]) -> None:
    """Plain tensor attributes that the program assigned."""
    if not names:
        return
    many = len(names) > 1
    raise ValueError(
        f"The tensor attribute{'s' * many} {', '.join(names)} {'were' if many else 'was'} assigned during export. "
        "Such attributes must be registered as buffers using the `register_buffer` API "
        "(https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer)."
    )
