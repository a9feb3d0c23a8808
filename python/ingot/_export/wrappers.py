# SPDX-License-Identifier: Apache-2.0
"""Marks on modules for capture."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ingot import nn
from ingot._higher_order_ops.strict_mode import strict_mode
from ingot._ops import HigherOrderOperator
from ingot.utils import _pytree as pytree

__all__: list[str] = []


def _mark_strict_experimental(cls: type) -> type:
    """Calls of the module are regions of strict_mode."""
    plain = cls.__call__

    def call(self: Any, *args: Any) -> Any:
        return strict_mode(lambda *inner: plain(self, *inner), args)

    cls.__call__ = call
    return cls


def _trace(*args: Any, **kwargs: Any) -> tuple:
    return args


# Stands in a graph where the arguments (kind "module_call_inputs") or results of the module at `path` are known.
_export_tracepoint = HigherOrderOperator("_export_tracepoint", _trace)


@contextlib.contextmanager
def _wrap_submodules(f: nn.Module, preserve_signature: Any, module_call_signatures: dict[str, Any]) -> Iterator[None]:
    """While it is open, the calls of the modules at these paths note their structure in `module_call_signatures`, by
    path, and pass their arguments and results through tracepoints."""
    from ingot.export.exported_program import ModuleCallSignature

    handles = []

    def wrap(path: str) -> None:
        module = f
        for part in path.split(".") if path else ():
            if not hasattr(module, part):
                raise RuntimeError(f"Couldn't find submodule at path {path}")
            module = getattr(module, part)

        def before(_: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple:
            leaves, in_spec = pytree.tree_flatten((args, kwargs))
            known = module_call_signatures.get(path)
            if known is not None and known.in_spec != in_spec:
                raise AssertionError(f"{path} is called with arguments of different structures")
            module_call_signatures.setdefault(
                path, ModuleCallSignature(inputs=[], outputs=[], in_spec=in_spec, out_spec=None)
            )
            traced = _export_tracepoint(*leaves, kind="module_call_inputs", path=path)
            return pytree.tree_unflatten(traced, in_spec)

        def after(_: nn.Module, args: tuple, kwargs: dict[str, Any], result: Any) -> Any:
            leaves, out_spec = pytree.tree_flatten(result)
            module_call_signatures[path].out_spec = out_spec
            traced = _export_tracepoint(*leaves, kind="module_call_outputs", path=path)
            return pytree.tree_unflatten(traced, out_spec)

        handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        handles.append(module.register_forward_hook(after, with_kwargs=True))

    try:
        for path in preserve_signature:
            wrap(path)
        yield
    finally:
        for handle in handles:
            handle.remove()
