# SPDX-License-Identifier: Apache-2.0
"""A value of an interpreter pass: what it is (a fake tensor, a number) and its node."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingot import _C
from ingot.fx.node import Node
from ingot.fx.proxy import Proxy

__all__ = ["ProxyValue"]


class ProxyValue:
    """Data and node of one value."""

    def __init__(self, data: Any, proxy: Any) -> None:
        self.data = data
        self.proxy_or_node = proxy

    @property
    def node(self) -> Node:
        return self.proxy_or_node.node if isinstance(self.proxy_or_node, Proxy) else self.proxy_or_node

    @property
    def proxy(self) -> Proxy:
        if not isinstance(self.proxy_or_node, Proxy):
            raise RuntimeError(f"ProxyValue doesn't have attached Proxy object. Node: {self.proxy_or_node}")
        return self.proxy_or_node

    def to_tensor(self) -> Any:
        if not isinstance(self.data, _C.Tensor):
            raise AssertionError(f"expected a tensor, found {type(self.data)}")
        return self.data

    def is_tensor(self) -> bool:
        return isinstance(self.data, _C.Tensor)

    def __iter__(self) -> Iterator:
        yield from self.data

    def __bool__(self) -> bool:
        return bool(self.data)
