# SPDX-License-Identifier: Apache-2.0
"""Scripts as modules that a capture can call: with the names of their arguments, and with the state of the module under
its own names. The script is interpreted under the capture."""

from __future__ import annotations

import inspect
from typing import Any

from ingot import nn


def is_script(model: Any) -> bool:
    from ingot import jit

    kinds = tuple(getattr(jit, name) for name in ("ScriptModule", "ScriptFunction") if hasattr(jit, name))
    return isinstance(model, kinds)


def _parameters(fn: Any, args: tuple) -> list[inspect.Parameter]:
    """The arguments that are given, under their names; the script has the defaults of the others itself."""
    names = [value.debugName().partition(".")[0] for value in fn.graph.inputs()]
    names = [name for i, name in enumerate(names) if i or name != "self"]
    given = len(args)
    if args and isinstance(args[-1], dict):
        last = [i + 1 for i, name in enumerate(names) if name in args[-1]]
        given = max([given - 1, *last])
    return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names[:given]]


def as_module(script: Any, args: tuple) -> nn.Module:
    """A module whose forward is the script."""
    is_module = isinstance(script, nn.Module)
    fn = script.forward if is_module else script

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    forward.__signature__ = inspect.Signature([own, *_parameters(fn, args)])  # type: ignore[attr-defined]
    made = type("Scripted", (nn.Module,), {"forward": forward})()
    if is_module:
        for name, value in script.named_parameters():
            # As it is: the script reads this tensor, which need not be an nn.Parameter.
            _place(made, name)._parameters[name.rpartition(".")[2]] = value
        for name, value in script.named_buffers():
            _place(made, name).register_buffer(name.rpartition(".")[2], value)
        made.training = script.training
    return made


def _place(root: nn.Module, name: str) -> nn.Module:
    """The module of a dotted name, made where it is missing."""
    for part in name.split(".")[:-1]:
        if part not in root._modules:
            root.add_module(part, nn.Module())
        root = root._modules[part]  # type: ignore[assignment]
    return root
