# SPDX-License-Identifier: Apache-2.0
"""Ingot: PyTorch's export stack in C. This package is its Python interface: `import ingot as torch` works.

Tensors and operators live in the extension module _C. This package only contains what exists because of Python objects.
Sub-packages are imported when first used, and operators are looked up by name when first used: `ingot.add` asks the
library for the schemas of aten::add.
"""

from __future__ import annotations

import importlib
import os
from math import e, inf, nan, pi

from ingot import _C
from ingot._C import Generator, Size, Tensor, device, dtype
from ingot._info import finfo, iinfo
from ingot._modes import enable_grad, inference_mode, no_grad, set_grad_enabled

TYPE_CHECKING = False  # importing typing would cost a third of the time that `import ingot` takes
if TYPE_CHECKING:
    from typing import Any

_DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "qint8", "quint8", "qint32",
    "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
    "per_channel_affine_float_qparams",
    # Names without tensors: no operator of ours takes them.
    "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7", "complex32", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "quint4x2", "quint2x4",
)  # fmt: skip
_ALIASES = {
    "short": "int16", "int": "int32", "long": "int64", "half": "float16", "float": "float32", "double": "float64",
    "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32", "bit": "uint1",
}  # fmt: skip

# Assigned through the dict: a module-level `bool` or `float` must not shadow the builtins for the code of this file.
globals().update((name, getattr(_C, name)) for name in _DTYPES)
globals().update((short, getattr(_C, name)) for short, name in _ALIASES.items() if hasattr(_C, name))


def _submodules() -> frozenset[str]:
    """Modules and packages beside this file."""
    global _found
    if _found is None:
        names = (entry.name.partition(".") for entry in os.scandir(__path__[0]))
        _found = frozenset(name for name, _, kind in names if kind in ("", "py") and name[:2] != "__")
    return _found


_found: frozenset[str] | None = None
# Names that a Python file defines, by file.
_HOMES = {
    "ingot.functional": """
        _assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type _check_value
        _check_with _sym_acos _sym_asin _sym_atan _sym_cos _sym_cosh _sym_log2 _sym_sin _sym_sinh _sym_sqrt _sym_tan
        _sym_tanh atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
        _assert _check_tensor_all_with
        cartesian_prod cdist chain_matmul einsum get_default_device is_complex is_floating_point is_nonzero
        is_storage is_tensor istft meshgrid nonzero norm numel set_default_device split stft sym_float sym_int sym_ite
        sym_max sym_min sym_not sym_sqrt sym_sum tensordot typename unique unique_consecutive unravel_index
    """,
    "ingot._C": """
        AnyType Argument Block BoolType ClassType ComplexType DeviceObjType DictType EnumType FloatType
        FunctionSchema FutureType Tag Generator Graph IntType InterfaceType ListType Node NoneType NumberType
        OptionalType ScriptFunction ScriptModule ScriptObject Size StringType SymBool SymFloat SymInt Tensor
        TensorType TupleType Type TypedStorage UnionType UntypedStorage Value as_tensor asarray bfloat16 bool
        can_cast channels_last channels_last_3d complex128 complex64 contiguous_format default_generator device
        dtype float16 float32 float64 float8_e4m3fn float8_e5m2 from_dlpack from_numpy frombuffer get_default_dtype
        get_num_threads int16 int32 int64 int8 is_grad_enabled is_inference_mode_enabled layout memory_format ops
        parse_ir per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
        per_tensor_symmetric preserve_format promote_types qint32 qint8 qscheme quint8 result_type return_types
        set_default_dtype set_num_threads set_printoptions sparse_coo strided tensor to_dlpack uint16 uint32 uint64
        uint8
    """,
    "ingot._compat": "compat_level set_compat",
    "ingot._compile": "compile",
    "ingot._session": "compile_file open",
    "ingot._bridge": "from_torch to_torch",
    "ingot.func": "vmap",
    "ingot._deterministic": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled
        set_deterministic_debug_mode use_deterministic_algorithms
    """,
    "ingot.amp": """
        autocast get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_available
        is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled set_autocast_dtype set_autocast_enabled
    """,
    "ingot._explain": "explain",
    "ingot._errors": "AcceleratorError OutOfMemoryError",
    "ingot._streams": "Event Stream get_device_module",
    "ingot._tensor_types": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor DoubleTensor FloatTensor
        HalfTensor IntTensor LongTensor ShortTensor set_default_tensor_type tensortype
    """,
    "ingot._lowrank": "pca_lowrank svd_lowrank",
    "ingot._higher_order_ops.cond": "cond",
    "ingot._constrain": "_constrain_as_size",
    "ingot.serialization": "load load_file load_state_dict save save_file",
    "ingot.random": "manual_seed seed initial_seed get_rng_state set_rng_state",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Generator", "Size", "Tensor", "device", "dtype", "enable_grad", "finfo", "iinfo", "inference_mode", "no_grad",
    "e", "inf", "nan", "pi", "set_grad_enabled", *_DTYPES,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Sub-packages, then names of Python files and of _C, then operators; results are cached."""
    if name.startswith("__"):
        raise AttributeError(f"module 'ingot' has no attribute {name!r}")
    if name not in _HOME_OF and name in _submodules():
        return importlib.import_module(f"ingot.{name}")
    if name in _HOME_OF:
        found = getattr(importlib.import_module(_HOME_OF[name]), name)
    else:
        try:
            found = _C.op(name)
        except AttributeError:
            raise AttributeError(f"module 'ingot' has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """PyTorch's names that are here, and Ingot's own; not what this file and the package need for themselves."""
    functions = set(_C._function_names())
    cached = set(_C._op_names()) - functions  # operators that __getattr__ gave to somebody
    found = {*(globals().keys() - cached), *_submodules(), *_HOME_OF, *functions}
    own = {"TYPE_CHECKING", "annotations", "importlib", "os"}
    return sorted(name for name in found - own if name[0] != "_" or name[:2] == "__")


__version__ = getattr(_C, "__version__", "0.1.0")
strided = getattr(_C, "strided", None)
legacy_contiguous_format = _C.contiguous_format
newaxis = None
