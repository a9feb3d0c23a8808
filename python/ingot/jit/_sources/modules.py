# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP007, UP035, UP045, B028
"""The layers for scripts: which attributes they have there (annotations), which of them are constants, and forward.
A class that says nothing about an attribute has none of that name in scripts."""

import warnings
from typing import Optional

import ingot as torch
import ingot.nn.functional as F
from ingot import Tensor


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


class CosineSimilarity:
    __constants__ = ["dim", "eps"]
    dim: int

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance:
    __constants__ = ["norm", "eps", "keepdim"]
    norm: float

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class PixelShuffle:
    __constants__ = ["upscale_factor"]
    upscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle:
    __constants__ = ["downscale_factor"]
    downscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle:
    __constants__ = ["groups"]
    groups: int

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)


class Unfold:
    __constants__ = ["kernel_size", "dilation", "padding", "stride"]
    kernel_size: int

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold:
    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]
    output_size: int

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Upsample:
    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]
    name: str

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )


class ConstantPad1d:
    __constants__ = ["padding", "value"]
    value: float

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad2d(ConstantPad1d):
    pass


class ConstantPad3d(ConstantPad1d):
    pass


class ZeroPad1d(ConstantPad1d):
    pass


class ZeroPad2d(ConstantPad1d):
    pass


class ZeroPad3d(ConstantPad1d):
    pass


class ReflectionPad1d:
    __constants__ = ["padding"]
    padding: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad2d(ReflectionPad1d):
    pass


class ReflectionPad3d(ReflectionPad1d):
    pass


class ReplicationPad1d:
    __constants__ = ["padding"]
    padding: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad2d(ReplicationPad1d):
    pass


class ReplicationPad3d(ReplicationPad1d):
    pass


class CircularPad1d:
    __constants__ = ["padding"]
    padding: int

    def _check_input_dim(self, input):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad2d(CircularPad1d):
    def _check_input_dim(self, input):
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class CircularPad3d(CircularPad1d):
    def _check_input_dim(self, input):
        if input.dim() != 4 and input.dim() != 5:
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


class RReLU:
    __constants__ = ["lower", "upper", "inplace"]
    lower: float

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Softmax2d:
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class FeatureAlphaDropout:
    __constants__ = ["p", "inplace"]
    p: float

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)


class LocalResponseNorm:
    __constants__ = ["size", "alpha", "beta", "k"]
    size: int

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class RMSNorm:
    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    elementwise_affine: bool

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class InstanceNorm1d:
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int

    def _check_input_dim(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")

    def _get_no_batch_dim(self):
        return 2

    def _handle_no_batch_input(self, input):
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={feature_dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(feature_dim)}."
                )
            else:
                warnings.warn(
                    f"input's size at dim={feature_dim} does not match num_features. You can silence this warning by "
                    "not passing in num_features, which is not used because affine=False"
                )
        if input.dim() == self._get_no_batch_dim():
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)


class InstanceNorm2d(InstanceNorm1d):
    num_features: int

    def _get_no_batch_dim(self):
        return 3

    def _check_input_dim(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class InstanceNorm3d(InstanceNorm1d):
    num_features: int

    def _get_no_batch_dim(self):
        return 4

    def _check_input_dim(self, input):
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


class EmbeddingBag:
    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]
    num_embeddings: int

    def forward(
        self, input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
