# SPDX-License-Identifier: Apache-2.0
"""Dispatch keys and devices as kinds of implementations that the engine knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ingot
from ingot import _C
from ingot._dispatch_keys import DispatchKey
from ingot._library.simple_registry import singleton

__all__ = ["device_key", "fallthrough_kernel", "find_key", "implement"]

_KINDS = {
    "": "kernel", "cpu": "kernel", "default": "kernel", "compositeexplicitautograd": "kernel", "autograd": "autograd",
    "backendselect": "kernel", "compositeimplicitautograd": "composite", "autogradcpu": "autograd", "meta": "fake",
}  # fmt: skip
_EVERY_DEVICE = "CompositeExplicitAutograd"


def fallthrough_kernel() -> None:
    """A dummy for Library.impl: the next implementation is used, which is what happens without it."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def find_key(text: str) -> str | None:
    """A dispatch key in its usual spelling; None: there is none of that name."""
    return next((name for name in DispatchKey.__members__ if name.lower() == text.lower()), None)


def device_key(device_type: str | None) -> str:
    """The dispatch key of a device; RuntimeError: there is no such device."""
    if device_type is None or device_type == "default":
        return _EVERY_DEVICE
    kind = ingot.device(device_type).type
    return find_key(kind) or kind


def implement(overload: Any, key: str, fn: Callable, fake: bool = True) -> None:
    """Implements an operator for a dispatch key; a kernel for one device precedes one for every device, which runs on
    fake tensors as well (if `fake`)."""
    text = key.lower()
    if fn is fallthrough_kernel:
        return
    if text not in _KINDS:
        if find_key(key) is None:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        return  # another device, or a layer that is a mode here: accepted, never used
    kernels = singleton.find(overload).kernels
    every = text == _EVERY_DEVICE.lower()
    if not (every and "cpu" in kernels):
        _C.library_impl(overload, _KINDS[text], fn)
    kernels.add(text)
    if every and fake and not _C.library_has(overload, "fake"):
        _C.library_impl(overload, "fake", fn)
