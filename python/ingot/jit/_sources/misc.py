# SPDX-License-Identifier: Apache-2.0
"""torch.nn.modules.utils for scripts: names of functions that the compiler knows. A list is as long as its parameter
says there, so that nothing is left to do."""

from typing import Any


def _list_with_default(out_size: Any, defaults: Any) -> Any:
    return out_size


def _single(x: Any) -> Any:
    return x


def _pair(x: Any) -> Any:
    return x


def _triple(x: Any) -> Any:
    return x


SYMBOLS = {
    _list_with_default: "aten::list_with_default",
    _single: "aten::_single",
    _pair: "aten::_pair",
    _triple: "aten::_triple",
}
