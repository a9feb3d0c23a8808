# SPDX-License-Identifier: Apache-2.0
"""Fusing modules of a model by their names."""

from __future__ import annotations

import copy
from typing import Any

from ingot import nn
from ingot.ao.quantization.fuser_method_mappings import get_fuser_method
from ingot.ao.quantization.utils import getattr_from_fqn

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def _set_module(model: Any, name: str, module: Any) -> None:
    parent, _, last = name.rpartition(".")
    setattr(getattr_from_fqn(model, parent) if parent else model, last, module)


def fuse_known_modules(mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: Any = None) -> list[Any]:
    """The fused module in the place of the first one, identities in those of the others."""
    method = get_fuser_method(tuple(type(m) for m in mod_list), additional_fuser_method_mapping)
    fused = method(is_qat, *mod_list)
    # Hooks before the first module and behind the last one stay.
    for hook in list(mod_list[0]._forward_pre_hooks.values()):
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in list(mod_list[-1]._forward_hooks.values()):
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    made = [fused]
    for _ in mod_list[1:]:
        identity = nn.Identity()
        identity.training = mod_list[0].training
        made.append(identity)
    return made


def _fuse(model: Any, names: Any, is_qat: bool, inplace: bool, fuser_func: Any, custom: Any) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    groups = names if names and not isinstance(names[0], str) else [names]
    more = (custom or {}).get("additional_fuser_method_mapping", {})
    for group in groups:
        modules = [getattr_from_fqn(model, name) for name in group]
        for name, module in zip(group, fuser_func(modules, is_qat, more)):
            _set_module(model, name, module)
    return model


def fuse_modules(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """Conv-BN, Conv-BN-ReLU, Conv-ReLU, Linear-ReLU, BN-ReLU and the like become one module each."""
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """The same for training with fake quantization: batch norms stay modules."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
