# SPDX-License-Identifier: Apache-2.0
"""assert_close: tensors, numbers and containers of them agree within tolerances that fit their dtypes."""

from __future__ import annotations

import cmath
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import ingot
from ingot._C import Tensor

_TOLERANCES = {  # rtol, atol; everything else is compared exactly
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    "float": (1e-7, 1e-7),
    "complex": (1e-7, 1e-7),
}


class _Options:
    """The options of one call of assert_close."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict, msg: Any) -> None:
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        self.rtol, self.atol, self.equal_nan, self.checks, self.msg = rtol, atol, equal_nan, checks, msg

    def tolerances(self, *kinds: Any) -> tuple[float, float]:
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(_kind(kind), (0.0, 0.0)) for kind in kinds]
        return max(r for r, _ in found), max(a for _, a in found)

    def fail(self, text: str, path: str) -> NoReturn:
        if path:
            text += f"\n\nThe failure occurred for item {path}"
        if self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise AssertionError(text)


def _kind(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).rpartition(".")[2]


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError with the greatest differences unless |actual - expected| <= atol + rtol * |expected|."""
    checks = {"subclasses": allow_subclasses, "device": check_device, "dtype": check_dtype}
    checks.update(layout=check_layout, stride=check_stride)
    _compare(actual, expected, _Options(rtol, atol, equal_nan, checks, msg), "")


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form: converts numbers and lists, and compares values only."""
    actual, expected = (v if isinstance(v, Tensor) else ingot.tensor(v) for v in (actual, expected))
    options = {"check_device": True, "check_dtype": False, "check_stride": False}
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, msg=msg or None, **options)


def _compare(actual: Any, expected: Any, options: _Options, path: str) -> None:
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            options.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for i, (a, e) in enumerate(zip(actual, expected)):
            _compare(a, e, options, f"{path}[{i}]")
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            options.fail(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
                f"Additional keys in the actual mapping: {sorted(extra, key=str)}",
                path,
            )
        for key in actual:
            _compare(actual[key], expected[key], options, f"{path}[{key!r}]")
    else:
        _compare_leaf(actual, expected, options, path)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compare_leaf(actual: Any, expected: Any, options: _Options, path: str) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            options.fail(f"None mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, bool) and isinstance(expected, bool):
        if actual is not expected:
            options.fail(f"Booleans mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
        if options.checks["dtype"] and type(actual) is not type(expected):
            options.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
        _compare_numbers(actual, expected, options.tolerances(type(actual), type(expected)), options, path)
    elif _tensor_like(actual, expected, options):
        a, e = (v if isinstance(v, Tensor) else ingot.as_tensor(v) for v in (actual, expected))
        _compare_tensors(a.detach(), e.detach(), options, path)
    else:
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _tensor_like(actual: Any, expected: Any, options: _Options) -> bool:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or (not options.checks["subclasses"] and type(actual) is not type(expected)):
        return False
    return isinstance(actual, Tensor) or hasattr(actual, "__array_interface__")


def _compare_numbers(actual: Any, expected: Any, tolerances: tuple, options: _Options, path: str) -> None:
    rtol, atol = tolerances
    if actual == expected or (options.equal_nan and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if difference <= atol + rtol * abs(expected) and cmath.isfinite(difference):
        return
    exact = rtol == 0 and atol == 0
    relative = difference / abs(expected) if expected != 0 else float("inf")
    options.fail(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}",
        path,
    )


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options, path: str) -> None:
    checks = options.checks
    attributes = [("shape", "shape", True), ("layout", "layout", checks["layout"])]
    attributes += [("device", "device", checks["device"]), ("dtype", "dtype", checks["dtype"])]
    for label, name, wanted in attributes:
        a, e = getattr(actual, name), getattr(expected, name)
        if wanted and a != e:
            options.fail(f"The values for attribute '{label}' do not match: {a} != {e}.", path)
    if checks["stride"] and actual.stride() != expected.stride():
        options.fail(
            f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.", path
        )
    if actual.is_meta or expected.is_meta:
        return
    tolerances = options.tolerances(actual.dtype, expected.dtype)
    actual, expected = _comparable(actual, expected)
    if actual.dim() == 0:
        _compare_numbers(actual.item(), expected.item(), tolerances, options, path)
        return
    close = _close(actual, expected, *tolerances, options.equal_nan)
    if not bool(close.all()):
        options.fail(_report(actual, expected, close, *tolerances), path)


def _comparable(actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one dtype that has arithmetic."""
    actual, expected = (t.dequantize() if t.is_quantized else t for t in (actual, expected))
    dtype = actual.dtype if actual.dtype == expected.dtype else ingot.promote_types(actual.dtype, expected.dtype)
    if _kind(dtype).startswith("float8"):
        dtype = ingot.float32
    elif dtype == ingot.bool or not (dtype.is_floating_point or dtype.is_complex):
        dtype = ingot.int64
    return actual.to(dtype), expected.to(dtype)


def _close(actual: Tensor, expected: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    close = actual == expected
    if equal_nan:
        close = close | ((actual != actual) & (expected != expected))
    if rtol == 0 and atol == 0:
        return close
    difference = (actual - expected).abs()
    allowed = atol + rtol * expected.abs()
    return close | ((difference <= allowed) & (difference < float("inf")))


def _report(actual: Tensor, expected: Tensor, close: Tensor, rtol: float, atol: float) -> str:
    exact = rtol == 0 and atol == 0
    total = close.numel()
    wrong = total - int(close.sum())
    lines = [
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n",
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})",
    ]
    difference = (actual - expected).abs()
    relative = difference / expected.abs()
    for name, values, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        values = values.masked_fill(close, 0).flatten()
        at = int(values.argmax())
        index = []
        for size in reversed(actual.shape):
            at, rest = divmod(at, size)
            index.insert(0, rest)
        value = values.max().item()
        lines.append(f"Greatest {name} difference: {value} at index {tuple(index)}{_allowed(allowed, exact)}")
    return "\n".join(lines)
