# SPDX-License-Identifier: Apache-2.0
"""Functions of the top level that take their arguments in a way no operator does: several tensors as *args, flags
that choose the result."""

from __future__ import annotations

import builtins
import math
from typing import Any

import ingot
from ingot import _C
from ingot._C import Tensor

_TYPE_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "uint8": "Byte",
    "int8": "Char", "int16": "Short",
    "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def typename(obj: Any) -> str:
    """The name of the type of an object, tensors as `torch.FloatTensor`."""
    if isinstance(obj, Tensor):
        dtype = str(obj.dtype).rpartition(".")[2]
        place = "" if obj.device.type in ("cpu", "meta") else f"{obj.device.type}."
        return f"torch.{place}{_TYPE_NAMES.get(dtype, dtype.capitalize())}Tensor"
    named = obj if isinstance(obj, type) or getattr(obj, "__name__", None) else type(obj)
    module = getattr(named, "__module__", "") or ""
    name = getattr(named, "__qualname__", None) or named.__name__
    if module in ("builtins", "__builtin__", ""):
        return name
    return f"{'torch' + module[5:] if module.partition('.')[0] == 'ingot' else module}.{name}"


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def is_floating_point(input: Tensor) -> bool:
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    return input.is_complex()


def is_nonzero(input: Tensor) -> bool:
    return bool(input)


def numel(input: Tensor) -> int:
    return input.numel()


def set_default_device(device: Any) -> None:
    """The default device of factories."""
    _C._set_default_device(None if device is None else _C.device(device))


def get_default_device() -> Any:
    return _C._get_default_device()


def _several(tensors: tuple) -> list[Tensor]:
    """f(a, b) and f([a, b]) are the same."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        return list(tensors[0])
    return list(tensors)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(_C.op("broadcast_tensors")(_several(tensors)))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to."""
    lists = [[s] if isinstance(s, int) else list(s) for s in shapes]
    result = [1] * max((len(s) for s in lists), default=0)
    for sizes in lists:
        for i in range(-1, -1 - len(sizes), -1):
            if sizes[i] < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({sizes[i]}): ({sizes[i]})")
            if sizes[i] == 1 or sizes[i] == result[i]:
                continue
            if result[i] != 1:
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape: "
                    f"{sizes[i]} and {result[i]} at dimension {i}"
                )
            result[i] = sizes[i]
    return ingot.Size(result)


def block_diag(*tensors: Tensor) -> Tensor:
    return _C.op("block_diag")(_several(tensors))


def cartesian_prod(*tensors: Tensor) -> Tensor:
    return _C.op("cartesian_prod")(_several(tensors))


def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    given = _several(tensors)
    return tuple(_C.op("meshgrid")(given) if indexing is None else _C.op("meshgrid")(given, indexing=indexing))


def _atleast(name: str, tensors: tuple) -> Any:
    function = _C.op(name)
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple(function(_several(tensors)))


def atleast_1d(*tensors: Tensor) -> Any:
    return _atleast("atleast_1d", tensors)


def atleast_2d(*tensors: Tensor) -> Any:
    return _atleast("atleast_2d", tensors)


def atleast_3d(*tensors: Tensor) -> Any:
    return _atleast("atleast_3d", tensors)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    result = _C.op("chain_matmul")(list(_several(matrices)))
    return result if out is None else out.copy_(result)


def einsum(*args: Any) -> Tensor:
    """einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2]) with numbers for letters."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        lists = [*args[1::2], *([args[-1]] if len(args) % 2 else [])]
        texts = ["".join(map(_letter, numbers)) for numbers in lists]
        operands = list(args[0 : len(args) - len(args) % 2 : 2])
        inputs = ",".join(texts[: len(operands)])
        equation = inputs + ("->" + texts[-1] if len(texts) > len(operands) else "")
    else:
        equation, operands = args[0], _several(args[1:])
    return _C.op("einsum")(equation, operands)


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    if not 0 <= number < 52:
        raise ValueError(f"einsum(): subscript {number} is not within the range [0, 52)")
    return chr(ord("A") + number) if number < 26 else chr(ord("a") + number - 26)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Contract the last dims of a with the first of b, or the pairs of dimensions given."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)):
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > builtins.min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(-dims, 0)), list(range(dims))
    options = {} if out is None else {"out": out}
    return _C.op("tensordot")(a, b, first, second, **options)


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """Vector norms, and the Frobenius and nuclear norms of matrices."""
    dims = [dim] if isinstance(dim, int) else dim
    options = {k: v for k, v in (("dtype", dtype), ("out", out)) if v is not None}
    if p == "nuc":
        return _C.op("linalg_matrix_norm")(input, "nuc", dims or list(range(input.dim())), keepdim, **options)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    order = 2 if p in ("fro", None) else p
    return _C.op("linalg_vector_norm")(input, order, dims, keepdim, **options)


_CDIST = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    if compute_mode not in _CDIST:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _C.op("cdist")(x1, x2, p, _CDIST[compute_mode])


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return tensor.split(split_size_or_sections, dim)


def _picked(found: tuple, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    if not return_inverse and not return_counts:
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Where the elements are that are not zero: a row per element, or a tensor of indices per dimension."""
    if as_tuple:
        return tuple(_C.op("nonzero_numpy")(input))
    return _C.op("nonzero")(input) if out is None else _C.op("nonzero")(input, out=out)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct values, and on request where each went and how often it was there."""
    if dim is None:
        found = _C.op("_unique2")(input, sorted, return_inverse, return_counts)
    else:
        found = _C.op("unique_dim")(input, dim, sorted, return_inverse, return_counts)
    return _picked(found, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    found = _C.op("unique_consecutive")(input, return_inverse, return_counts, dim)
    return _picked(found, return_inverse, return_counts)


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Short-time Fourier transform; with center the signal is padded by half a frame on both sides."""
    if center:
        rank, half = input.dim(), n_fft // 2
        padded = _C.op("pad")(input.view([1] * (3 - rank) + list(input.size())), [half, half], pad_mode)
        input = padded.view(padded.shape[-rank:])
    return _C.op("stft")(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of stft."""
    return _C.op("istft")(
        input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
    )


# Checks that hold for symbolic numbers as well


def _check_with(error: type, cond: Any, message: Any) -> None:
    if not isinstance(cond, (bool, _C.SymBool)):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond if isinstance(cond, bool) else _C.sym_check(cond, None if message is None else str(message())):
        return
    if message is None:
        text = (
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    elif not callable(message):
        raise TypeError("message must be a callable")
    else:
        text = str(message())
    raise error(text)


def _check(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless cond; in a capture a symbolic cond is assumed from then on."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """i is not negative, and may be used as a size."""
    _check(i >= 0, message)
    if isinstance(i, _C.SymInt):
        _C.sym_is_size(i)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: Any, message: Any = None) -> None:
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Tensor, message: Any = None) -> None:
    if not is_tensor(cond) or cond.dtype != ingot.bool:
        raise TypeError(f"cond must be a bool tensor, but got {typename(cond)}")
    _check(bool(cond.all()), message)


_SYMBOLIC = (_C.SymInt, _C.SymFloat, _C.SymBool)


def sym_int(a: Any) -> Any:
    """int(a), symbolic if a is."""
    if isinstance(a, _C.SymBool):
        return _C.sym_apply("ite", a, 1, 0)
    return a.__trunc__() if isinstance(a, _SYMBOLIC) else int(a)


def sym_float(a: Any) -> Any:
    """float(a), symbolic if a is."""
    if isinstance(a, _C.SymFloat):
        return a
    return _C.sym_apply("float", a) if isinstance(a, _SYMBOLIC) else float(a)


def sym_not(a: Any) -> Any:
    """not a, symbolic if a is."""
    return _C.sym_apply("not", a) if isinstance(a, _SYMBOLIC) else not a


def _sym_function(name: str) -> Any:
    def fn(a: Any) -> Any:
        return _C.sym_apply(name, a) if isinstance(a, _SYMBOLIC) else getattr(math, name)(a)

    fn.__name__ = fn.__qualname__ = f"_sym_{name}"
    return fn


_sym_sqrt, _sym_cos, _sym_cosh, _sym_sin, _sym_sinh, _sym_tan, _sym_tanh, _sym_asin, _sym_acos, _sym_atan, _sym_log2 = (
    _sym_function(name) for name in "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()
)
sym_sqrt = _sym_sqrt


def _sym_extreme(name: str, a: Any, b: Any, asked: Any, otherwise: Any) -> Any:
    symbolic = [n for n in (a, b) if isinstance(n, _SYMBOLIC)]
    if symbolic:
        made = _C.sym_apply(name, a, b)
        # PyTorch 2.5 decides between numbers that it knows, and records a guard; exports, for which there is nobody to
        # check it later, leave it open.
        known = all(n.node.has_hint() for n in symbolic) and not _C.capture_is_export()
        if not isinstance(made, _SYMBOLIC) or not known:
            return made
        if symbolic[0] is not a:
            a, b = b, a
        chosen = otherwise(a, b)
        return sym_float(chosen) if isinstance(made, _C.SymFloat) else chosen
    result = otherwise(a, b)
    result = float(result) if isinstance(a, float) or isinstance(b, float) else result
    if _C.capture_is_open() and _C.capture_is_strict():
        from ingot.export._errors import refuse_plain_result

        refuse_plain_result(asked, result)
    return result


def sym_max(a: Any, b: Any) -> Any:
    """max(a, b); which one it is stays open if an operand has no example value."""
    return _sym_extreme("max", a, b, sym_max, builtins.max)


def sym_min(a: Any, b: Any) -> Any:
    """min(a, b); which one it is stays open if an operand has no example value."""
    return _sym_extreme("min", a, b, sym_min, builtins.min)


def sym_sum(args: Any) -> Any:
    """The sum of all numbers. Each counts as a unit of work."""
    total: Any = 0
    for i, value in enumerate(args):
        _C._spend(1)
        total = value if i == 0 else total + value
    return total


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t if b else f, without deciding b."""
    if not isinstance(b, (_C.SymBool, bool)) or type(t) is not type(f):
        raise AssertionError
    if isinstance(b, _C.SymBool):
        return _C.sym_apply("ite", b, t, f)
    return t if b else f


def _assert(condition: Any, message: str) -> None:
    """assert condition, message. Symbolic tracing sees the call."""
    if type(condition) is not Tensor and hasattr(type(condition), "__torch_function__"):
        override = type(condition).__torch_function__
        override(_assert, (type(condition),), (condition, message), {})
        return
    assert condition, message


_assert.__module__ = "ingot"  # as graphs print it


def _check_tensor_all_with(error_type: Any, cond: Any, message: Any = None) -> None:
    """Raise an error of that type unless all elements are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if not cond.dtype == ingot.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Coordinates in an array of that shape of flat indices."""
    if isinstance(shape, Tensor):
        raise TypeError("expected shape to be int, torch.Size, or sequence of ints, but got Tensor")
    sizes = (shape,) if isinstance(shape, builtins.int) else tuple(shape)
    if indices.is_complex() or indices.is_floating_point() or indices.dtype == ingot.bool:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    strides = [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
    return tuple(indices.div(step, rounding_mode="floor") % size for step, size in zip(strides, sizes, strict=True))
