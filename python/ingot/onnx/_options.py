# SPDX-License-Identifier: Apache-2.0
"""Options of an export, the registry of translations, fake models."""
from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

from ingot import _ops

__all__ = [
    "DiagnosticOptions",
    "ExportOptions",
    "ONNXFakeContext",
    "ONNXRuntimeOptions",
    "OnnxRegistry",
    "enable_fake_mode",
]

DEFAULT_OPSET = 18


@dataclasses.dataclass
class DiagnosticOptions:
    """Verbosity of an export."""

    verbosity_level: int = logging.INFO
    warnings_as_errors: bool = False


@dataclasses.dataclass
class ONNXFakeContext:
    """A region in which tensors have no data; files of weights that were loaded in it."""

    fake_mode: Any
    state_dict_paths: tuple | None = None


@contextlib.contextmanager
def enable_fake_mode() -> Iterator[ONNXFakeContext]:
    """Models made inside have no data: their export needs no memory for weights."""
    from ingot._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        yield ONNXFakeContext(mode)


class ONNXRuntimeOptions:
    """What a session of the real onnxruntime is made with."""

    def __init__(
        self,
        *,
        session_options: Any = None,
        execution_providers: Any = None,
        execution_provider_options: Any = None,
    ) -> None:
        self.session_options = session_options
        self.execution_providers = execution_providers
        self.execution_provider_options = execution_provider_options


class OnnxRegistry:
    """Translations of operators given by the user, beside the built-in ones, for one opset."""

    def __init__(self, opset_version: int = DEFAULT_OPSET) -> None:
        self._opset_version = opset_version
        self._functions: dict[str, Callable] = {}

    @property
    def opset_version(self) -> int:
        return self._opset_version

    @property
    def functions(self) -> dict[str, Callable]:
        """By target: "aten.add.Tensor"."""
        return dict(self._functions)

    def register_op(
        self, function: Callable, namespace: str, op_name: str, overload: str | None = None, is_complex: bool = False
    ) -> None:
        """From now on `function` writes the operator: it gets the operands as values of ingot.onnx.op and returns
        the results of the operator."""
        self._functions[f"{namespace}.{op_name}.{overload or 'default'}"] = function

    def register(self, target: Any, function: Callable) -> None:
        """The same for an operator overload."""
        self._functions[target_of(target)] = function

    def is_registered_op(self, namespace: str, op_name: str, overload: str | None = None) -> bool:
        from ingot import _C

        target = f"{namespace}.{op_name}.{overload or 'default'}"
        return target in self._functions or target in _C.onnx_targets()

    def get_op_functions(self, namespace: str, op_name: str, overload: str | None = None) -> list[Callable] | None:
        found = self._functions.get(f"{namespace}.{op_name}.{overload or 'default'}")
        return None if found is None else [found]


def target_of(op: Any) -> str:
    """The engine's name of an operator: "aten.add.Tensor"."""
    if isinstance(op, str):
        return op
    if isinstance(op, _ops.OpOverloadPacket):
        op = op.default
    return str(op)


@dataclasses.dataclass
class ExportOptions:
    """Options of dynamo_export."""

    dynamic_shapes: bool | None = None
    op_level_debug: bool | None = None
    fake_context: ONNXFakeContext | None = None
    onnx_registry: OnnxRegistry | None = None
    diagnostic_options: DiagnosticOptions = dataclasses.field(default_factory=DiagnosticOptions)
