# SPDX-License-Identifier: Apache-2.0
"""The older names of tensors with a dtype: torch.FloatTensor and its kin. They are not classes of tensors: they
construct tensors, and isinstance asks for dtype and device."""

from __future__ import annotations

from typing import Any

from ingot import _C

# The dtypes that have such a name.
NAMES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64",
    "BoolTensor": "bool", "ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128",
}  # fmt: skip


def construct(dtype: Any, device: Any, args: tuple, caller: str) -> Any:
    """A tensor from sizes (elements are undefined), from a sequence, from a storage, or another tensor's alias."""
    options = {"dtype": dtype, "device": device}
    if not args:
        return _C.op("empty")(0, **options)
    first = args[0]
    if isinstance(first, _C.Size):
        return _C.op("empty")(first, **options)
    if all(isinstance(a, (int, _C.SymInt)) and not isinstance(a, bool) for a in args):
        return _C.op("empty")(args, **options)
    if len(args) > 1:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"{caller}(): found arguments of types ({kinds}), expected sizes, or one sequence or tensor")
    if isinstance(first, _C.Tensor):
        if first.dtype != dtype:
            raise TypeError(
                f"{caller}(): found a tensor of {first.dtype}, expected {dtype}; convert it with .to({dtype})"
            )
        return first.detach() if not first.requires_grad else first.alias()
    if isinstance(first, (_C.UntypedStorage, _C.TypedStorage)):
        return _C.op("empty")(0, **options).set_(first)
    if isinstance(first, str):
        raise TypeError("new(): invalid data type 'str'")
    if not hasattr(first, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    # Elements are converted one by one as C converts them: 1.5 is the integer 1.
    if not dtype.is_floating_point and not dtype.is_complex:
        return _C.tensor(first, device=device).to(dtype)
    return _C.tensor(first, dtype=dtype, device=device)


class tensortype(type):
    """The class of torch.FloatTensor and its kin."""

    dtype: Any
    is_cuda: bool
    layout = _C.strided
    is_sparse = False

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if cls.is_cuda:
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {_C.device(device).type} was passed"
            )
        return construct(cls.dtype, "cpu", args, cls.__name__)

    def __instancecheck__(cls, value: Any) -> bool:
        if not isinstance(value, _C.Tensor):
            return False
        return value.dtype == cls.dtype and value.device.type == ("cuda" if cls.is_cuda else "cpu")

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __reduce__(cls) -> Any:
        return getattr, (__import__("sys").modules[__name__], cls.__name__)


def make(module: str, name: str) -> Any:
    """The type of that name in `torch` or `torch.cuda`."""
    facts = {"dtype": getattr(_C, NAMES[name]), "is_cuda": module == "torch.cuda", "__module__": module}
    return tensortype(name, (), facts)


def cuda_types() -> dict[str, Any]:
    return {name: make("torch.cuda", name) for name in NAMES}


globals().update((name, make("torch", name)) for name in NAMES)


def set_default_tensor_type(t: Any) -> None:
    """The dtype of torch.FloatTensor or such a type, or of its name, is the default."""
    import ingot

    name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
    kind = globals().get(name.rpartition(".")[2])
    if kind is None or not name.startswith("torch.") or name.count(".") != 1:
        raise TypeError(f"invalid type object: found {name}, expected one such as torch.FloatTensor of the CPU")
    ingot.set_default_dtype(kind.dtype)


def new(self: Any, *args: Any, device: Any = None) -> Any:
    """Tensor.new: a tensor of the dtype and device of `self`."""
    return construct(self.dtype, self.device if device is None else device, args, "new")
