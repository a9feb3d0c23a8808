# SPDX-License-Identifier: Apache-2.0
"""ExportedProgram: what Python sees of a program that the engine holds."""
import os
from typing import Any

from ingot import _C, nn
from ingot.utils import _pytree as pytree


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

    def __init__(self, program: Any) -> None:
        super().__init__()
        self._program = program
        in_spec, out_spec = program.specs
        self._in_spec = pytree.treespec_loads(in_spec)
        self._out_spec = pytree.treespec_loads(out_spec)

    @property
    def code(self) -> str:
        return self._program.module_code

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: \n"
                f"{self._in_spec}\nbut actually got inputs with tree spec of: \n{spec}"
            )
        return pytree.tree_unflatten(self._program(*leaves), self._out_spec)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return dict(self._program.state_dict)


class ExportedProgram:
    """A captured program: one graph of ATen operators, a signature, weights."""

    def __init__(self, program: Any) -> None:
        self._program = program

    @property
    def graph_module(self) -> _GraphModule:
        return _GraphModule(self._program)

    @property
    def graph(self) -> _Graph:
        return _Graph(self._program)

    @property
    def state_dict(self) -> dict[str, Any]:
        return self._program.state_dict

    @property
    def constants(self) -> dict[str, Any]:
        return self._program.constants

    def module(self) -> nn.Module:
        return _ProgramModule(self._program)

    def run_decompositions(self) -> "ExportedProgram":
        """The same program in Core ATen."""
        out = self._program.decompose()
        out.set_specs(*self._program.specs)
        return ExportedProgram(out)

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
    ep._program.save(os.fspath(f))


def load(f: str | os.PathLike) -> ExportedProgram:
    """Reads a .pt2 archive; weights stay pages of the file."""
    return ExportedProgram(_C.program_load(os.fspath(f)))
