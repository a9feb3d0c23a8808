# SPDX-License-Identifier: Apache-2.0
"""Constants that a graph reads as attributes become inputs of it."""
from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from ingot import fx, nn
from ingot._C import ScriptObject, Tensor
from ingot.export.graph_signature import (
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    TensorArgument,
)  # fmt: skip

__all__ = ["ConstantAttrMap", "lift_constants_pass"]


class ConstantAttrMap(MutableMapping):
    """Constants (by identity) and the names of the attributes that hold them."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, list[str]]] = {}

    def __getitem__(self, constant: Any) -> list[str]:
        found = self._kept.get(id(constant))
        if found is None:
            raise KeyError(constant)
        return found[1]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError(
            "Directly setting values for ConstantAttrMap is not supported, please use add(key, value) instead."
        )

    def __delitem__(self, constant: Any) -> None:
        if id(constant) not in self._kept:
            raise KeyError(constant)
        del self._kept[id(constant)]

    def __iter__(self) -> Iterator[Any]:
        return iter([constant for constant, _ in self._kept.values()])

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, constant: object) -> bool:
        return id(constant) in self._kept

    def add(self, constant: Any, name: str) -> None:
        """Notes that an attribute of this name holds the constant: a tensor or an object."""
        if isinstance(constant, (int, float, str, bool, bytes, tuple, list, dict, type(None))):
            raise TypeError(f"Expected key to be a tensor or ScriptObject, got {type(constant)}")
        self._kept.setdefault(id(constant), (constant, []))[1].append(name)

    def names(self, constant: Any) -> list[str]:
        return self[constant] if constant in self else []


def _names(given: Any, constant: Any) -> list[str]:
    if isinstance(given, ConstantAttrMap):
        return given.names(constant)
    for key, names in dict(given).items():
        if key is constant:
            return [names] if isinstance(names, str) else list(names)
    return []


def get_constant_fqn(node: Any, constant_name: str) -> str:
    """The name of a constant below the module that reads it."""
    stack = node.meta.get("nn_module_stack")
    parent = list(stack.values())[-1][0] if stack else ""
    return f"{parent}.{constant_name}" if parent else constant_name


def rewrite_script_object_meta(gm: fx.GraphModule) -> dict[str, Any]:
    """Objects in the metadata of inputs become arguments of the signature; returns the objects by input."""
    constants: dict[str, Any] = {}
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, ScriptObject):
            constants[node.name] = value
            node.meta["val"] = CustomObjArgument(node.name, _class(value))
    return constants


def _value(module: nn.Module, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _fresh(graph: fx.Graph, signature: ExportGraphSignature, constant: Any, taken: set[str]) -> str:
    base = "lifted_tensor_" if isinstance(constant, Tensor) else "lifted_custom_"
    number = 0
    while f"{base}{number}" in taken:
        number += 1
    return f"{base}{number}"


def lift_constants_pass(
    gm: fx.GraphModule, graph_signature: ExportGraphSignature, constant_attrs: Any
) -> dict[str, Any]:
    """Replaces get_attr nodes of tensors and objects by placeholders in front of the user's inputs, adds their specs to
    the signature and returns the constants by name. `constant_attrs` names constants that have names already."""
    graph = gm.graph
    specs = graph_signature.input_specs
    taken = {s.target for s in specs if s.target}
    first = next((i for i, s in enumerate(specs) if s.kind is InputKind.USER_INPUT), len(specs))
    holders = [n for n in graph.nodes if n.op == "placeholder"]
    before = holders[first] if first < len(holders) else next(n for n in graph.nodes if n.op != "placeholder")
    constants: dict[str, Any] = {}
    made: dict[int, Any] = {}
    for node in [n for n in graph.nodes if n.op == "get_attr"]:
        constant = _value(gm, node.target)
        if isinstance(constant, (fx.GraphModule, fx.Graph)):
            continue
        names = _names(constant_attrs, constant)
        if not names:
            names = [get_constant_fqn(node, _fresh(graph, graph_signature, constant, taken | set(constants)))]
        constants |= dict.fromkeys(names, constant)
        if id(constant) not in made:
            tensor = isinstance(constant, Tensor)
            with graph.inserting_before(before):
                name = ("c_" if tensor else "obj_") + names[0].replace(".", "_")
                made[id(constant)] = holder = graph.placeholder(name)
            for key, value in node.meta.items():
                holder.meta[key] = value
            kind = InputKind.CONSTANT_TENSOR if tensor else InputKind.CUSTOM_OBJ
            arg: Any = TensorArgument(holder.name) if tensor else CustomObjArgument(holder.name, _class(constant))
            if "val" not in holder.meta:
                holder.meta["val"] = constant if tensor else arg
            specs.insert(first, InputSpec(kind, arg, names[0]))
            first += 1
        node.replace_all_uses_with(made[id(constant)])
        graph.erase_node(node)
    gm.recompile()
    return constants


def _class(constant: Any) -> str:
    cls = type(constant)
    return getattr(constant, "_type_name", f"{cls.__module__}.{cls.__qualname__}")
