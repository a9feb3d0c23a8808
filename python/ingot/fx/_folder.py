# SPDX-License-Identifier: Apache-2.0
"""A GraphModule as a Python package in a folder."""
from __future__ import annotations

import os
import pathlib
from typing import Any

from ingot import nn

# How the names that printed code uses are imported.
_IMPORTS = """import torch
from math import inf
from math import nan
NoneType = type(None)
import torch
from torch import device
import torch.fx._pytree as fx_pytree
import torch.utils._pytree as pytree"""
# Layers whose repr makes them again.
_WITH_REPR = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d,
)  # fmt: skip


def _child(folder: pathlib.Path, name: str, module: nn.Module, warned: list[str]) -> str:
    """The expression that makes a sub-module."""
    if isinstance(module, _WITH_REPR):
        return repr(module)
    from ingot import serialization

    warned.append(name)
    file = folder / f"{name}.pt"
    serialization.save(module, file)
    text = repr(module).replace("\r", " ").replace("\n", " ")
    return f"torch.load(r'{file}') # {text}"


def write(gm: Any, where: str | os.PathLike[str], name: str) -> None:
    import warnings

    from ingot import serialization

    folder = pathlib.Path(where)
    folder.mkdir(parents=True, exist_ok=True)
    serialization.save(gm.state_dict(), folder / "state_dict.pt")
    lines = ["", _IMPORTS, "", "from torch.nn import *", f"class {name}(torch.nn.Module):", "    def __init__(self):",
             "        super().__init__()"]  # fmt: skip
    unsaved: list[str] = []
    for key, module in gm.named_children():
        lines.append(f"        self.{key} = {_child(folder, key, module, unsaved)}")
    for key, buffer in gm._buffers.items():
        if buffer is not None:
            lines.append(
                f"        self.register_buffer('{key}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"
            )
    for key, parameter in gm._parameters.items():
        if parameter is not None:
            made = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
            lines.append(f"        self.{key} = torch.nn.Parameter({made})")
    lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
    body = gm.code.replace("\n", "\n    ")
    (folder / "module.py").write_text("\n".join(lines) + "\n    " + body + "\n")
    (folder / "__init__.py").write_text("from .module import *")
    if unsaved:
        warnings.warn(
            f"Was not able to save the following children modules as reprs -saved as pickled files instead: {unsaved}",
            stacklevel=3,
        )
