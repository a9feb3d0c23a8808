# SPDX-License-Identifier: Apache-2.0
"""Compilers for AOT autograd: functions of (graph module, example inputs) that return a callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot import fx
from ingot._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
    make_boxed_compiler,
    make_boxed_func,
)
from ingot._functorch.partitioners import default_partition, min_cut_rematerialization_partition

__all__ = [
    "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module", "debug_compile",
    "default_partition", "make_boxed_compiler", "make_boxed_func", "memory_efficient_fusion",
    "min_cut_rematerialization_partition", "nop", "print_compile", "ts_compile",
]  # fmt: skip


@make_boxed_compiler
def nop(fx_g: fx.GraphModule, _: Any) -> Callable:
    """The graph itself."""
    return fx_g


@make_boxed_compiler
def print_compile(fx_g: fx.GraphModule, _: Any) -> Callable:
    """The graph itself, after its code was printed."""
    print(fx_g.code)
    return fx_g


debug_compile = print_compile


@make_boxed_compiler
def ts_compile(fx_g: fx.GraphModule, inps: Any) -> Callable:
    """The graph, which the engine runs as it is: there is no faster form in TorchScript."""
    fx_g.graph.lint()
    return fx_g


def memory_efficient_fusion(fn: Callable, **kwargs: Any) -> Callable:
    """fn compiled with the partition that saves the least memory."""
    from ingot import nn

    options = {
        "fw_compiler": ts_compile,
        "bw_compiler": ts_compile,
        "partition_fn": min_cut_rematerialization_partition,
        **kwargs,
    }
    return aot_module(fn, **options) if isinstance(fn, nn.Module) else aot_function(fn, **options)
