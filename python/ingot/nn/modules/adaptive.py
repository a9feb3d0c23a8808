# SPDX-License-Identifier: Apache-2.0
"""The adaptive softmax: frequent classes in the head, rare ones in clusters of smaller width."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules.container import ModuleList, Sequential
from ingot.nn.modules.linear import Linear
from ingot.nn.modules.module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """cutoffs partition the classes: those below the first cutoff are in the head, every further range is a cluster."""

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        ordered = cutoffs == sorted(set(cutoffs)) and min(cutoffs) > 0 and max(cutoffs) <= n_classes - 1
        if not ordered or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            first = Linear(in_features, width, bias=False, **options)
            self.tail.append(Sequential(first, Linear(width, classes, bias=False, **options)))

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if (input_.dim() == 2) != (target_.dim() == 1):
            raise RuntimeError("Input and target should both be batched, or both be without batch dimension")
        input, target = (input_, target_) if target_.dim() else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found. "
            )
        picked = self.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)
        loss = (-picked).mean()
        return _ASMoutput(picked if target_.dim() else picked.squeeze(0), loss)

    def _full_log_prob(self, input: Tensor, head: Tensor) -> Tensor:
        parts = F.log_softmax(head, dim=1)
        columns = [parts[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            inside = F.log_softmax(cluster(input), dim=1)
            columns.append(inside + parts[:, self.shortlist_size + i].unsqueeze(1))
        return ingot.cat(columns, dim=1)

    def log_prob(self, input: Tensor) -> Tensor:
        return self._full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        return self.log_prob(input).argmax(dim=1)
