# SPDX-License-Identifier: Apache-2.0
"""Types of values, taken from the schemas and signatures of what is called."""

from __future__ import annotations

import inspect
from typing import Any

from ingot import fx
from ingot.fx.operator_schemas import _torchscript_type_to_python_type, get_signature_for_torch_op, normalize_function

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(fx.Transformer):
    """Gives nodes the types that follow from operators, from annotated modules and from attributes."""

    def __init__(
        self,
        module: fx.GraphModule,
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        made = super().call_function(target, args, kwargs)
        found = None
        if self.annotate_functionals and (target.__module__ or "").startswith("ingot.nn"):
            found = _returned(target)
        elif self.annotate_functionals and normalize_function(target, args, kwargs) is not None:
            signatures = get_signature_for_torch_op(target) or ()
            results = {s.return_annotation for s in signatures if _takes(s, args, kwargs)}
            found = results.pop() if len(results) == 1 else None
        if found is not None:
            made.node.type = found
        return made

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        made = super().call_module(target, args, kwargs)
        found = _returned(self.fetch_attr(target).forward) if self.annotate_modules else None
        if found is not None:
            made.node.type = found
        return made

    def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        made = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            made.node.type = _torchscript_type_to_python_type("Tensor")
        return made


def _returned(fn: Any) -> Any:
    """The annotation of the result; None: there is none."""
    try:
        found = inspect.signature(fn, eval_str=True).return_annotation
    except (NameError, TypeError, ValueError):  # a type that only type checkers know, or no signature
        return None
    return None if found is inspect.Signature.empty else found


def _takes(signature: inspect.Signature, args: tuple, kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True
