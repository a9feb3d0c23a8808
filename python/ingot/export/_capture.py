# SPDX-License-Identifier: Apache-2.0
"""From a module and example inputs to a program: binds arguments to names, declares the module's state, runs it on fake
tensors while the engine records."""
import inspect
import re
from typing import Any

from ingot import _C, nn
from ingot.export.exported_program import ExportedProgram
from ingot.utils import _pytree as pytree


def _key_text(key: object) -> str:
    for field in ("key", "idx", "name"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key)


def _input_names(forward: Any, args: tuple, kwargs: dict) -> list[str]:
    """One name per flat input: the argument's, followed by the path inside it."""
    try:
        bound = inspect.signature(forward).bind(*args, **kwargs)
    except TypeError as e:
        raise TypeError(f"export: the arguments do not fit {getattr(forward, '__qualname__', forward)}: {e}") from e
    kinds = inspect.signature(forward).parameters
    tree: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if kinds[name].kind is inspect.Parameter.VAR_KEYWORD:
            tree |= value
        else:
            tree[name] = value
    paths, _ = pytree.tree_flatten_with_path(tree)
    return [re.sub(r"\W", "_", "_".join(_key_text(k) for k in path)).lower() for path, _ in paths]


def _declare_state(module: nn.Module) -> None:
    persistent = set(module.state_dict(keep_vars=True))
    for name, tensor in module.named_parameters(remove_duplicate=False):
        _C.capture_state("parameter", name, tensor)
    for name, tensor in module.named_buffers(remove_duplicate=False):
        _C.capture_state("buffer" if name in persistent else "temporary", name, tensor)


def export(mod: nn.Module, args: tuple, kwargs: dict[str, Any] | None = None) -> ExportedProgram:
    """Captures `mod` called with `args` and `kwargs` as a program of fixed shapes."""
    if not isinstance(mod, nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    kwargs = kwargs or {}
    leaves, in_spec = pytree.tree_flatten((args, kwargs))
    names = _input_names(mod.forward, args, kwargs)
    _C.capture_begin()
    try:
        _declare_state(mod)
        fakes = [_C.capture_input(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
        fake_args, fake_kwargs = pytree.tree_unflatten(fakes, in_spec)
        outputs, out_spec = pytree.tree_flatten(mod(*fake_args, **fake_kwargs))
        program = _C.capture_end(outputs)
    except BaseException:
        _C.capture_abort()
        raise
    program.set_specs(pytree.treespec_dumps(in_spec), pytree.treespec_dumps(out_spec))
    return ExportedProgram(program)
