# SPDX-License-Identifier: Apache-2.0
"""Capture of modules into programs, and programs in files."""

from __future__ import annotations

from typing import Any

from ingot import nn
from ingot._compat import level
from ingot.export import _trace, dynamic_shapes, exported_program, graph_signature
from ingot.export._draft_export import draft_export
from ingot.export._save import load, save
from ingot.export.dynamic_shapes import Constraint, Dim, ShapesCollection, dims, dynamic_dim
from ingot.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from ingot.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from ingot.export.unflatten import FlatArgsAdapter, UnflattenedModule, unflatten
from ingot.utils._pytree import register_dataclass_as_pytree_node

__all__ = [
    "Constraint", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "FlatArgsAdapter",
    "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "UnflattenedModule", "dims", "draft_export",
    "dynamic_dim", "dynamic_shapes", "export", "export_for_training", "exported_program", "graph_signature", "load",
    "register_dataclass", "save", "unflatten",
]  # fmt: skip


def export(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool | None = None,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """Captures `mod` called with `args` and `kwargs` as a functional program, composite operators not decomposed.

    `dynamic_shapes` says which sizes may differ from those of the examples: by parameter name or position, nested as
    the inputs are, per tensor {dimension: Dim} or a tuple with one entry per dimension. Exports are strict and
    functional, unless `ingot.set_compat` chose a later release.
    """
    _trace.refuse_scripts(mod)
    defaults = level()
    strict = defaults.strict if strict is None else strict
    if not defaults.functional:
        return export_for_training(
            mod, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict,
            preserve_module_call_signature=preserve_module_call_signature,
        )  # fmt: skip
    return _trace._export(
        mod, args, kwargs, dynamic_shapes, strict=strict, pre_dispatch=True,
        preserve_module_call_signature=preserve_module_call_signature,
    )  # fmt: skip


def export_for_training(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """As export, but in-place operators are kept: a program that can be trained."""
    _trace.refuse_scripts(mod)
    return _trace._export_for_training(
        mod, args, kwargs, dynamic_shapes, strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
    )  # fmt: skip


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Makes a dataclass a container: its instances may be inputs and outputs of programs."""
    register_dataclass_as_pytree_node(cls, serialized_type_name=serialized_type_name)
