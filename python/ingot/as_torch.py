# SPDX-License-Identifier: Apache-2.0
"""Make `import torch` mean Ingot: one table from PyTorch's dotted names to Ingot's objects.

A row `torch.nn.*` gives all names of an Ingot module to a torch module; any other row gives one name. Targets are
`module` or `module:attribute` and are
looked up when first used. From the table this file makes module objects for every torch module named in it (and
their parents) and puts them into
sys.modules. A name that Ingot lacks raises AttributeError (or, imported, ImportError) with that name.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

import ingot

_LAYER_FILES = """
    activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
    linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
"""

TABLE: dict[str, str] = {
    "torch.*": "ingot",
    "torch.__version__": "ingot.version:torch",
    "torch._C.*": "ingot._C",
    "torch._C._nn.*": "ingot.nn._operators",
    "torch._C._linalg.*": "ingot.linalg",
    "torch._C._fft.*": "ingot.fft",
    "torch._C._special.*": "ingot.special",
    "torch._C._functorch.*": "ingot.func",
    "torch._prims_common.*": "ingot._prims_common",
    "torch._tensor.Tensor": "ingot:Tensor",
    "torch.amp.*": "ingot.amp",
    "torch.autograd.*": "ingot.autograd",
    "torch.autograd.forward_ad.*": "ingot.autograd.forward_ad",
    "torch.autograd.function.*": "ingot.autograd.function",
    "torch.autograd.functional.*": "ingot.autograd.functional",
    "torch.autograd.grad_mode.*": "ingot._modes",
    "torch.autograd.gradcheck.*": "ingot.autograd.gradcheck",
    "torch.autograd.variable.Variable": "ingot.autograd:Variable",
    "torch.backends.*": "ingot.backends",
    "torch.cuda.*": "ingot.cuda",
    "torch.export.*": "ingot.export",
    "torch.export.graph_signature.*": "ingot.export.graph_signature",
    "torch.export.exported_program.*": "ingot.export.exported_program",
    "torch.export.dynamic_shapes.*": "ingot.export.dynamic_shapes",
    "torch.fft.*": "ingot.fft",
    "torch.func.*": "ingot.func",
    "torch.functional.*": "ingot.functional",
    "torch.fx.*": "ingot.fx",
    "torch.jit.*": "ingot.jit",
    "torch.library.*": "ingot.library",
    "torch.linalg.*": "ingot.linalg",
    "torch.nn.*": "ingot.nn",
    "torch.nn.attention.*": "ingot.nn.attention",
    "torch.nn.functional.*": "ingot.nn.functional",
    "torch.nn.init.*": "ingot.nn.init",
    "torch.nn.modules.*": "ingot.nn.modules",
    **{f"torch.nn.modules.{name}.*": f"ingot.nn.modules.{name}" for name in _LAYER_FILES.split()},
    "torch.nn.parameter.*": "ingot.nn.parameter",
    "torch.nn.utils.*": "ingot.nn.utils",
    **{
        f"torch.nn.utils.{name}.*": f"ingot.nn.utils.{name}"
        for name in "clip_grad convert_parameters rnn stateless".split()
    },
    "torch.onnx.*": "ingot.onnx",
    "torch.onnx.operators.*": "ingot.onnx.operators",
    "torch.overrides.*": "ingot.overrides",
    "torch.random.*": "ingot.random",
    "torch.return_types.*": "ingot._C.return_types",
    "torch.special.*": "ingot.special",
    "torch.testing.*": "ingot.testing",
    "torch.types.*": "ingot.types",
    "torch.utils.*": "ingot.utils",
    "torch.utils._pytree.*": "ingot.utils._pytree",
    "torch.utils._cxx_pytree.*": "ingot.utils._pytree",
    "torch.utils.pytree.*": "ingot.utils._pytree",
    "torch.utils.hooks.*": "ingot.utils.hooks",
    "torch.utils.dlpack.from_dlpack": "ingot:from_dlpack",
    "torch.utils.dlpack.to_dlpack": "ingot:to_dlpack",
    "torch.version.*": "ingot.version",
    "torch._export.utils.register_dataclass_as_pytree_node": "ingot.utils._pytree:register_dataclass_as_pytree_node",
    "functorch.*": "ingot.func",
    "functorch.experimental.*": "ingot.func",
    "functorch.experimental.control_flow.*": "ingot.control_flow",
}
# Names of `ingot` that are no names of torch.
_OWN = frozenset({"as_torch"})


def _resolve(target: str) -> Any:
    """The object of `module:attribute`; AttributeError if Ingot has no such module or name."""
    module, _, name = target.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("ingot"):
            raise
        found = ingot
        for part in module.split(".")[1:]:  # a namespace that is an object, not a module
            found = getattr(found, part)
    return getattr(found, name) if name else found


class TorchModule(types.ModuleType):
    """A module whose names are looked up in the table, and then kept."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"Ingot's {name}.")
        self.__path__: list[str] = []  # a package without files: only what the table names can be imported
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__file__ = ingot.__file__

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        found = sys.modules.get(path)
        if found is None:
            found = self._look_up(path, name)
        setattr(self, name, found)
        return found

    def _look_up(self, path: str, name: str) -> Any:
        if name not in _OWN and (not name.startswith("__") or path in TABLE):
            try:
                if path in TABLE:
                    return _resolve(TABLE[path])
                whole = TABLE.get(f"{self.__name__}.*")
                if whole is not None:
                    return getattr(_resolve(whole), name)
            except AttributeError:
                pass
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        names = set(super().__dir__())
        try:
            names.update(n for n in dir(_resolve(TABLE[f"{self.__name__}.*"])) if n not in _OWN)
        except (KeyError, AttributeError):
            pass
        inside = self.__name__ + "."
        names.update(p[len(inside) :].partition(".")[0] for p in TABLE if p.startswith(inside))
        return sorted(names - {"*"})


def _exists(target: str) -> bool:
    """Whether the Ingot module of a row is there, without importing it (later parts of Ingot fill the last rows)."""
    parts = target.partition(":")[0].split(".")[1:]
    if parts[:1] == ["_C"]:
        found: Any = ingot._C
        for part in parts[1:]:
            found = getattr(found, part, None)
        return found is not None
    path = os.path.join(os.path.dirname(ingot.__file__), *parts)
    return os.path.isdir(path) or os.path.isfile(path + ".py")


def _make(name: str) -> None:
    if name not in sys.modules:
        sys.modules[name] = TorchModule(name)
    parent, _, leaf = name.rpartition(".")
    if parent:
        _make(parent)
        setattr(sys.modules[parent], leaf, sys.modules[name])


def install() -> None:
    """Put the modules of the table into sys.modules."""
    for name in ("torch", "functorch"):
        module = sys.modules.get(name)
        if module is not None and not isinstance(module, TorchModule):
            raise ImportError(f"ingot.as_torch: the real {name} is already imported; import ingot.as_torch before it")
    for path, target in TABLE.items():
        if _exists(target):
            _make(path.rpartition(".")[0])


install()
