# SPDX-License-Identifier: Apache-2.0
"""ExportedProgram: what Python sees of a program that the engine holds."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ingot import _C, nn
from ingot._C import Tensor
from ingot.export.graph_signature import (
    ConstantArgument, CustomObjArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec,
    TensorArgument,
)  # fmt: skip
from ingot.utils import _pytree as pytree

__all__ = ["ExportedProgram", "load", "save"]


class _Graph:
    def __init__(self, program: Any) -> None:
        self._program = program

    def __str__(self) -> str:
        return self._program.graph_text


class _GraphModule:
    """The graph with its printed forms."""

    def __init__(self, program: Any) -> None:
        self._program = program

    @property
    def code(self) -> str:
        return self._program.code

    @property
    def graph(self) -> _Graph:
        return _Graph(self._program)


class _ProgramModule(nn.Module):
    """A program called like the module it came from. Arguments must have the captured structure."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self._ep = program

    @property
    def code(self) -> str:
        return self._ep._program.module_code

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        spec = self._ep.call_spec
        leaves = flatten_inputs(args, kwargs, spec.in_spec)
        return pytree.tree_unflatten(self._ep._program(*leaves), spec.out_spec)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return dict(self._ep.state_dict)

    def train(self, mode: bool = True) -> nn.Module:
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> nn.Module:
        raise NotImplementedError("Calling eval() is not supported yet.")


def flatten_inputs(args: tuple, kwargs: dict[str, Any], in_spec: Any) -> list[Any]:
    """The leaves of a call whose structure must be in_spec; keywords may come in another order."""
    names = in_spec.children_specs[1].context if in_spec.num_children == 2 else None
    if names is not None and list(kwargs) != list(names) and set(kwargs) == set(names):
        kwargs = {name: kwargs[name] for name in names}
    leaves, spec = pytree.tree_flatten((args, kwargs))
    if spec != in_spec:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{in_spec}\n"
            f"but actually got inputs with tree spec of: \n{spec}"
        )
    return leaves


class CallSpec(NamedTuple):
    in_spec: Any
    out_spec: Any


def _input_spec(kind: str, name: str, target: str | None, persistent: bool, value: Any) -> InputSpec:
    if kind == "CUSTOM_OBJ":
        arg: Any = CustomObjArgument(name, type(value).__qualname__)
    elif kind == "USER_INPUT" and not isinstance(value, Tensor):
        arg = ConstantArgument(name, value)
    else:
        arg = TensorArgument(name)
    return InputSpec(InputKind[kind], arg, target, persistent if kind == "BUFFER" else None)


def _output_spec(kind: str, name: str | None, target: str | None, value: Any) -> OutputSpec:
    arg: Any = ConstantArgument("", value) if name is None else TensorArgument(name)
    return OutputSpec(OutputKind[kind], arg, target)


class ExportedProgram:
    """A captured program: one graph of ATen operators, a signature, weights, ranges of its symbolic sizes."""

    def __init__(
        self, program: Any, specs: tuple[Any, Any] | None = None, example_inputs: tuple[tuple, dict] | None = None
    ) -> None:
        self._program = program
        self._example_inputs = example_inputs
        self._signature: ExportGraphSignature | None = None
        self._state: dict[str, Any] | None = None
        self._constant: dict[str, Any] | None = None
        self._call = None if specs is None else CallSpec(*specs)

    @property
    def graph_module(self) -> Any:
        return _GraphModule(self._program)

    @property
    def graph(self) -> Any:
        return _Graph(self._program)

    @property
    def graph_signature(self) -> ExportGraphSignature:
        if self._signature is None:
            self._signature = ExportGraphSignature(
                [_input_spec(*spec) for spec in self._program.input_specs],
                [_output_spec(*spec) for spec in self._program.output_specs],
            )
        return self._signature

    @property
    def call_spec(self) -> CallSpec:
        if self._call is None:
            self._call = CallSpec(*(pytree.treespec_loads(text) for text in self._program.specs))
        return self._call

    @property
    def state_dict(self) -> dict[str, Any]:
        if self._state is None:
            self._state = self._program.state_dict
        return self._state

    @property
    def constants(self) -> dict[str, Any]:
        if self._constant is None:
            self._constant = self._program.constants
        return self._constant

    @property
    def _constants(self) -> dict[str, Any]:
        return self.constants

    @property
    def tensor_constants(self) -> dict[str, Any]:
        return self.constants

    @property
    def example_inputs(self) -> tuple[tuple, dict] | None:
        return self._example_inputs

    def parameters(self) -> Iterator[Tensor]:
        for _, value in self.named_parameters():
            yield value

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self) -> Iterator[Tensor]:
        for _, value in self.named_buffers():
            yield value

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        passing = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, (self.constants if name in passing else self.state_dict)[name]

    def module(self) -> nn.Module:
        """A module that is called as the captured one was, with its own state under the captured names."""
        return _ProgramModule(self)

    def run_decompositions(self, decomp_table: Any = None, _preserve_ops: tuple = ()) -> ExportedProgram:
        """The same program in Core ATen (no table), or with the replacements of a table."""
        out = self._program.decompose(table=decomp_table, preserve=_preserve_ops)
        return ExportedProgram(out, self.call_spec, self._example_inputs)

    def save_onnx(self, path: str | os.PathLike) -> None:
        self._program.save_onnx(os.fspath(path))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        return str(self._program)


def save(ep: ExportedProgram, f: str | os.PathLike) -> None:
    """Writes a .pt2 archive that torch.export.load of PyTorch 2.8 and newer reads."""
    ep._program.set_specs(*(pytree.treespec_dumps(spec) for spec in ep.call_spec))
    ep._program.save(os.fspath(f))


def load(f: str | os.PathLike) -> ExportedProgram:
    """Reads a .pt2 archive; weights stay pages of the file."""
    return ExportedProgram(_C.program_load(os.fspath(f)))
