# SPDX-License-Identifier: Apache-2.0
"""The operators of neural networks by name, as `torch._C._nn` has them."""

from typing import Any

from ingot import _C


def _parse_to(*args: Any, **kwargs: Any) -> tuple:
    """Device, dtype, non_blocking and memory format of the arguments of Module.to."""
    from ingot.nn.modules.module import _parse_to as parse

    return tuple(parse(args, kwargs))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'ingot.nn._operators' has no attribute {name!r}")
    found = globals()[name] = _C.op(name)
    return found
