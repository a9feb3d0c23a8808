# SPDX-License-Identifier: Apache-2.0
"""Which modules of a model can be exported."""
from __future__ import annotations

from typing import Any

from ingot import nn
from ingot.export import export

__all__ = ["report_exportability"]


def report_exportability(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    strict: bool = True,
    pre_dispatch: bool = False,
) -> dict[str, Exception | None]:
    """By path: None, or the error of an export of that module. Children of a module that works are not tried."""
    calls: dict[str, tuple[tuple, dict[str, Any]]] = {"": (args, kwargs or {})}
    handles = []
    for name, module in mod.named_modules():
        if name:

            def keep(_: nn.Module, a: tuple, k: dict[str, Any], name: str = name) -> None:
                calls.setdefault(name, (a, k))

            handles.append(module.register_forward_pre_hook(keep, with_kwargs=True))
    try:
        mod(*args, **(kwargs or {}))
    finally:
        for handle in handles:
            handle.remove()
    report: dict[str, Exception | None] = {}

    def attempt(path: str, module: nn.Module) -> None:
        if path not in calls:
            return
        try:
            export(module, calls[path][0], calls[path][1], strict=strict)
            report[path] = None
        except Exception as error:
            report[path] = error
            for name, child in module.named_children():
                attempt(f"{path}.{name}" if path else name, child)

    attempt("", mod)
    return report
