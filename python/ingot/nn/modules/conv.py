# SPDX-License-Identifier: Apache-2.0
"""Convolutions and transposed convolutions in one, two and three dimensions, and their lazy forms."""

from __future__ import annotations

import math
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn import init
from ingot.nn._arguments import repeat, reverse_repeat
from ingot.nn.modules.lazy import LazyModuleMixin
from ingot.nn.modules.module import Module
from ingot.nn.parameter import Parameter, UninitializedParameter


class _ConvNd(Module):
    """Base of all convolutions. A subclass sets the number of spatial dimensions (dims) and if it is transposed."""

    dims = 0
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation, "output_padding": 0}
        self._setup(in_channels, out_channels, sizes, padding, groups, bias, padding_mode, device, dtype)

    def _setup(
        self,
        in_channels: int,
        out_channels: int,
        sizes: dict,
        padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        Module.__init__(self)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        for name, value in sizes.items():
            setattr(self, name, repeat(value, self.dims))
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {set(modes)}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.padding = padding if isinstance(padding, str) else repeat(padding, self.dims)
        self._reversed_padding_repeated_twice = self._explicit_padding()
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(ingot.empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(ingot.empty(out_channels, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def _explicit_padding(self) -> list:
        """The padding as pad() takes it: pairs from the last dimension to the first."""
        if not isinstance(self.padding, str):
            return reverse_repeat(self.padding)
        pairs = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = d * (k - 1) if self.padding == "same" else 0
            pairs += [total // 2, total - total // 2]
        return pairs

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.kernel_size):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self.dims
        return self._operator()(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_ConvNd):
    dims = 1

    @staticmethod
    def _operator() -> Any:
        return ingot.conv1d


class Conv2d(_ConvNd):
    dims = 2

    @staticmethod
    def _operator() -> Any:
        return ingot.conv2d


class Conv3d(_ConvNd):
    dims = 3

    @staticmethod
    def _operator() -> Any:
        return ingot.conv3d


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation, "output_padding": output_padding}
        self._setup(in_channels, out_channels, sizes, padding, groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple:
        """The output padding that yields the requested output size."""
        if output_size is None:
            return self.output_padding
        n = self.dims
        sizes = list(output_size)
        if len(sizes) == input.dim():
            sizes = sizes[-n:]
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {n + 2} elements (got "
                f"{len(output_size)})"
            )
        least = [
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size)
        ]
        most = [low + s - 1 for low, s in zip(least, self.stride)]
        if any(size < low or size > high for size, low, high in zip(sizes, least, most)):
            raise ValueError(
                f"requested an output size of {sizes}, but valid sizes range from {least} to {most} (for an input "
                f"of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(sizes, least))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return self._operator()(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    dims = 1

    @staticmethod
    def _operator() -> Any:
        return ingot.conv_transpose1d


class ConvTranspose2d(_ConvTransposeNd):
    dims = 2

    @staticmethod
    def _operator() -> Any:
        return ingot.conv_transpose2d


class ConvTranspose3d(_ConvTransposeNd):
    dims = 3

    @staticmethod
    def _operator() -> Any:
        return ingot.conv_transpose3d


class _LazyConv(LazyModuleMixin):
    """in_channels is inferred from the first input; the other arguments are those of the convolution."""

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        names = ("stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype")
        if self.transposed:
            names = (
                "stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode", "device", "dtype",
            )  # fmt: skip
        kwargs = {**dict(zip(names, args)), **kwargs}
        bias = kwargs.pop("bias", True)
        options = {k: kwargs.get(k) for k in ("device", "dtype")}
        groups = kwargs.get("groups", 1)
        super().__init__(0, 0, kernel_size, bias=False, **{**kwargs, "groups": 1})
        self.groups = groups
        self.out_channels = out_channels
        self.weight = UninitializedParameter(**options)
        if bias:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *unused: Any, **also_unused: Any) -> None:
        if not self.has_uninitialized_params():
            return
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise RuntimeError(
                f"Expected {self.dims + 1}D (unbatched) or {self.dims + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-self.dims - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    cls_to_become = ConvTranspose3d
