# SPDX-License-Identifier: Apache-2.0
"""Distances between rows."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules._simple import SimpleModule


class PairwiseDistance(SimpleModule):
    arguments = "p=2.0, eps=1e-6, keepdim=False"

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)


class CosineSimilarity(SimpleModule):
    arguments = "dim=1, eps=1e-8"

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
