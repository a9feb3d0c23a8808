# SPDX-License-Identifier: Apache-2.0
"""Calling a module with other tensors instead of its parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ingot._C import Tensor
from ingot.nn.modules.module import Module, named_tensors


def _owner(module: Module, name: str) -> tuple[dict, str]:
    """The dict of parameters or buffers that holds a dotted name."""
    path, _, leaf = name.rpartition(".")
    module = module.get_submodule(path)
    for members in (module._parameters, module._buffers):
        if leaf in members:
            return members, leaf
    raise KeyError(name)


def _tied_names(module: Module) -> dict[str, list[str]]:
    """name -> all names of the same tensor."""
    groups: dict[int, list[str]] = {}
    for kind in (module.named_parameters, module.named_buffers):
        for name, tensor in kind(remove_duplicate=False):
            groups.setdefault(id(tensor), []).append(name)
    return {name: names for names in groups.values() for name in names}


@contextmanager
def _reparametrize_module(
    module: Module,
    tensors: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Inside the block the module has the given tensors; names that share a tensor are replaced together if
    tie_weights."""
    groups = _tied_names(module)
    unexpected = [name for name in tensors if name not in groups]
    wanted = dict(tensors)
    if tie_weights:
        for name, tensor in tensors.items():
            for other in groups.get(name, ()):
                if wanted.setdefault(other, tensor) is not tensor and other not in tensors:
                    raise ValueError(
                        f"functional_call got multiple values for keys {sorted(groups[name])}, which are tied."
                    )
        for name, tensor in tensors.items():
            for other in groups.get(name, ()):
                if wanted[other] is not tensor:
                    raise ValueError(
                        f"functional_call got multiple values for keys {sorted(groups[name])}, which are tied. "
                        f"Consider using tie_weights=False"
                    )
    if strict:
        missing = [name for name, _ in named_tensors(module) if name not in wanted]
        if missing or unexpected:
            text = f"Error(s) in loading state_dict for {type(module).__name__}:"
            text += f"\n\tUnexpected key(s): {', '.join(sorted(unexpected))}." if unexpected else ""
            text += f"\n\tMissing key(s): {', '.join(sorted(missing))}." if missing else ""
            raise RuntimeError(text)
    places = []
    for name, tensor in wanted.items():
        if name in groups:
            places.append((*_owner(module, name), tensor))
    before = [members[leaf] for members, leaf, _ in places]
    for members, leaf, tensor in places:
        members[leaf] = tensor
    try:
        yield
    finally:
        for (members, leaf, tensor), old in zip(places, before):
            if members[leaf] is not tensor and isinstance(
                tensors, dict
            ):  # the call assigned another tensor: return it
                for name in [n for n, t in tensors.items() if t is tensor]:
                    tensors[name] = members[leaf]
            members[leaf] = old


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor] | tuple,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with the given parameters and buffers instead of its own."""
    if isinstance(parameters_and_buffers, (tuple, list)):
        merged: dict[str, Tensor] = {}
        for part in parameters_and_buffers:
            twice = [name for name in part if name in merged]
            if twice:
                raise ValueError(
                    f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            merged.update(part)
        parameters_and_buffers = merged
    if not isinstance(parameters_and_buffers, dict):
        raise ValueError(
            f"Expected parameters_and_buffers to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameters_and_buffers)}"
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
