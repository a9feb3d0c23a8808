# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP007, UP035, UP045, B028, F401
"""The layers for scripts: which attributes they have there (annotations), which of them are constants, and forward.
A class that says nothing about an attribute has none of that name in scripts."""

from typing import Final, List, Optional, Tuple, Union

import ingot as torch
import ingot.nn.functional as F
from ingot import Tensor
from ingot.nn import Module


class Identity:
    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear:
    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Tensor

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    weight: Tensor


class Bilinear:
    __constants__ = ["in1_features", "in2_features", "out_features"]
    weight: Tensor

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


class Flatten:
    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten:
    __constants__ = ["dim", "unflattened_size"]
    dim: int

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


# Containers


class Sequential:
    _modules: int

    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class ModuleList:
    _modules: int


class ModuleDict:
    _modules: int


# Activations


class ReLU:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class ReLU6:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, inplace=self.inplace)


class ELU:
    __constants__ = ["alpha", "inplace"]
    alpha: float

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU:
    __constants__ = ["alpha", "inplace"]
    alpha: float

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GELU:
    __constants__ = ["approximate"]
    approximate: str

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class SiLU:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class Hardswish:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardsigmoid:
    __constants__ = ["inplace"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardtanh:
    __constants__ = ["min_val", "max_val", "inplace"]
    min_val: float

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Hardshrink:
    __constants__ = ["lambd"]
    lambd: float

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink:
    __constants__ = ["lambd"]
    lambd: float

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Tanhshrink:
    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class LeakyReLU:
    __constants__ = ["inplace", "negative_slope"]
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class Threshold:
    __constants__ = ["threshold", "value", "inplace"]
    threshold: float

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class PReLU:
    __constants__ = ["num_parameters"]
    num_parameters: int

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Softplus:
    __constants__ = ["beta", "threshold"]
    beta: float

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign:
    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Sigmoid:
    def forward(self, input: Tensor) -> Tensor:
        return torch.sigmoid(input)


class Tanh:
    def forward(self, input: Tensor) -> Tensor:
        return torch.tanh(input)


class LogSigmoid:
    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class GLU:
    __constants__ = ["dim"]
    dim: int

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class Softmax:
    __constants__ = ["dim"]
    dim: Optional[int]

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin:
    __constants__ = ["dim"]
    dim: Optional[int]

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax:
    __constants__ = ["dim"]
    dim: Optional[int]

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


# Dropout


class Dropout:
    __constants__ = ["p", "inplace"]
    p: float

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d:
    __constants__ = ["p", "inplace"]
    p: float

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d:
    __constants__ = ["p", "inplace"]
    p: float

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d:
    __constants__ = ["p", "inplace"]
    p: float

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout:
    __constants__ = ["p", "inplace"]
    p: float

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


# Normalization


class BatchNorm1d:
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int

    def _check_input_dim(self, input):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.momentum is None:
            exponential_average_factor = 0.0
        else:
            exponential_average_factor = self.momentum
        if self.training and self.track_running_stats:
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                if self.momentum is None:
                    exponential_average_factor = 1.0 / float(self.num_batches_tracked)
                else:
                    exponential_average_factor = self.momentum
        if self.training:
            bn_training = True
        else:
            bn_training = (self.running_mean is None) and (self.running_var is None)
        return F.batch_norm(
            input,
            self.running_mean if not self.training or self.track_running_stats else None,
            self.running_var if not self.training or self.track_running_stats else None,
            self.weight,
            self.bias,
            bn_training,
            exponential_average_factor,
            self.eps,
        )


class BatchNorm2d(BatchNorm1d):
    num_features: int

    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(BatchNorm1d):
    num_features: int

    def _check_input_dim(self, input):
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class LayerNorm:
    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    eps: float

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm:
    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


# Embeddings and recurrent cells


class Embedding:
    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]
    num_embeddings: int

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )


class GRUCell:
    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError(f"GRUCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError(f"GRUCell: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        else:
            hx = hx.unsqueeze(0) if not is_batched else hx
        ret = torch.gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not is_batched:
            ret = ret.squeeze(0)
        return ret


class LSTMCell:
    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int

    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError(f"LSTMCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        else:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0)) if not is_batched else hx
        ret = torch.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not is_batched:
            ret = (ret[0].squeeze(0), ret[1].squeeze(0))
        return ret


# Convolutions


class _Conv:
    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != "zeros":
            return F.conv1d(
                F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode),
                weight,
                bias,
                self.stride,
                (0,),
                self.dilation,
                self.groups,
            )
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Conv):
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != "zeros":
            return F.conv2d(
                F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode),
                weight,
                bias,
                self.stride,
                (0, 0),
                self.dilation,
                self.groups,
            )
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Conv):
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != "zeros":
            return F.conv3d(
                F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode),
                weight,
                bias,
                self.stride,
                (0, 0, 0),
                self.dilation,
                self.groups,
            )
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTranspose(_Conv):
    def _output_padding(
        self,
        input: Tensor,
        output_size: Optional[List[int]],
        stride: List[int],
        padding: List[int],
        kernel_size: List[int],
        num_spatial_dims: int,
        dilation: Optional[List[int]] = None,
    ) -> List[int]:
        if output_size is None:
            ret = list(self.output_padding)
        else:
            has_batch_dim = input.dim() == num_spatial_dims + 2
            first = 2 if has_batch_dim else 1
            if len(output_size) == first + num_spatial_dims:
                output_size = output_size[first:]
            if len(output_size) != num_spatial_dims:
                raise ValueError(
                    f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have "
                    f"{num_spatial_dims} or {first + num_spatial_dims} elements (got {len(output_size)})"
                )
            ret = torch.jit.annotate(List[int], [])
            for d in range(num_spatial_dims):
                low = (input.size(d + first) - 1) * stride[d] - 2 * padding[d]
                low = low + (dilation[d] if dilation is not None else 1) * (kernel_size[d] - 1) + 1
                high = low + stride[d] - 1
                if output_size[d] < low or output_size[d] > high:
                    raise ValueError(
                        f"requested an output size of {output_size}, but valid sizes of dim {d} range from {low} to "
                        f"{high} (for an input of {input.size()[2:]})"
                    )
                ret.append(output_size[d] - low)
        return ret


class ConvTranspose1d(_ConvTranspose):
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, 1, self.dilation
        )
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTranspose):
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, 2, self.dilation
        )
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTranspose):
    bias: Optional[Tensor]
    transposed: bool
    _reversed_padding_repeated_twice: List[int]

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, 3, self.dilation
        )
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


# Pooling


class MaxPool1d:
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    return_indices: bool

    def forward(self, input: Tensor):
        return F.max_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool2d:
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    return_indices: bool

    def forward(self, input: Tensor):
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class AvgPool1d:
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    stride: int

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d:
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    stride: int

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AdaptiveAvgPool1d:
    __constants__ = ["output_size"]
    output_size: int

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d:
    __constants__ = ["output_size"]
    output_size: int

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d:
    __constants__ = ["output_size"]
    output_size: int

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


# Losses


class MSELoss:
    __constants__ = ["reduction"]
    reduction: str

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss:
    __constants__ = ["reduction"]
    reduction: str

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss:
    __constants__ = ["ignore_index", "reduction", "label_smoothing"]
    ignore_index: int

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss:
    __constants__ = ["ignore_index", "reduction"]
    ignore_index: int

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class BCELoss:
    __constants__ = ["reduction"]
    reduction: str

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss:
    reduction: str

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )
