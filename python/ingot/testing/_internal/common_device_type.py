# SPDX-License-Identifier: Apache-2.0
"""Decorators of tests by device: the CPU is the only one."""
from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

__all__ = ["instantiate_device_type_tests", "onlyCPU", "onlyCUDA", "onlyNativeDeviceTypes"]


def _as_it_is(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda fn: fn


onlyCPU = onlyNativeDeviceTypes = skipMeta = skipCUDAIf = skipCUDAIfRocm = _as_it_is  # noqa: N816
onlyCUDA = unittest.skip("there is no CUDA device")  # noqa: N816


def instantiate_device_type_tests(
    generic_test_class: type, scope: dict[str, Any], except_for: Any = None, only_for: Any = None, **unused: Any
) -> None:
    """A class for the CPU, with the tests of the generic one; their argument `device` is "cpu"."""
    name = f"{generic_test_class.__name__}CPU"
    if only_for is not None and "cpu" not in only_for:
        scope.pop(generic_test_class.__name__, None)
        return
    members: dict[str, Any] = {"device_type": "cpu"}
    for key, fn in vars(generic_test_class).items():
        if key.startswith("test") and callable(fn):
            members[f"{key}_cpu"] = _on_cpu(fn)
            members[key] = None
    made = type(name, (generic_test_class,), members)
    made.__module__ = generic_test_class.__module__
    scope[name] = made
    scope.pop(generic_test_class.__name__, None)


def _on_cpu(fn: Callable) -> Callable:
    @functools.wraps(fn)
    def run(self: Any) -> Any:
        return fn(self, device="cpu") if "device" in fn.__code__.co_varnames[: fn.__code__.co_argcount] else fn(self)

    return run
