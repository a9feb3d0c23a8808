# SPDX-License-Identifier: Apache-2.0
"""The interface of a pass: called on a graph module, returns the new one and whether it differs."""
from __future__ import annotations

import abc
from typing import NamedTuple

from ingot.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The result of a pass."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: `requires` before, `call`, `ensures` after."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The pass itself."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (nothing is required by default)
        """Raises when the module is not what the pass takes."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raises when the module is not what the pass should leave."""
