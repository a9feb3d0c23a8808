# SPDX-License-Identifier: Apache-2.0
"""Freezing: modules whose attributes are constants of their graphs."""

from __future__ import annotations

from ingot import _C
from ingot.jit._script import RecursiveScriptModule, ScriptModule


def freeze(
    mod: ScriptModule, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> RecursiveScriptModule:
    """A copy of a script module in eval mode with its attributes as constants. `preserved_attrs` names attributes and
    methods that stay beside forward; `optimize_numerics` folds normalization into the layers before it."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
            "'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    preserved = list(preserved_attrs or [])
    frozen = RecursiveScriptModule(_C._script_freeze(mod._c, preserved), mod.original_name)
    methods = [name for name in preserved if mod._c._has_method(name)]
    run_frozen_optimizations(frozen, optimize_numerics, methods)
    return frozen


def run_frozen_optimizations(
    mod: ScriptModule, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Optimizes the graphs of a frozen module in place."""
    names = list(preserved_methods or [])
    if mod._c._has_method("forward") and "forward" not in names:
        names.insert(0, "forward")
    for name in names:
        _C._script_optimize_frozen(mod._c, name, optimize_numerics)


def optimize_for_inference(mod: ScriptModule, other_methods: list[str] | None = None) -> ScriptModule:
    """Freezes a module that is not frozen yet."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace "
            "to script your 'nn.Module'."
        )
    if hasattr(mod, "training"):
        mod = freeze(mod.eval(), preserved_attrs=other_methods)
    return mod
