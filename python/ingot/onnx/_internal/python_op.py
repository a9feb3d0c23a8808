# SPDX-License-Identifier: Apache-2.0
"""Calls of torch.autograd.Function that a translation in Python writes: they are captured as one operator each, made
for the export and removed after it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import ingot
from ingot.autograd import function
from ingot.library import Library
from ingot.onnx._globals import GLOBALS
from ingot.onnx._internal import symbolic
from ingot.onnx._internal.registration import registry

SPACE = "ingot_python_op"


def translation() -> Callable | None:
    """A user's translation of all such calls."""
    group = registry.get_function_group("prim::PythonOp")
    return group.custom(GLOBALS.export_onnx_opset_version) if group is not None else None


def is_kept(cls: type) -> bool:
    """Whether a call stays one: the class has a translation, or users translate all of them."""
    return hasattr(cls, "symbolic") or translation() is not None or not GLOBALS.autograd_inlining


class PythonOps:
    """The operators of one export."""

    def __init__(self) -> None:
        self.library = Library(SPACE, "FRAGMENT")
        self.calls: dict[str, tuple[type, tuple]] = {}

    def __call__(self, cls: type, args: tuple) -> Any:
        if not is_kept(cls):
            return NotImplemented
        with function.handler(None):
            example = cls.apply(*args)  # type: ignore[attr-defined]
        single = not isinstance(example, (tuple, list))
        count = 1 if single else len(example)
        places = [i for i, a in enumerate(args) if isinstance(a, ingot.Tensor)]
        name = f"{cls.__name__}_{len(self.calls)}"
        parameters = ", ".join(f"Tensor a{i}" for i in places)
        self.library.define(f"{name}({parameters}) -> ({', '.join(['Tensor'] * count)})")

        def forward(*tensors: Any) -> Any:
            given = list(args)
            for i, tensor in zip(places, tensors, strict=True):
                given[i] = tensor
            with function.handler(None):
                out = cls.apply(*given)  # type: ignore[attr-defined]
            # An operator makes new tensors.
            return out.clone() if single else tuple(o.clone() for o in out)

        self.library.impl(name, forward, "CompositeExplicitAutograd")
        self.library._register_fake(name, forward)
        self.calls[f"{SPACE}.{name}.default"] = (cls, args)
        out = getattr(getattr(ingot.ops, SPACE), name)(*[args[i] for i in places])
        return out if single else tuple(out)

    def translations(self) -> dict[str, Callable]:
        return {target: self._translation(cls, args) for target, (cls, args) in self.calls.items()}

    def _translation(self, cls: type, args: tuple) -> Callable:
        every = translation()

        def run(builder: Any, operands: list[Any]) -> list[str]:
            own = getattr(cls, "symbolic", None)
            if own is None and every is not None:
                return symbolic.run(every, builder, operands, name=cls.__name__)
            if own is None:
                return symbolic.run(_as_it_is(cls, len(operands)), builder, operands)

            def fn(g: Any, *values: Any) -> Any:
                tensors = iter(values)
                given = [next(tensors) if isinstance(a, ingot.Tensor) else a for a in args]
                return own(g, *given)

            return symbolic.run(fn, builder, operands)

        return run

    def close(self) -> None:
        self.library._destroy()


def _as_it_is(cls: type, count: int) -> Callable:
    def fn(g: Any, *values: Any) -> Any:
        return g.op("prim::PythonOp", *values, inplace_i=0, module_s=cls.__module__)

    return fn


@contextlib.contextmanager
def collected() -> Iterator[PythonOps]:
    """While a model is captured and written."""
    ops = PythonOps()
    try:
        with function.handler(ops):
            yield ops
    finally:
        ops.close()
