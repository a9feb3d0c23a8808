# SPDX-License-Identifier: Apache-2.0
"""TorchScript programs as exported programs: a script is interpreted under a capture, so that whatever its control
flow decides on data becomes part of the program."""

from __future__ import annotations

from typing import Any

from ingot import _C, nn
from ingot.export import _trace

__all__ = ["ExplainTS2FXGraphConverter", "TS2EPConverter"]


class _FunctionModule(nn.Module):
    """A module whose forward is a script function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        object.__setattr__(self, "forward", function)


def as_module(script: Any) -> nn.Module:
    if isinstance(script, nn.Module):
        return script
    if isinstance(script, _C.ScriptFunction):
        return _FunctionModule(script)
    raise TypeError(f"expected a script module or a script function, but found {type(script).__name__}")


def as_args(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)


class ExplainTS2FXGraphConverter:
    """What of a script's graph cannot be converted: nothing that the compiler of scripts accepted, because the
    conversion runs the script."""

    class _DictMock(dict):
        """A dictionary that knows every key: one value for those that it was not given."""

        def __init__(self, dict_data: dict[Any, Any], mock_value: Any) -> None:
            super().__init__(dict_data)
            self.mock_value = mock_value

        def __getitem__(self, key: Any) -> Any:
            return super().__getitem__(key) if super().__contains__(key) else self.mock_value

        def __contains__(self, key: Any) -> bool:
            return True

    def __init__(
        self,
        ts_graph: Any,
        name_to_param: dict[str, Any],
        name_to_buffer: dict[str, Any],
        blocks_to_lifted_attrs: dict[Any, Any],
        name_to_non_tensor_attribute: dict[str, Any],
        name_to_constant: dict[str, Any],
    ) -> None:
        self.ts_graph = ts_graph
        self.name_to_param = self._DictMock(name_to_param, None)
        self.name_to_buffer = self._DictMock(name_to_buffer, None)
        self.unsupported_node_list: list[Any] = []

    def explain(self) -> None:
        """Fills unsupported_node_list."""


class TS2EPConverter:
    """Converts a script module or function, given example inputs, to an ExportedProgram."""

    def __init__(self, ts_model: Any, sample_args: Any, sample_kwargs: dict[str, Any] | None = None) -> None:
        self.ts_model = ts_model
        self.sample_args = as_args(sample_args)
        self.sample_kwargs = sample_kwargs
        as_module(ts_model)  # refuses everything else at once
        forward = ts_model.forward if isinstance(ts_model, nn.Module) else ts_model
        self.ts_graph = forward.graph
        module = ts_model if isinstance(ts_model, nn.Module) else None
        self.name_to_param = dict(module.named_parameters()) if module is not None else {}
        self.name_to_buffer = dict(module.named_buffers()) if module is not None else {}

    def convert(self) -> Any:
        return self._export(as_module(self.ts_model))

    def retrace_as_exported_program(self, gm: Any, name_to_constant: dict[str, Any] | None = None) -> Any:
        """The program of a module that was converted before."""
        return self._export(gm)

    def _export(self, module: nn.Module) -> Any:
        return _trace._export(
            module, self.sample_args, self.sample_kwargs, strict=False, pre_dispatch=True, free_conversions=True
        )

    def explain(self, print_output: bool = True) -> str:
        """Whether the program can be converted; if not, why."""
        try:
            self.convert()
            said = "Success!"
        except Exception as error:
            said = f"TS2EPConverter failed: {type(error).__name__}: {error}"
        if print_output:
            print(said)
        return said
