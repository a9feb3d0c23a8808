# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, E501
"""The layers whose forward is one expression, for scripts. A row is

    CLASS [(BASE)]   constants   | other attributes   = expression

An attribute is declared where a type follows it; one that a row does not name does not exist in scripts. `.x` stands for
`self.x`. The operands are `input`, one tensor, unless `[...]` lists them, and the result is one tensor unless `->` stands
before the `=`. A row whose class has braces, `Dropout{,1d,2d}`, is a row per alternative, which `{}` stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import ingot as torch
import ingot.nn.functional as F
from ingot.jit._sources.text import define

_ROWS = """
Identity = input
Linear in_features:int out_features:int | weight:Tensor = F.linear(input, .weight, .bias)
NonDynamicallyQuantizableLinear(Linear) | weight:Tensor
Bilinear in1_features in2_features out_features | weight:Tensor [input1, input2] = F.bilinear(input1, input2, .weight, .bias)
Flatten start_dim:int end_dim:int = input.flatten(.start_dim, .end_dim)
Unflatten dim:int unflattened_size = input.unflatten(.dim, .unflattened_size)
ModuleList | _modules:int
ModuleDict | _modules:int

ReLU inplace:bool = F.relu(input, inplace=.inplace)
ReLU6 inplace:bool = F.relu6(input, inplace=.inplace)
SiLU inplace:bool = F.silu(input, inplace=.inplace)
Mish inplace:bool = F.mish(input, inplace=.inplace)
SELU inplace:bool = F.selu(input, .inplace)
Hardswish inplace:bool = F.hardswish(input, .inplace)
Hardsigmoid inplace:bool = F.hardsigmoid(input, .inplace)
ELU alpha:float inplace = F.elu(input, .alpha, .inplace)
CELU alpha:float inplace = F.celu(input, .alpha, .inplace)
GELU approximate:str = F.gelu(input, approximate=.approximate)
Hardtanh min_val:float max_val inplace = F.hardtanh(input, .min_val, .max_val, .inplace)
Hardshrink lambd:float = F.hardshrink(input, .lambd)
Softshrink lambd:float = F.softshrink(input, .lambd)
Tanhshrink = F.tanhshrink(input)
LeakyReLU inplace:bool negative_slope = F.leaky_relu(input, .negative_slope, .inplace)
RReLU lower:float upper inplace = F.rrelu(input, .lower, .upper, .training, .inplace)
Threshold threshold:float value inplace = F.threshold(input, .threshold, .value, .inplace)
PReLU num_parameters:int = F.prelu(input, .weight)
Softplus beta:float threshold = F.softplus(input, .beta, .threshold)
Softsign = F.softsign(input)
Sigmoid = torch.sigmoid(input)
Tanh = torch.tanh(input)
LogSigmoid = F.logsigmoid(input)
GLU dim:int = F.glu(input, .dim)
Softmax dim:Optional[int] = F.softmax(input, .dim, _stacklevel=5)
Softmin dim:Optional[int] = F.softmin(input, .dim, _stacklevel=5)
LogSoftmax dim:Optional[int] = F.log_softmax(input, .dim, _stacklevel=5)
Dropout{,1d,2d,3d} p:float inplace = F.dropout{}(input, .p, .training, .inplace)
AlphaDropout p:float inplace = F.alpha_dropout(input, .p, .training)
FeatureAlphaDropout p:float inplace = F.feature_alpha_dropout(input, .p, .training)

LayerNorm normalized_shape eps:float elementwise_affine = F.layer_norm(input, .normalized_shape, .weight, .bias, .eps)
GroupNorm num_groups:int num_channels eps affine = F.group_norm(input, .num_groups, .weight, .bias, .eps)
LocalResponseNorm size:int alpha beta k = F.local_response_norm(input, .size, .alpha, .beta, .k)
RMSNorm normalized_shape eps elementwise_affine:bool [x] = F.rms_norm(x, .normalized_shape, .weight, .eps)
Embedding num_embeddings:int embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse \
  = F.embedding(input, .weight, .padding_idx, .max_norm, .norm_type, .scale_grad_by_freq, .sparse)
EmbeddingBag num_embeddings:int embedding_dim max_norm norm_type scale_grad_by_freq mode sparse include_last_offset padding_idx \
  [input, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None] \
  = F.embedding_bag(input, .weight, offsets, .max_norm, .norm_type, .scale_grad_by_freq, .mode, .sparse, per_sample_weights, \
    .include_last_offset, .padding_idx)
CosineSimilarity dim:int eps [x1, x2] = F.cosine_similarity(x1, x2, .dim, .eps)
PairwiseDistance norm:float eps keepdim [x1, x2] = F.pairwise_distance(x1, x2, .norm, .eps, .keepdim)
PixelShuffle upscale_factor:int = F.pixel_shuffle(input, .upscale_factor)
PixelUnshuffle downscale_factor:int = F.pixel_unshuffle(input, .downscale_factor)
ChannelShuffle groups:int = F.channel_shuffle(input, .groups)
Unfold kernel_size:int dilation padding stride = F.unfold(input, .kernel_size, .dilation, .padding, .stride)
Fold output_size:int kernel_size dilation padding stride \
  = F.fold(input, .output_size, .kernel_size, .dilation, .padding, .stride)
Upsample size scale_factor mode align_corners name:str recompute_scale_factor \
  = F.interpolate(input, .size, .scale_factor, .mode, .align_corners, recompute_scale_factor=.recompute_scale_factor)
ConstantPad1d padding value:float = F.pad(input, .padding, "constant", .value)
ConstantPad{2d,3d}(ConstantPad1d)
ZeroPad{1d,2d,3d}(ConstantPad1d)
ReflectionPad1d padding:int = F.pad(input, .padding, "reflect")
ReflectionPad{2d,3d}(ReflectionPad1d)
ReplicationPad1d padding:int = F.pad(input, .padding, "replicate")
ReplicationPad{2d,3d}(ReplicationPad1d)

MaxPool{1d,2d,3d} kernel_size stride padding dilation return_indices:bool ceil_mode -> = F.max_pool{}(input, .kernel_size, \
  .stride, .padding, .dilation, ceil_mode=.ceil_mode, return_indices=.return_indices)
AvgPool1d kernel_size stride:int padding ceil_mode count_include_pad \
  = F.avg_pool1d(input, .kernel_size, .stride, .padding, .ceil_mode, .count_include_pad)
AvgPool2d kernel_size stride:int padding ceil_mode count_include_pad divisor_override \
  = F.avg_pool2d(input, .kernel_size, .stride, .padding, .ceil_mode, .count_include_pad, .divisor_override)
AvgPool3d kernel_size stride padding ceil_mode:bool count_include_pad divisor_override \
  = F.avg_pool3d(input, .kernel_size, .stride, .padding, .ceil_mode, .count_include_pad, .divisor_override)
LPPool{1d,2d,3d} norm_type kernel_size stride ceil_mode:bool \
  = F.lp_pool{}(input, float(.norm_type), .kernel_size, .stride, .ceil_mode)
AdaptiveAvgPool{1d,2d,3d} output_size:int = F.adaptive_avg_pool{}(input, .output_size)
AdaptiveMaxPool{1d,2d,3d} output_size return_indices:bool -> = F.adaptive_max_pool{}(input, .output_size, .return_indices)
FractionalMaxPool{2d,3d} kernel_size return_indices:bool output_size output_ratio -> = F.fractional_max_pool{}(input, \
  .kernel_size, .output_size, .output_ratio, .return_indices, _random_samples=._random_samples)

MSELoss reduction:str [input, target] = F.mse_loss(input, target, reduction=.reduction)
L1Loss reduction:str [input, target] = F.l1_loss(input, target, reduction=.reduction)
SmoothL1Loss reduction:str | beta:float [input, target] = F.smooth_l1_loss(input, target, reduction=.reduction, beta=.beta)
HuberLoss reduction:str delta [input, target] = F.huber_loss(input, target, reduction=.reduction, delta=.delta)
SoftMarginLoss reduction:str [input, target] = F.soft_margin_loss(input, target, reduction=.reduction)
MultiLabelMarginLoss reduction:str [input, target] = F.multilabel_margin_loss(input, target, reduction=.reduction)
BCELoss reduction:str [input, target] = F.binary_cross_entropy(input, target, weight=.weight, reduction=.reduction)
BCEWithLogitsLoss | reduction:str [input, target] \
  = F.binary_cross_entropy_with_logits(input, target, .weight, pos_weight=.pos_weight, reduction=.reduction)
KLDivLoss reduction:str | log_target:bool [input, target] \
  = F.kl_div(input, target, reduction=.reduction, log_target=.log_target)
MultiLabelSoftMarginLoss reduction:str [input, target] \
  = F.multilabel_soft_margin_loss(input, target, weight=.weight, reduction=.reduction)
HingeEmbeddingLoss margin:float reduction [input, target] \
  = F.hinge_embedding_loss(input, target, margin=.margin, reduction=.reduction)
MultiMarginLoss p margin:float reduction [input, target] \
  = F.multi_margin_loss(input, target, p=.p, margin=.margin, weight=.weight, reduction=.reduction)
NLLLoss ignore_index:int reduction [input, target] \
  = F.nll_loss(input, target, weight=.weight, ignore_index=.ignore_index, reduction=.reduction)
CrossEntropyLoss ignore_index:int reduction label_smoothing [input, target] = F.cross_entropy(input, target, \
  weight=.weight, ignore_index=.ignore_index, reduction=.reduction, label_smoothing=.label_smoothing)
CosineEmbeddingLoss margin:float reduction [input1, input2, target] \
  = F.cosine_embedding_loss(input1, input2, target, margin=.margin, reduction=.reduction)
MarginRankingLoss margin:float reduction [input1, input2, target] \
  = F.margin_ranking_loss(input1, input2, target, margin=.margin, reduction=.reduction)
TripletMarginLoss margin:float p eps swap reduction [anchor, positive, negative] \
  = F.triplet_margin_loss(anchor, positive, negative, margin=.margin, p=.p, eps=.eps, swap=.swap, reduction=.reduction)
GaussianNLLLoss full:bool eps reduction [input, target, var] \
  = F.gaussian_nll_loss(input, target, var, full=.full, eps=.eps, reduction=.reduction)
PoissonNLLLoss log_input:bool full eps reduction [log_input, target] \
  = F.poisson_nll_loss(log_input, target, log_input=.log_input, full=.full, eps=.eps, reduction=.reduction)
CTCLoss blank:int reduction | zero_infinity:bool [log_probs, targets, input_lengths, target_lengths] \
  = F.ctc_loss(log_probs, targets, input_lengths, target_lengths, .blank, .reduction, .zero_infinity)
"""
_ROW = re.compile(
    r"(?P<name>\w+)(\((?P<base>\w+)\))?\s*(?P<constants>[^|=\[>]*?(\[int\])?)\s*"
    r"(\| (?P<others>[^=\[>]*?))?\s*(\[(?P<operands>.*)\])?\s*(?P<plain>->)?\s*(= (?P<expression>.*))?"
)


def _rows() -> Iterator[str]:
    for line in _ROWS.replace("\\\n", "").split("\n"):
        braces = re.match(r"(\w+)\{(.*?)\}(.*)", line)
        for one in braces[2].split(",") if braces else ():
            yield braces[1] + one + braces[3].replace("{}", one)
        if line and not braces:
            yield line


def _text_of(row: str) -> str:
    """The class that a row describes."""
    found: Any = _ROW.fullmatch(row)
    constants = found["constants"].split()
    declared = [one for one in constants + (found["others"] or "").split() if ":" in one]
    lines = [f"class {found['name']}" + (f"({found['base']}):" if found["base"] else ":")]
    if constants:
        lines.append(f"    __constants__ = {[one.partition(':')[0] for one in constants]}")
    lines += [f"    {one.replace(':', ': ')}" for one in declared]
    if found["expression"]:
        operands = [one if ":" in one else f"{one}: Tensor" for one in re.split(", ", found["operands"] or "input")]
        result = "" if found["plain"] else " -> Tensor"
        lines.append(f"    def forward(self, {', '.join(operands)}){result}:")
        lines.append("        return " + re.sub(r"(?<![\w\]])\.(?=[a-z_])", "self.", found["expression"]))
    return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"]) + "\n"


_HEAD = "from typing import Optional\nfrom ingot import Tensor\n"

define(globals(), _HEAD + "".join(map(_text_of, _rows())))
