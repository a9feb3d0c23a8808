# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, E501
"""torch.nn.functional for scripts: losses. They share how `size_average` and `reduce` of older releases are read."""

import math
import warnings
from typing import Optional

import ingot as torch
from ingot import Tensor
from ingot.jit._sources import reduction as _Reduction
from ingot.jit._sources.text import define, expanded

TORCH_NAME = "torch.nn.functional"
logsigmoid = torch.nn.functional.logsigmoid

_SHARED = {
    "pair": "input: Tensor, target: Tensor",
    "two": "input1: Tensor, input2: Tensor, target: Tensor",
    "weight": "weight: Optional[Tensor] = None",
    "older": "size_average: Optional[bool] = None, reduce: Optional[bool] = None",
    "reduction": 'reduction: str = "mean"',
    # The reduction as a word, and as the number that operators take.
    "word": """\
if size_average is not None or reduce is not None:
    reduction = _Reduction.legacy_get_string(size_average, reduce)""",
    "number": """\
if size_average is not None or reduce is not None:
    reduction_enum = _Reduction.legacy_get_enum(size_average, reduce)
else:
    reduction_enum = _Reduction.get_enum(reduction)""",
    "same_sizes": """\
if not (target.size() == input.size()):
    warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). \
This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=2)""",
    "broadcast": "expanded_input, expanded_target = torch.broadcast_tensors([input, target])",
    "known_word": 'if reduction != "none" and reduction != "mean" and reduction != "sum":',
}

_LOSSES = """
def l1_loss(@pair, @older, @reduction) -> Tensor:
    @same_sizes
    @word
    @broadcast
    return torch.l1_loss(expanded_input, expanded_target, _Reduction.get_enum(reduction))

def mse_loss(@pair, @older, @reduction) -> Tensor:
    @same_sizes
    @word
    @broadcast
    return torch.mse_loss(expanded_input, expanded_target, _Reduction.get_enum(reduction))

def smooth_l1_loss(@pair, @older, @reduction, beta: float = 1.0) -> Tensor:
    @same_sizes
    @word
    @broadcast
    if beta == 0.0:
        return torch.l1_loss(expanded_input, expanded_target, _Reduction.get_enum(reduction))
    else:
        return torch.smooth_l1_loss(expanded_input, expanded_target, _Reduction.get_enum(reduction), beta)

def huber_loss(@pair, @reduction, delta: float = 1.0) -> Tensor:
    @same_sizes
    @broadcast
    return torch.huber_loss(expanded_input, expanded_target, _Reduction.get_enum(reduction), delta)

def cross_entropy(@pair, @weight, size_average: Optional[bool] = None, ignore_index: int = -100,
                  reduce: Optional[bool] = None, @reduction, label_smoothing: float = 0.0) -> Tensor:
    @word
    return torch.cross_entropy_loss(input, target, weight, _Reduction.get_enum(reduction), ignore_index, label_smoothing)

def nll_loss(@pair, @weight, size_average: Optional[bool] = None, ignore_index: int = -100,
             reduce: Optional[bool] = None, @reduction) -> Tensor:
    @word
    return torch.nll_loss_nd(input, target, weight, _Reduction.get_enum(reduction), ignore_index)

def kl_div(@pair, @older, @reduction, log_target: bool = False) -> Tensor:
    if size_average is not None or reduce is not None:
        reduction_enum = _Reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                          "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                          "'mean' will be changed to behave the same as 'batchmean' in the next major release.")
        if reduction == "batchmean":
            reduction_enum = _Reduction.get_enum("sum")
        else:
            reduction_enum = _Reduction.get_enum(reduction)
    reduced = torch.kl_div(input, target, reduction_enum, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        reduced = reduced / input.size()[0]
    return reduced

def binary_cross_entropy(@pair, @weight, @older, @reduction) -> Tensor:
    @number
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
                         "deprecated. Please ensure they have the same size.")
    if weight is not None:
        new_size = torch._infer_size(target.size(), weight.size())
        weight = weight.expand(new_size)
    return torch.binary_cross_entropy(input, target, weight, reduction_enum)

def binary_cross_entropy_with_logits(@pair, @weight, @older, @reduction, pos_weight: Optional[Tensor] = None) -> Tensor:
    @number
    if not (target.size() == input.size()):
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction_enum)

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, @reduction,
             zero_infinity: bool = False) -> Tensor:
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _Reduction.get_enum(reduction),
                          zero_infinity)

def poisson_nll_loss(@pair, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None,
                     eps: float = 1e-8, reduce: Optional[bool] = None, @reduction) -> Tensor:
    @word
    @known_word
        ret = input
        raise ValueError(reduction + " is not a valid value for reduction")
    ret = torch.poisson_nll_loss(input, target, log_input, full, eps, _Reduction.get_enum(reduction))
    return ret

def gaussian_nll_loss(@pair, var: Tensor, full: bool = False, eps: float = 1e-6, @reduction) -> Tensor:
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif input.size()[:-1] == var.size()[:-1] and var.size(-1) == 1:
            pass
        else:
            raise ValueError("var is of incorrect size")
    @known_word
        raise ValueError(reduction + " is not valid")
    if torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    if reduction == "mean":
        return loss.mean()
    elif reduction == "sum":
        return loss.sum()
    else:
        return loss

def margin_ranking_loss(@two, margin: float = 0, @older, @reduction) -> Tensor:
    @number
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                           f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return torch.margin_ranking_loss(input1, input2, target, margin, reduction_enum)

def hinge_embedding_loss(@pair, margin: float = 1.0, @older, @reduction) -> Tensor:
    @number
    return torch.hinge_embedding_loss(input, target, margin, reduction_enum)

def multilabel_margin_loss(@pair, @older, @reduction) -> Tensor:
    @number
    return torch.multilabel_margin_loss(input, target, reduction_enum)

def soft_margin_loss(@pair, @older, @reduction) -> Tensor:
    @number
    return torch.soft_margin_loss(input, target, reduction_enum)

def multilabel_soft_margin_loss(@pair, @weight, @older, @reduction) -> Tensor:
    @word
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    C = input.size(class_dim)
    loss = loss.sum(dim=class_dim) / C
    if reduction == "none":
        ret = loss
    elif reduction == "mean":
        ret = loss.mean()
    elif reduction == "sum":
        ret = loss.sum()
    else:
        ret = input
        raise ValueError(reduction + " is not valid")
    return ret

def cosine_embedding_loss(@two, margin: float = 0, @older, @reduction) -> Tensor:
    @number
    return torch.cosine_embedding_loss(input1, input2, target, margin, reduction_enum)

def multi_margin_loss(@pair, p: int = 1, margin: float = 1.0, @weight, @older, @reduction) -> Tensor:
    @number
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None:
        if weight.dim() != 1:
            raise ValueError("weight must be one-dimensional")
    return torch.multi_margin_loss(input, target, p, margin, weight, reduction_enum)

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, @older, @reduction) -> Tensor:
    @number
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction_enum)
"""

define(globals(), expanded(_LOSSES, _SHARED))
