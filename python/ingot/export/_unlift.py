# SPDX-License-Identifier: Apache-2.0
"""A program as a module with its state."""
from __future__ import annotations

import enum
from typing import Any

from ingot import fx, nn
from ingot.export.exported_program import ExportedProgram
from ingot.fx.graph_module import _assign_attr as _assign

__all__ = ["_unlift_exported_program_lifted_states"]


class _AttrKind(enum.Enum):
    """What an attribute of a module is."""

    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    MODULE = "module"


def _assign_attr(from_obj: Any, to_module: nn.Module, target: str, attr_kind: _AttrKind,
                 persistent: bool = True) -> None:  # fmt: skip
    """Puts a value at a path below a module, with empty modules on the way."""
    *prefix, name = target.split(".")
    for part in prefix:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, nn.Module())
        to_module = getattr(to_module, part)
    if attr_kind is _AttrKind.PARAMETER:
        to_module.register_parameter(name, from_obj)
    elif attr_kind is _AttrKind.BUFFER:
        to_module.register_buffer(name, from_obj, persistent=persistent)
    else:
        _assign(from_obj, to_module, name) if attr_kind is _AttrKind.MODULE else setattr(to_module, name, from_obj)


def _unlift_exported_program_lifted_states(ep: ExportedProgram) -> fx.GraphModule:
    """A module that is called as the captured one was."""
    return ep.module()
