# SPDX-License-Identifier: Apache-2.0
"""Scripts as modules that a capture can call: with the names of their arguments, and with the state of the module under
its own names. The script is interpreted under the capture."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import ingot
from ingot import nn
from ingot.jit import _rows
from ingot.onnx import errors
from ingot.onnx._internal import quantized
from ingot.utils import _pytree as pytree


def is_script(model: Any) -> bool:
    from ingot import jit

    kinds = tuple(getattr(jit, name) for name in ("ScriptModule", "ScriptFunction") if hasattr(jit, name))
    return isinstance(model, kinds)


def has_scripts(model: Any) -> bool:
    """Whether the model is a script or calls one as a child."""
    return is_script(model) or any(map(is_script, model.modules()))


# What a script may compute but a model cannot hold: objects, calls of Python. Dictionaries are fine on the way; a model
# does not return them.
_REFUSED = frozenset({"prim::CreateObject"})
# Of methods, inlining leaves those whose body is Python.
_PYTHON = frozenset({"prim::PythonOp", "prim::CallMethod"})


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _is_scope(node: Any) -> bool:
    """Whether an object is only what a with statement enters, torch.no_grad() for example."""
    scope = ("prim::Enter", "prim::Exit", "prim::SetAttr")
    return all(use.user.kind() in scope for use in node.output().uses())


def _is_object(type: Any) -> bool:
    """An object of a class of the script. Packed parameters are none: a program has their tensors as constants."""
    return type.kind() == "ClassType" and not ingot._C._is_native_class(str(type))


def check(script: Any, opset: int) -> None:
    """Raises for what the script computes that a model cannot hold."""
    is_module = isinstance(script, nn.Module)
    fn = script.forward if is_module else script
    children = {name.rpartition(".")[2] for name, _ in script.named_modules()} if is_module else set()
    for node in _nodes(fn.inlined_graph):
        kind = node.kind()
        if kind == "prim::GetAttr" and _is_object(node.output().type()) and node.s("name") not in children:
            raise RuntimeError(
                f"The script has an attribute '{node.s('name')}' of a class ({node.output().type()}): a model in ONNX "
                "has no objects. Keep its tensors and numbers as attributes of the module."
            )
        if kind in _PYTHON or kind.startswith("^"):
            raise RuntimeError(
                f"Couldn't export Python operator {node.hasAttribute('name') and node.s('name') or kind}\n\n"
                "Defined at: the body of a function that is ignored by the script compiler"
            )
        if kind in _REFUSED and not _is_scope(node):
            raise errors.UnsupportedOperatorError(kind, opset)
    if any(value.type().kind() == "DictType" for value in fn.inlined_graph.outputs()):
        raise errors.UnsupportedOperatorError("prim::DictConstruct", opset)


def _parameters(fn: Any, args: tuple) -> list[inspect.Parameter]:
    """The arguments that are given, under their names; the script has the defaults of the others itself."""
    names = [value.debugName().partition(".")[0] for value in fn.graph.inputs()]
    names = [name for i, name in enumerate(names) if i or name != "self"]
    names = [name if name.isidentifier() and name not in names[:i] else f"argument_{i}" for i, name in enumerate(names)]
    given = len(args)
    if args and isinstance(args[-1], dict):
        last = [i + 1 for i, name in enumerate(names) if name in args[-1]]
        given = max([given - 1, *last])
    return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names[:given]]


_NUMBERS = frozenset({"IntType", "FloatType", "BoolType"})


def _as_given(args: tuple, examples: list[Any], kinds: list[str]) -> tuple:
    """Numbers that are fed as tensors, as the numbers that the script takes. kinds: of its arguments."""
    args = tuple(
        arg.item() if isinstance(arg, ingot.Tensor) and i < len(kinds) and kinds[i] in _NUMBERS else arg
        for i, arg in enumerate(args)
    )
    leaves, spec = pytree.tree_flatten(args)
    given = [
        leaf.item() if isinstance(leaf, ingot.Tensor) and isinstance(example, (bool, int, float)) else leaf
        for leaf, example in zip(leaves, examples, strict=False)
    ]
    return pytree.tree_unflatten([*given, *leaves[len(given) :]], spec)


def as_module(script: Any, args: tuple) -> nn.Module:
    """A module whose forward is the script."""
    is_module = isinstance(script, nn.Module)
    fn = script.forward if is_module else script

    examples = pytree.tree_leaves(args)
    kinds = [value.type().kind() for value in fn.graph.inputs()]
    kinds = kinds[1:] if kinds[:1] == ["ClassType"] else kinds
    sequences: list[tuple[int, int, int]] = []

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _rows.as_tensors(quantized.parts_of(fn(*_as_given(args, examples, kinds), **kwargs)), sequences)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    forward.__signature__ = inspect.Signature([own, *_parameters(fn, args)])  # type: ignore[attr-defined]
    # Of the results of the last call; an attribute of the module would be set back after a capture.
    made = type("Scripted", (nn.Module,), {"forward": forward, "sequences": sequences})()
    if is_module:
        for name, value in script.named_parameters():
            # As it is: the script reads this tensor, which need not be an nn.Parameter.
            _place(made, name)._parameters[name.rpartition(".")[2]] = value
        for name, value in script.named_buffers():
            _place(made, name).register_buffer(name.rpartition(".")[2], value)
        made.training = getattr(script, "training", False)  # a frozen module has none
    return made


def _place(root: nn.Module, name: str) -> nn.Module:
    """The module of a dotted name, made where it is missing."""
    for part in name.split(".")[:-1]:
        if part not in root._modules:
            root.add_module(part, nn.Module())
        root = root._modules[part]  # type: ignore[assignment]
    return root
