# SPDX-License-Identifier: Apache-2.0
"""torch._C.DispatchKey: the names of PyTorch's dispatcher. Ingot has modes instead (docs/architecture.md); programs
name keys when they register operators or read which keys a tensor has."""

from __future__ import annotations

import enum
from typing import Any

from ingot import _C
from ingot._ops import ops

_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_FAMILIES = (
    ("Dense", "", "Dense"), ("Quantized", "Quantized", "Quantized"), ("Sparse", "Sparse", "Sparse"),
    ("SparseCsr", "SparseCsr", "SparseCsr"), ("NestedTensor", "NestedTensor", "NestedTensor"),
    ("AutogradFunctionality", "Autograd", "AutogradFunctionality"),
)  # fmt: skip
_SINGLE = """
    Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd CompositeImplicitAutogradNestedTensor
    CompositeImplicitAutograd AutogradNestedTensor AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect
    ADInplaceOrView PythonTLSSnapshot Python FuncTorchDynamicLayerFrontMode FuncTorchDynamicLayerBackMode
    FuncTorchBatchedDecomposition FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper PythonDispatcher PreDispatch
    Functionalize AutocastCPU AutocastMPS AutocastXPU AutocastHPU AutocastIPU AutocastCUDA AutocastPrivateUse1
"""


def _names() -> list[str]:
    found = _SINGLE.split()
    for family, prefix, title in _FAMILIES:
        found += [family, f"StartOf{title}Backends", *(prefix + b for b in _BACKENDS), f"EndOf{title}Backends"]
    return found


DispatchKey = enum.IntEnum("DispatchKey", [(name, i) for i, name in enumerate(_names())], module="torch._C")


class DispatchKeySet:
    """A set of dispatch keys."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def has(self, key: Any) -> bool:
        return key in self._keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys | other._keys))

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def add(self, key: Any) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - {key}))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(k.name for k in sorted(self._keys, reverse=True))})"


class _ExcludeDispatchKeyGuard:
    """A block without some keys. The keys of autocast switch autocast off; others have no counterpart here."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._off = [
            (key, device) for key, device in ((DispatchKey.AutocastCPU, "cpu"), (DispatchKey.AutocastCUDA, "cuda"))
            if keys.has(key)
        ]  # fmt: skip
        self._scopes: list[Any] = []

    def __enter__(self) -> None:
        from ingot.amp import autocast

        for _, device in self._off:
            scope = autocast(device, enabled=False)
            scope.__enter__()
            self._scopes.append(scope)

    def __exit__(self, *error: Any) -> None:
        while self._scopes:
            self._scopes.pop().__exit__(*error)


class _AutoDispatchBelowAutograd:
    """A block whose calls are made below autograd: kernels run, and nothing is recorded for gradients."""

    def __enter__(self) -> None:
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *error: Any) -> None:
        _C._set_grad_enabled(self._before)


_IncludeDispatchKeyGuard = _ExcludeDispatchKeyGuard


def _get_accelerator(check: bool | None = None) -> Any:
    """The device that computes: the CPU."""
    import ingot

    return ingot.device("cpu")


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _dispatch_get_all_op_names() -> list[str]:
    """The qualified names of all overloads of ATen's operators: "aten::add.Tensor"."""
    found = []
    for name in _C._op_names():
        packet = getattr(ops.aten, name)
        found += [f"aten::{name}" if o == "default" else f"aten::{name}.{o}" for o in packet.overloads()]
    return found


def _dispatch_get_registrations_for_dispatch_key(dispatch_key: str = "") -> list[str]:
    """The operators that have something for a key; "": all. Kernels here are not registered by key."""
    if dispatch_key:
        raise NotImplementedError(
            f"_dispatch_get_registrations_for_dispatch_key: kernels are not registered by dispatch key; expected '', "
            f"found {dispatch_key!r}"
        )
    return _dispatch_get_all_op_names()


def _dispatch_has_kernel(name: str) -> bool:
    """Whether there is an operator of that qualified name."""
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        getattr(getattr(getattr(ops, space), base), overload or "default")
    except AttributeError:
        return False
    return True


def _log_api_usage_once(event: str) -> None:
    """Usage is not logged."""


def _jit_off() -> bool:
    """Fusers and profiling executors of TorchScript: Ingot's interpreter has none."""
    return False


_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _jit_texpr_fuser_enabled = _jit_nvfuser_enabled = _jit_off


def _jit_set(enabled: bool = False) -> bool:
    """Switches of fusers and executors that Ingot's interpreter does not have."""
    return False


_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_nvfuser_enabled = _jit_set
_jit_set_texpr_fuser_enabled = _jit_set_profiling_executor = _jit_set_profiling_mode = _jit_set_nvfuser_guard_mode = (
    _jit_set
)


def _set_math_sdp_allow_fp16_bf16_reduction(enabled: bool) -> None:
    """Half precision is reduced in float32 here."""


class DisableTorchFunctionSubclass:
    """A block in which no __torch_function__ of a class is asked."""

    def __enter__(self) -> None:
        from ingot import _C

        self._before = _C._is_torch_function_enabled()
        _C._set_torch_function_enabled(False)

    def __exit__(self, *unused: Any) -> None:
        from ingot import _C

        _C._set_torch_function_enabled(self._before)


DisableTorchFunction = DisableTorchFunctionSubclass
