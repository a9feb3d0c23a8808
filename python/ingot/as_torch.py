# SPDX-License-Identifier: Apache-2.0
"""Make `import torch` import Ingot.

Every module file of the package is the torch module of the same path: ingot/nn/init.py is torch.nn.init. The table
lists the exceptions. A row `torch.amp.*` gives all names of an Ingot module to a torch module; any other row gives one
name. Targets are `module` or `module:attribute` and are looked up when first used. From files and table module objects
are made (their parents too) and put into sys.modules. A name that Ingot lacks raises AttributeError (or, imported,
ImportError) with that name.
"""

from __future__ import annotations
import __future__

import importlib
import os
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

import ingot

TABLE: dict[str, str] = {
    "torch.*": "ingot",
    "torch.__version__": "ingot.version:torch",
    "torch._C.*": "ingot._C",
    "torch._C._DisableTorchDispatch": "ingot.utils._python_dispatch:_DisableTorchDispatch",
    "torch._C.FileCheck": "ingot.testing:FileCheck",
    "torch._C.ModuleDict": "ingot.jit._script:ModuleDict",
    "torch._C._get_tracing_state": "ingot.jit._trace:_get_tracing_state",
    "torch._C._nn.*": "ingot.nn._operators",
    "torch._C._linalg.*": "ingot.linalg",
    "torch._C._fft.*": "ingot.fft",
    "torch._C._special.*": "ingot.special",
    "torch._C._functorch.*": "ingot.func",
    "torch._C._onnx.*": "ingot.onnx._enums",
    "torch._tensor.Tensor": "ingot:Tensor",
    "torch.autograd.grad_mode.*": "ingot._modes",
    "torch.autograd.variable.Variable": "ingot.autograd:Variable",
    "torch.jit._script_if_tracing": "ingot.jit:script_if_tracing",
    "torch.return_types.*": "ingot._C.return_types",
    "torch.utils._cxx_pytree.*": "ingot.utils._pytree",
    "torch.utils.pytree.*": "ingot.utils._pytree",
    "torch.utils.dlpack.from_dlpack": "ingot:from_dlpack",
    "torch.utils.dlpack.to_dlpack": "ingot:to_dlpack",
    **{f"torch.quantization.{name}.*": f"ingot.ao.quantization.{name}" for name in (
        "fake_quantize", "fuse_modules", "fuser_method_mappings", "observer", "qconfig", "quantization_mappings",
        "quantize", "stubs", "utils",
    )},
    "torch.nn.quantizable.*": "ingot.ao.nn.quantizable",
    "torch.nn.qat.dynamic.*": "ingot.ao.nn.qat.dynamic",
    "torch.nn.quantized.functional.*": "ingot.ao.nn.quantized.functional",
    "torch.nn.quantized.modules.*": "ingot.ao.nn.quantized.modules",
    "torch.nn.intrinsic.quantized.dynamic.*": "ingot.ao.nn.intrinsic.quantized.dynamic",
    "functorch.*": "ingot.func",
    "functorch.make_fx": "ingot.fx.experimental.proxy_tensor:make_fx",
    "functorch.compile.*": "ingot._functorch.compilers",
    "functorch.experimental.*": "ingot.func",
    "functorch.experimental.control_flow.*": "ingot.control_flow",
}
# Names of torch._C that Python defines.
_DISPATCH = """
    DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet _ExcludeDispatchKeyGuard
    _AutoDispatchBelowAutograd _dispatch_get_all_op_names _dispatch_get_registrations_for_dispatch_key
    _dispatch_has_kernel _get_accelerator _get_privateuse1_backend_name _jit_can_fuse_on_cpu _jit_can_fuse_on_gpu
    _jit_nvfuser_enabled _jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu _jit_set_nvfuser_enabled
    _jit_set_nvfuser_guard_mode _jit_set_profiling_executor _jit_set_profiling_mode _jit_set_texpr_fuser_enabled
    _jit_texpr_fuser_enabled _log_api_usage_once _set_math_sdp_allow_fp16_bf16_reduction
"""
# Distributions, by PyTorch's file: several are in one file here.
_DISTRIBUTIONS = {
    "continuous": """
        normal:Normal laplace:Laplace cauchy:Cauchy uniform:Uniform exponential:Exponential gamma:Gamma chi2:Chi2
        studentT:StudentT beta:Beta
    """,
    "discrete": """
        bernoulli:Bernoulli geometric:Geometric categorical:Categorical one_hot_categorical:OneHotCategorical
        poisson:Poisson negative_binomial:NegativeBinomial binomial:Binomial
    """,
    "distribution": """
        exp_family:ExponentialFamily utils:broadcast_all utils:clamp_probs utils:lazy_property utils:logits_to_probs
        utils:probs_to_logits
    """,
    "multivariate": """
        dirichlet:Dirichlet multinomial:Multinomial multivariate_normal:MultivariateNormal wishart:Wishart
        multivariate_normal:_batch_mahalanobis multivariate_normal:_precision_to_scale_tril
    """,
    "transformed": """
        gumbel:Gumbel half_normal:HalfNormal independent:Independent log_normal:LogNormal
        mixture_same_family:MixtureSameFamily relaxed_bernoulli:RelaxedBernoulli
        relaxed_bernoulli:LogitRelaxedBernoulli relaxed_categorical:RelaxedOneHotCategorical
        relaxed_categorical:ExpRelaxedCategorical transformed_distribution:TransformedDistribution weibull:Weibull
    """,
}
for _file, _pairs in _DISTRIBUTIONS.items():
    for _place, _, _name in (_pair.partition(":") for _pair in _pairs.split()):
        TABLE[f"torch.distributions.{_place}.{_name}"] = f"ingot.distributions.{_file}:{_name}"
TABLE.update((f"torch._C.{name}", f"ingot._dispatch_keys:{name}") for name in _DISPATCH.split())
# Names of `ingot` that are not names of torch.
_OWN = frozenset(
    """_bridge as_torch compat_level from_torch load_file load_state_dict safetensors save_file set_compat
    to_torch""".split()
)


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
        found = self._same_name(name) or sys.modules.get(path)
        if found is None:
            found = self._look_up(path, name)
        if not self._is_live():
            setattr(self, name, found)
        return found

    def _is_live(self) -> bool:
        """Whether the Ingot module is a record of settings, whose names change their values."""
        target = TABLE.get(f"{self.__name__}.*")
        return target is not None and getattr(sys.modules.get(target), "__live__", False)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and self._is_live():
            setattr(sys.modules[TABLE[f"{self.__name__}.*"]], name, value)
        else:
            super().__setattr__(name, value)

    def _same_name(self, name: str) -> Any:
        """What a package calls by the name of one of its files: torch.export.unflatten is a function."""
        whole = TABLE.get(f"{self.__name__}.*")
        if whole is None or f"{self.__name__}.{name}" not in sys.modules:
            return None
        found = vars(_resolve(whole)).get(name) if _exists(whole) else None
        return None if isinstance(found, (types.ModuleType, __future__._Feature)) else found

    def _look_up(self, path: str, name: str) -> Any:
        if name not in _OWN and (not name.startswith("__") or name == "__all__" or path in TABLE):
            try:
                if path in TABLE:
                    return _resolve(TABLE[path])
                whole = TABLE.get(f"{self.__name__}.*")
                if whole is not None:
                    source = _resolve(whole)
                    # A module without __all__ exports what it has.
                    return getattr(source, name) if hasattr(source, name) or name != "__all__" else _public(source)
            except AttributeError:
                pass
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        names = set(super().__dir__())
        try:
            names.update(n for n in dir(_resolve(TABLE[f"{self.__name__}.*"])) if n not in _OWN)
        except (KeyError, AttributeError):
            pass
        except ModuleNotFoundError as error:
            if error.name != "onnx":  # modules that depend on it have no names if it is not installed
                raise
        inside = self.__name__ + "."
        names.update(p[len(inside) :].partition(".")[0] for p in TABLE if p.startswith(inside))
        return sorted(names - {"*"})


def _public(module: Any) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_") and name not in _OWN]


def _exists(target: str) -> bool:
    """Whether the Ingot module of a row exists, without importing it."""
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
    parent = name.rpartition(".")[0]
    if parent:
        _make(parent)


def _add_files() -> None:
    """A row for every module file of the package that the table does not name."""
    top = os.path.dirname(ingot.__file__)
    for folder, folders, files in os.walk(top, followlinks=True):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        inside = os.path.relpath(folder, top).split(os.sep) if folder != top else []
        for file in sorted(files):
            name, dot, kind = file.rpartition(".")
            if dot and kind == "py" and name != "__main__" and not (not inside and name in _OWN):
                parts = inside + ([] if name == "__init__" else [name])
                TABLE.setdefault(".".join(["torch", *parts, "*"]), ".".join(["ingot", *parts]))


class _MetadataOnDemand:
    """Tells importlib.metadata that torch is installed; importlib.metadata itself is slow to import."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        """No module: they are in sys.modules."""

    @staticmethod
    def find_distributions(context: Any) -> Any:
        from ingot import _metadata

        return _metadata.find(context)


def install() -> None:
    """Put the modules of files and table into sys.modules."""
    _add_files()
    for name in ("torch", "functorch"):
        module = sys.modules.get(name)
        if module is not None and not isinstance(module, TorchModule):
            raise ImportError(f"ingot.as_torch: the real {name} is already imported; import ingot.as_torch before it")
    for path, target in TABLE.items():
        if _exists(target):
            _make(path.rpartition(".")[0])
    sys.modules["torch"].torch = sys.modules["torch"]  # type: ignore[attr-defined]
    if not any(type(finder).__name__ == "_MetadataOnDemand" for finder in sys.meta_path):
        sys.meta_path.insert(0, _MetadataOnDemand())


install()
