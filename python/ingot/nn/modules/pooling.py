# SPDX-License-Identifier: Apache-2.0
"""Pooling."""

from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn._arguments import repeat
from ingot.nn.modules._simple import SimpleModule


class _MaxPoolNd(SimpleModule):
    arguments = "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False"
    shows = "kernel_size stride padding dilation ceil_mode"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stride = self.kernel_size if self.stride is None else self.stride


class MaxPool1d(_MaxPoolNd):
    function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    function = "max_pool3d"


class _MaxUnpoolNd(SimpleModule):
    arguments, shows = "kernel_size, stride=None, padding=0", "kernel_size stride padding"
    dims = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stride = self.kernel_size if self.stride is None else self.stride
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, repeat(getattr(self, name), self.dims))

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F._max_unpool(self.dims, input, indices, (self.kernel_size, self.stride, self.padding, output_size))


class MaxUnpool1d(_MaxUnpoolNd):
    dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    dims = 3


class AvgPool1d(SimpleModule):
    arguments = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
    shows, function = "kernel_size stride padding", "avg_pool1d"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stride = self.kernel_size if self.stride is None else self.stride
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, repeat(getattr(self, name), 1))


class AvgPool2d(SimpleModule):
    arguments = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None"
    shows, function = "kernel_size stride padding", "avg_pool2d"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stride = self.kernel_size if self.stride is None else self.stride


class AvgPool3d(AvgPool2d):
    function = "avg_pool3d"


class _LPPoolNd(SimpleModule):
    arguments = "norm_type, kernel_size, stride=None, ceil_mode=False"
    shows = "norm_type kernel_size stride ceil_mode"
    dims = 0

    def forward(self, input: Tensor) -> Tensor:
        return F._lp_pool(self.dims, input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd):
    dims = 1


class LPPool2d(_LPPoolNd):
    dims = 2


class LPPool3d(_LPPoolNd):
    dims = 3


class _AdaptiveAvgPool(SimpleModule):
    arguments = "output_size"

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_AdaptiveAvgPool):
    arguments = "output_size, return_indices=False"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    function = "adaptive_max_pool3d"


class _FractionalMaxPoolNd(SimpleModule):
    arguments = "kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None"
    dims = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.output_size is None and self.output_ratio is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = repeat(self.kernel_size, self.dims)
        if self.output_size is not None:
            self.output_size = repeat(self.output_size, self.dims)
        else:
            self.output_ratio = repeat(self.output_ratio, self.dims)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {self.output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return F._fractional_max_pool(
            self.dims,
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    dims = 3
