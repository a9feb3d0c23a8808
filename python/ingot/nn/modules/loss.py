# SPDX-License-Identifier: Apache-2.0
"""Losses: a functional form, its constants, and a reduction."""

from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules._simple import SimpleModule

_TAIL = "size_average=None, reduce=None, reduction='mean'"


class _Loss(SimpleModule):
    """Converts the deprecated flags into a reduction; weights are buffers."""

    arguments = _TAIL

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        average, reduce = (self.__dict__.pop(name, None) for name in ("size_average", "reduce"))
        self._passed = [name for name in self._passed if name not in ("size_average", "reduce")]
        if average is not None or reduce is not None:
            number = F._reduction("mean", average, reduce)
            self.reduction = {n: name for name, n in F._REDUCTIONS.items()}[number]
        for name in ("weight", "pos_weight"):
            if name in self.__dict__:
                self.register_buffer(name, self.__dict__.pop(name))

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._call(input, target)


class _PairLoss(_Loss):
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._call(input1, input2, target)


class _TripletLoss(_Loss):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.margin <= 0:
            name = type(self).__name__
            raise ValueError(f"{name}: expected margin to be greater than 0, got {self.margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._call(anchor, positive, negative)


class L1Loss(_Loss):
    function = "l1_loss"


class MSELoss(_Loss):
    function = "mse_loss"


class SmoothL1Loss(_Loss):
    arguments, function = f"{_TAIL}, beta=1.0", "smooth_l1_loss"


class HuberLoss(_Loss):
    arguments, function = "reduction='mean', delta=1.0", "huber_loss"


class NLLLoss(_Loss):
    arguments = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"
    function = "nll_loss"


class NLLLoss2d(NLLLoss):
    """The deprecated name of NLLLoss for images."""


class CrossEntropyLoss(_Loss):
    arguments = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0"
    function = "cross_entropy"


class PoissonNLLLoss(_Loss):
    arguments = "log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'"
    function = "poisson_nll_loss"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._call(log_input, target)


class GaussianNLLLoss(_Loss):
    arguments, function = "*, full=False, eps=1e-6, reduction='mean'", "gaussian_nll_loss"

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        return self._call(input, target, var)


class KLDivLoss(_Loss):
    arguments, function = f"{_TAIL}, log_target=False", "kl_div"


class BCELoss(_Loss):
    arguments, function = f"weight=None, {_TAIL}", "binary_cross_entropy"


class BCEWithLogitsLoss(_Loss):
    arguments, function = f"weight=None, {_TAIL}, pos_weight=None", "binary_cross_entropy_with_logits"


class HingeEmbeddingLoss(_Loss):
    arguments, function = f"margin=1.0, {_TAIL}", "hinge_embedding_loss"


class MultiLabelMarginLoss(_Loss):
    function = "multilabel_margin_loss"


class SoftMarginLoss(_Loss):
    function = "soft_margin_loss"


class MultiLabelSoftMarginLoss(_Loss):
    arguments, function = f"weight=None, {_TAIL}", "multilabel_soft_margin_loss"


class CosineEmbeddingLoss(_PairLoss):
    arguments, function = f"margin=0.0, {_TAIL}", "cosine_embedding_loss"


class MarginRankingLoss(_PairLoss):
    arguments, function = f"margin=0.0, {_TAIL}", "margin_ranking_loss"


class MultiMarginLoss(_Loss):
    arguments, function = f"p=1, margin=1.0, weight=None, {_TAIL}", "multi_margin_loss"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise AssertionError(f"weight must be None or 1-dimensional, got {self.weight.dim()}D tensor")


class TripletMarginLoss(_TripletLoss):
    arguments, function = f"margin=1.0, p=2.0, eps=1e-6, swap=False, {_TAIL}", "triplet_margin_loss"


class TripletMarginWithDistanceLoss(_TripletLoss):
    arguments = "*, distance_function=None, margin=1.0, swap=False, reduction='mean'"
    function = "triplet_margin_with_distance_loss"


class CTCLoss(_Loss):
    arguments, function = "blank=0, reduction='mean', zero_infinity=False", "ctc_loss"

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return self._call(log_probs, targets, input_lengths, target_lengths)
