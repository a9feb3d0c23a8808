# SPDX-License-Identifier: Apache-2.0
"""Parts of a capture that is not strict, for users who capture by themselves: constants of a module, fake inputs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from ingot import _C, nn
from ingot._export.passes.lift_constants_pass import ConstantAttrMap
from ingot.utils import _pytree as pytree

__all__ = ["make_fake_inputs"]


def _is_constant_argument(t: Any) -> bool:
    return t is None or isinstance(t, (int, float, bool, str))


def _gather_constant_attrs(m: nn.Module) -> ConstantAttrMap:
    """The tensors and script objects that are attributes of the module or its sub-modules, by their names."""
    found = ConstantAttrMap()
    taken = {id(t) for t in m.buffers()} | {id(p) for p in m.parameters()}

    def visit(module: nn.Module, prefix: str) -> None:
        for name, value in module.__dict__.items():
            if isinstance(value, (_C.Tensor, _C.ScriptObject)) and id(value) not in taken:
                found.add(value, prefix + name)
        for name, child in module.named_children():
            visit(child, f"{prefix}{name}.")

    visit(m, "")
    return found


@contextlib.contextmanager
def _fakify_script_objects(mod: nn.Module, args: tuple, kwargs: dict, fake_mode: Any) -> Iterator[tuple]:
    """(module, arguments, constants, map to the real objects). Objects of scripts are followed as they are."""
    yield mod, args, kwargs, _gather_constant_attrs(mod), {}


def fakify(mode: Any, kp: tuple, t: Any, t_constraints: dict, sources: dict) -> Any:
    """The fake tensor of an input; numbers and texts stay."""
    if _is_constant_argument(t) or isinstance(t, _C.ScriptObject):
        return t
    if not isinstance(t, _C.Tensor):
        raise ValueError(f"Unsupported input type {type(t)}")
    return mode.from_tensor(t)


def make_fake_inputs(
    nn_module: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None,
    dynamic_shapes: Any,
    _is_torch_jit_trace: bool = False,
    allow_complex_guards_as_runtime_asserts: bool = False,
) -> tuple:
    """(fake mode, fake args, fake kwargs, equalities, signature, dynamic shapes): dims that `dynamic_shapes` names are
    symbolic."""
    from ingot._subclasses.fake_tensor import FakeTensorMode
    from ingot.export._binding import bind, pieces
    from ingot.export.dynamic_shapes import read_shapes
    from ingot.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    kwargs = kwargs or {}
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True, export=True)
    inputs = bind(pieces(nn_module, args, kwargs), strict=False)
    entries = read_shapes(nn_module, args, kwargs, dynamic_shapes, False)
    fakes = []
    for one in inputs:
        if not isinstance(one.value, _C.Tensor):
            fakes.append(one.value)
            continue
        dims = entries.get(one.path) or (None,) * one.value.dim()
        kinds = [DimDynamic.STATIC if d is None or isinstance(d, int) else DimDynamic.DYNAMIC for d in dims]
        fakes.append(mode.from_tensor(one.value, symbolic_context=StatelessSymbolicContext(dynamic_sizes=kinds)))
    fake_args, fake_kwargs = pytree.tree_unflatten(fakes, pytree.tree_structure((args, kwargs)))
    return mode, fake_args, fake_kwargs, None, inspect.signature(nn_module.forward), dynamic_shapes
