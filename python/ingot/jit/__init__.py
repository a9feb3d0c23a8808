# SPDX-License-Identifier: Apache-2.0
"""Scripts: functions and modules as programs of their own, from source text."""

from __future__ import annotations

from typing import Final

from ingot._C import ScriptFunction, ScriptObject
from ingot.jit import frontend
from ingot.jit._archive import load, save
from ingot.jit._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from ingot.jit._marks import (
    Attribute,
    _overload,
    _overload_method,
    _unwrap_optional,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    unused,
)
from ingot.jit._script import (
    CompilationUnit,
    RecursiveScriptModule,
    ScriptModule,
    fork,
    script,
    script_if_tracing,
    script_method,
    wait,
)
from ingot.jit._script import isinstance_of as isinstance
from ingot.jit._trace import (
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    _get_trace_graph,
    is_tracing,
    trace,
    trace_module,
)

_fork, _wait = fork, wait


class Error(Exception):
    """What a script raised while it ran."""


__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "ScriptObject", "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "_fork",
    "_get_trace_graph", "_overload", "_overload_method", "_unwrap_optional", "_wait", "annotate", "export", "fork",
    "freeze", "frontend", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
    "optimize_for_inference", "run_frozen_optimizations", "save", "script", "script_if_tracing", "script_method",
    "trace", "trace_module", "unused", "wait",
]  # fmt: skip
