# SPDX-License-Identifier: Apache-2.0
"""Distances between rows."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.nn.modules._simple import SimpleModule


class PairwiseDistance(SimpleModule):
    arguments, function = "p=2.0, eps=1e-6, keepdim=False", "pairwise_distance"

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return self._call(x1, x2)

    @property
    def norm(self) -> float:
        """The name that PyTorch has for p."""
        return self.p


class CosineSimilarity(SimpleModule):
    arguments, function = "dim=1, eps=1e-8", "cosine_similarity"

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return self._call(x1, x2)
