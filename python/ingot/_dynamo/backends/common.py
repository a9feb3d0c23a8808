# SPDX-License-Identifier: Apache-2.0
"""What backends share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import fx
from ingot._functorch.aot_autograd import aot_module_simplified

__all__ = ["AotAutograd", "aot_autograd"]


class AotAutograd:
    """A backend that compiles forward and backward by the compilers that it was made with."""

    def __init__(self, **kwargs: Any) -> None:
        self.__name__ = "compiler_fn"
        self.kwargs = kwargs

    def __call__(self, gm: fx.GraphModule, example_inputs: list, **kwargs: Any) -> Callable:
        if kwargs:
            raise TypeError(f"aot_autograd-based backend ignores extra kwargs {kwargs}")
        options = dict(self.kwargs)
        for name in ("bw_compiler", "inference_compiler"):
            options[name] = options.get(name) or options["fw_compiler"]
        return aot_module_simplified(gm, example_inputs, **options)


def aot_autograd(**kwargs: Any) -> AotAutograd:
    """A backend made of compilers: fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions."""
    return AotAutograd(**kwargs)
