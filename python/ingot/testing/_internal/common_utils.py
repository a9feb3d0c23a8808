# SPDX-License-Identifier: Apache-2.0
"""The test case and the decorators that test files of PyTorch use."""
from __future__ import annotations

import contextlib
import copy
import functools
import os
import random
import sys
import tempfile
import types
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.autograd.gradcheck import gradcheck  # noqa: F401 (test files import it from here)
from ingot.testing import assert_close, make_tensor  # noqa: F401

__all__ = ["TestCase", "instantiate_parametrized_tests", "parametrize", "run_tests", "subtest"]

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_FBCODE = IS_SANDCASTLE = IS_REMOTE_GPU = IS_JETSON = IS_PPC = False
IS_CI = bool(os.getenv("CI"))
IS_X86 = os.uname().machine in ("x86_64", "i386") if hasattr(os, "uname") else True
IS_ARM64 = hasattr(os, "uname") and os.uname().machine in ("arm64", "aarch64")
TEST_CUDA = TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_CROSSREF = TEST_WITH_SLOW = TEST_MPS = TEST_XPU = False
TEST_MKL = TEST_FAIRSEQ = TEST_CUDA_GRAPH = False


def _has(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


TEST_NUMPY = _has("numpy")
TEST_SCIPY = _has("scipy")
TEST_TRANSFORMERS = _has("transformers")


class TestCase(unittest.TestCase):
    """assertEqual compares tensors and containers of them; assertExpectedInline compares texts."""

    _precision: float = 0
    _rel_tol: float = 0
    longMessage = True

    def assertEqual(  # noqa: N802 (unittest's name)
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        self._compare(x, y, msg, atol, rtol, equal_nan, exact_dtype)

    def _compare(self, x: Any, y: Any, msg: Any, atol: Any, rtol: Any, equal_nan: bool, exact_dtype: bool) -> None:
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
                x, y = (v if isinstance(v, Tensor) else ingot.tensor(v) for v in (x, y))
                exact_dtype = False
            assert_close(
                x, y, atol=atol, rtol=rtol, equal_nan=equal_nan, check_dtype=exact_dtype,
                msg=(lambda text: f"{text}\n{msg}") if msg is not None else None,
            )  # fmt: skip
        elif isinstance(x, dict) and isinstance(y, dict):
            super().assertEqual(set(x), set(y), msg)
            for key in x:
                self._compare(x[key], y[key], msg, atol, rtol, equal_nan, exact_dtype)
        elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            super().assertEqual(len(x), len(y), msg)
            for a, b in zip(x, y, strict=True):
                self._compare(a, b, msg, atol, rtol, equal_nan, exact_dtype)
        elif isinstance(x, float) and isinstance(y, float):
            if x != y:
                assert_close(x, y, atol=atol, rtol=rtol, equal_nan=equal_nan)
        else:
            super().assertEqual(x, y, msg)

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # noqa: N802
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, **options)

    def assertExpectedInline(self, actual: Any, expect: str, skip: int = 0) -> None:  # noqa: N802
        if str(actual) != expect:
            super().assertMultiLineEqual(expect, str(actual))

    def assertExpectedRaisesInline(  # noqa: N802
        self, exc_type: type, callable: Callable, expect: str, *args: Any, **kwargs: Any
    ) -> None:
        try:
            callable(*args, **kwargs)
        except exc_type as error:
            self.assertExpectedInline(str(error), expect)
            return
        self.fail(f"{exc_type.__name__} was not raised")

    def assertObjectIn(self, obj: Any, iterable: Any) -> None:  # noqa: N802
        if not any(obj is element for element in iterable):
            raise AssertionError("object not found in iterable")

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type, regex: str = "") -> Iterator[None]:  # noqa: N802
        with self.assertWarnsRegex(category, regex):
            yield

    @contextlib.contextmanager
    def assertNotWarn(self, callable: Callable, msg: str = "") -> Iterator[None]:  # noqa: N802
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield
        self.assertFalse(found, msg)

    def setUp(self) -> None:  # noqa: N802
        set_rng_seed(1234)


def set_rng_seed(seed: int) -> None:
    ingot.manual_seed(seed)
    random.seed(seed)
    if TEST_NUMPY:
        import numpy

        numpy.random.seed(seed)


def run_tests(argv: list[str] | None = None) -> None:
    unittest.main(argv=argv or sys.argv)


# ---- parametrized tests


class subtest:  # noqa: N801 (PyTorch's name)
    """Arguments of one case, with a name and decorators."""

    __slots__ = ("arg_values", "decorators", "name")

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Callable] | None = None) -> None:
        self.arg_values = arg_values
        self.name = name
        self.decorators = decorators or []


class parametrize:  # noqa: N801 (PyTorch's name)
    """Marks a test: it is run once per value. instantiate_parametrized_tests makes the tests."""

    def __init__(self, arg_str: str, arg_values: Any, name_fn: Callable | None = None) -> None:
        self.arg_names = [n.strip() for n in arg_str.split(",") if n.strip()]
        self.arg_values = arg_values
        self.name_fn = name_fn

    def __call__(self, fn: Callable) -> Callable:
        fn.__dict__.setdefault("_parametrized", []).insert(0, self)
        return fn

    def _name_of(self, name: str, value: Any) -> str:
        if isinstance(value, (str, bool, int, float)):
            text = str(value)
        elif isinstance(value, ingot.dtype):
            text = str(value).rpartition(".")[2]
        else:
            text = getattr(value, "__name__", None) or type(value).__name__
        return f"{name}_{text}".replace(".", "_").replace("-", "neg")

    def cases(self) -> Iterator[tuple[str, dict[str, Any], Sequence[Callable]]]:
        """Name, arguments and decorators of each case."""
        for value in self.arg_values:
            decorators: Sequence[Callable] = ()
            name = None
            if isinstance(value, subtest):
                decorators, name, value = value.decorators, value.name, value.arg_values
            values = [value] if len(self.arg_names) == 1 else list(value)
            if name is None and self.name_fn is not None:
                name = self.name_fn(*values)
            if name is None:
                name = "_".join(self._name_of(n, v) for n, v in zip(self.arg_names, values, strict=True))
            yield name, dict(zip(self.arg_names, values, strict=True)), decorators


def _case(fn: Callable, kwargs: dict[str, Any], decorators: Sequence[Callable]) -> Callable:
    @functools.wraps(fn)
    def run(self: Any, *more: Any) -> Any:
        return fn(self, *more, **kwargs)

    run.__dict__.pop("_parametrized", None)
    made: Callable = run
    for decorator in decorators:
        made = decorator(made)
    return made


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Makes one test per case of the marked tests of a class."""
    for name, fn in list(vars(generic_cls).items()):
        marks = getattr(fn, "_parametrized", None)
        if not marks:
            continue
        delattr(generic_cls, name)
        cases: list[tuple[str, dict[str, Any], list[Callable]]] = [("", {}, [])]
        for mark in marks:
            cases = [
                (f"{text}_{more}" if text else more, {**kwargs, **own}, [*decorators, *added])
                for text, kwargs, decorators in cases
                for more, own, added in mark.cases()
            ]
        for text, kwargs, decorators in cases:
            full = f"{name}_{text}" if text else name
            made = _case(fn, kwargs, decorators)
            made.__name__ = full
            setattr(generic_cls, full, made)
    return generic_cls


# ---- decorators


def _as_it_is(*args: Any, **kwargs: Any) -> Any:
    """A decorator with or without arguments that leaves the test as it is."""
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda fn: fn


skipIfTorchDynamo = skipIfTorchInductor = skipIfRocm = skipIfCrossRef = skipIfMps = skipIfXpu = _as_it_is  # noqa: N816
xfailIfTorchDynamo = markDynamoStrictTest = unMarkDynamoStrictTest = suppress_warnings = _as_it_is  # noqa: N816
skipIfNoLapack = skipIfSlowGradcheckEnv = disable_gc = _as_it_is  # noqa: N816
slowTest = unittest.skip("a slow test")  # noqa: N816


def skipIfNoSciPy(fn: Callable) -> Callable:  # noqa: N802
    return fn if TEST_SCIPY else unittest.skip("SciPy is not installed")(fn)


def decorateIf(decorator: Callable, predicate: Callable[[dict], bool]) -> Callable:  # noqa: N802
    """Applies a decorator to the cases whose arguments a function accepts."""

    def wrap(fn: Callable) -> Callable:
        @functools.wraps(fn)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            return (decorator(fn) if predicate(kwargs) else fn)(self, *args, **kwargs)

        return run

    return wrap


def xfail_inherited_tests(tests: list[str]) -> Callable:
    """Marks tests of a base class that are expected to fail in this one."""

    def wrap(cls: type) -> type:
        for name in tests:
            original = getattr(cls, name)
            own = types.FunctionType(
                original.__code__, original.__globals__, name, original.__defaults__, original.__closure__
            )
            setattr(cls, name, unittest.expectedFailure(own))
        return cls

    return wrap


# ---- helpers


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    state = ingot.get_rng_state()
    try:
        yield
    finally:
        ingot.set_rng_state(state)


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    before = ingot.get_default_dtype()
    ingot.set_default_dtype(dtype)
    try:
        yield
    finally:
        ingot.set_default_dtype(before)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:  # noqa: N802
    kwargs.pop("delete", None)
    with tempfile.NamedTemporaryFile(*args, delete=False, **kwargs) as file:
        name = file.name
    try:
        yield name
    finally:
        os.unlink(name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:  # noqa: N802
    with tempfile.TemporaryDirectory(suffix=suffix) as folder:
        yield folder


def find_library_location(lib_name: str) -> Path:
    """Where a library beside the package would be."""
    return Path(ingot.__file__).resolve().parent / "lib" / lib_name


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def noncontiguous_like(t: Tensor) -> Tensor:
    """An equal tensor whose elements are not next to each other."""
    if not t.is_contiguous() or t.numel() < 2:
        return t
    wide = ingot.stack([t, t], -1)
    return wide[..., 0].detach().requires_grad_(t.requires_grad)


def clone_input_helper(value: Any) -> Any:
    if isinstance(value, Tensor):
        return ingot.clone(value)
    return tuple(map(clone_input_helper, value)) if isinstance(value, Sequence) else copy.copy(value)


def gradgradcheck(*args: Any, **kwargs: Any) -> bool:
    from ingot.autograd import gradcheck as module

    return module.gradgradcheck(*args, **kwargs)


def is_iterable_of_tensors(iterable: Any, include_empty: bool = False) -> bool:
    if isinstance(iterable, Tensor):
        return False
    try:
        items = list(iterable)
    except TypeError:
        return False
    return all(isinstance(t, Tensor) for t in items) if items else include_empty


