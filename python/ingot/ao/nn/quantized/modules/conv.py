# SPDX-License-Identifier: Apache-2.0
"""Convolutions with packed quantized weights."""

from __future__ import annotations

from typing import Any, List  # noqa: UP035

import ingot as torch
from ingot import nn
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn.quantized.modules.utils import WeightedQuantizedModule, _output_params, _quantize_weight

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_SUPPORTED_PADDING = {"zeros", "reflect"}


def _tuple(value: Any, n: int) -> Any:
    return (value,) * n if isinstance(value, int) else tuple(value)


def _reverse_repeat_padding(padding: List[int]) -> List[int]:  # noqa: UP006
    """Padding as nn.functional.pad takes it: the last dimension first, both sides."""
    out: List[int] = []  # noqa: UP006
    for i in range(len(padding)):
        last = padding[len(padding) - 1 - i]
        out.append(last)
        out.append(last)
    return out


class _ConvNd(WeightedQuantizedModule):
    _ND = 0
    _FLOAT_MODULE: Any = None
    _NNI_CONV_RELU_MODULE: Any = None
    _NNI_CONV_ADD_MODULE: Any = None
    _NNI_CONV_ADD_RELU_MODULE: Any = None

    def _init(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        transposed: bool, output_padding: Any, groups: int, bias: bool, padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        nn.Module.__init__(self)
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in _SUPPORTED_PADDING:
            raise ValueError(f"'padding_mode' {padding_mode} is not supported by quantized convolution")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        shape = [in_channels, out_channels // groups] if transposed else [out_channels, in_channels // groups]
        weight = torch._empty_affine_quantized(shape + list(kernel_size), scale=1, zero_point=0, dtype=torch.qint8)
        self.set_weight_bias(weight, torch.zeros(out_channels, dtype=torch.float) if bias else None)
        self.scale = 1.0
        self.zero_point = 0

    def set_weight_bias(self, w: Any, b: Any) -> None:
        raise NotImplementedError

    def _weight_bias(self) -> Any:
        raise NotImplementedError

    def weight(self) -> Any:
        return self._weight_bias()[0]

    def bias(self) -> Any:
        return self._weight_bias()[1]

    def extra_repr(self) -> str:
        s = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        n = len(self.padding)
        if self.padding != (0,) * n:
            s += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            s += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias() is None:
            s += ", bias=False"
        return s

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        weight, bias = self._weight_bias()
        destination[prefix + "weight"] = weight
        destination[prefix + "bias"] = bias
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, metadata, False, missing, unexpected, errors)

    def __deepcopy__(self, memo: Any) -> Any:
        made = type(self).__new__(type(self))
        nn.Module.__init__(made)
        made.__dict__.update({k: v for k, v in self.__dict__.items() if not k.startswith("_forward")})
        return made

    def __copy__(self) -> Any:
        return self.__deepcopy__({})

    @classmethod
    def get_qconv(cls, mod: Any, activation_post_process: Any, weight_post_process: Any = None) -> Any:
        observer = mod.qconfig.weight() if weight_post_process is None else weight_post_process
        observer(mod.weight)
        assert observer.dtype == torch.qint8, "Weight observer must have a dtype of qint8"
        weight = _quantize_weight(mod.weight.detach().float(), observer)
        given = [mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding]
        if mod.transposed:
            given += [mod.output_padding, mod.groups, mod.bias is not None, mod.dilation, mod.padding_mode]
        else:
            given += [mod.dilation, mod.groups, mod.bias is not None, mod.padding_mode]
        made = cls(*given)
        made.set_weight_bias(weight, None if mod.bias is None else mod.bias.detach())
        if activation_post_process is not None and activation_post_process.dtype != torch.float:
            made.scale, made.zero_point = _output_params(activation_post_process)
        return made

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        observer = getattr(mod, "activation_post_process", None)
        if hasattr(mod, "weight_fake_quant"):
            from ingot.ao.nn.intrinsic import qat as nniqat

            if type(mod) in (nniqat.ConvBn1d, nniqat.ConvBn2d, nniqat.ConvBn3d):
                from ingot.nn.utils.fusion import fuse_conv_bn_weights

                mod.weight, mod.bias = fuse_conv_bn_weights(
                    mod.weight,
                    mod.bias,
                    mod.bn.running_mean,
                    mod.bn.running_var,
                    mod.bn.eps,
                    mod.bn.weight,
                    mod.bn.bias,
                )
            assert observer is not None, "Input QAT module must have observer attached"
            return cls.get_qconv(mod, observer, mod.weight_fake_quant)
        assert type(mod) is cls._FLOAT_MODULE, (
            f" nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__} but got:{type(mod)}"
        )
        assert hasattr(mod, "qconfig"), "Input float module must have qconfig defined."
        if type(mod) in (cls._NNI_CONV_RELU_MODULE, cls._NNI_CONV_ADD_MODULE, cls._NNI_CONV_ADD_RELU_MODULE):
            mod = mod[0]
        return cls.get_qconv(mod, observer, mod.qconfig.weight())


class Conv1d(_ConvNd):
    """A convolution of quantized tensors over one dimension."""

    _FLOAT_MODULE = nn.Conv1d

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        padding = padding if isinstance(padding, str) else _tuple(padding, 1)
        self._init(
            in_channels, out_channels, _tuple(kernel_size, 1), _tuple(stride, 1), padding, _tuple(dilation, 1),
            False, (0,), groups, bias, padding_mode,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedConv1d"

    def set_weight_bias(self, w: torch.Tensor, b: torch.Tensor | None) -> None:
        padding = self.padding if self.padding_mode == "zeros" else (0,)
        self._packed_params = torch.ops.quantized.conv1d_prepack(w, b, self.stride, padding, self.dilation, self.groups)

    def _weight_bias(self):
        return torch.ops.quantized.conv1d_unpack(self._packed_params)

    def forward(self, input):
        if len(input.shape) != 3:
            raise ValueError("Input shape must be `(N, C, L)`!")
        if self.padding_mode != "zeros":
            input = nn.functional.pad(input, _reverse_repeat_padding(self.padding[:1]), mode=self.padding_mode)
        return torch.ops.quantized.conv1d(input, self._packed_params, self.scale, self.zero_point)


class Conv2d(_ConvNd):
    """A convolution of quantized tensors over two dimensions."""

    _FLOAT_MODULE = nn.Conv2d

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        self._init(
            in_channels, out_channels, _tuple(kernel_size, 2), _tuple(stride, 2), _tuple(padding, 2),
            _tuple(dilation, 2), False, (0, 0), groups, bias, padding_mode,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedConv2d"

    def set_weight_bias(self, w: torch.Tensor, b: torch.Tensor | None) -> None:
        padding = self.padding if self.padding_mode == "zeros" else (0, 0)
        self._packed_params = torch.ops.quantized.conv2d_prepack(w, b, self.stride, padding, self.dilation, self.groups)

    def _weight_bias(self):
        return self._packed_params.unpack()

    def forward(self, input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        if self.padding_mode != "zeros":
            input = nn.functional.pad(input, _reverse_repeat_padding(self.padding), mode=self.padding_mode)
        return torch.ops.quantized.conv2d(input, self._packed_params, self.scale, self.zero_point)


class Conv3d(_ConvNd):
    """A convolution of quantized tensors over three dimensions."""

    _FLOAT_MODULE = nn.Conv3d

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        assert padding_mode != "reflect", "Conv3d does not support reflection padding"
        self._init(
            in_channels, out_channels, _tuple(kernel_size, 3), _tuple(stride, 3), _tuple(padding, 3),
            _tuple(dilation, 3), False, (0, 0, 0), groups, bias, padding_mode,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedConv3d"

    def set_weight_bias(self, w: torch.Tensor, b: torch.Tensor | None) -> None:
        padding = self.padding if self.padding_mode == "zeros" else (0, 0, 0)
        self._packed_params = torch.ops.quantized.conv3d_prepack(w, b, self.stride, padding, self.dilation, self.groups)

    def _weight_bias(self):
        return self._packed_params.unpack()

    def forward(self, input):
        if len(input.shape) != 5:
            raise ValueError("Input shape must be `(N, C, D, H, W)`!")
        return torch.ops.quantized.conv3d(input, self._packed_params, self.scale, self.zero_point)


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        n = self._ND
        self._init(
            in_channels, out_channels, _tuple(kernel_size, n), _tuple(stride, n), _tuple(padding, n),
            _tuple(dilation, n), True, _tuple(output_padding, n), groups, bias, padding_mode,
        )  # fmt: skip

    def _prepack(self, op: Any, w: Any, b: Any) -> Any:
        return op(w, b, self.stride, self.padding, self.output_padding, self.dilation, self.groups)


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of quantized tensors over one dimension."""

    _FLOAT_MODULE = nn.ConvTranspose1d
    _ND = 1

    def _get_name(self) -> str:
        return "QuantizedConvTranspose1d"

    def set_weight_bias(self, w: torch.Tensor, b: torch.Tensor | None) -> None:
        self._packed_params = self._prepack(torch.ops.quantized.conv_transpose1d_prepack, w, b)

    def _weight_bias(self):
        return torch.ops.quantized.conv_transpose1d_unpack(self._packed_params)

    def forward(self, input):
        if len(input.shape) != 3:
            raise ValueError("Input shape must be `(N, C, L)`!")
        return torch.ops.quantized.conv_transpose1d(input, self._packed_params, self.scale, self.zero_point)


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of quantized tensors over two dimensions."""

    _FLOAT_MODULE = nn.ConvTranspose2d
    _ND = 2

    def _get_name(self) -> str:
        return "QuantizedConvTranspose2d"

    def set_weight_bias(self, w: torch.Tensor, b: torch.Tensor | None) -> None:
        self._packed_params = self._prepack(torch.ops.quantized.conv_transpose2d_prepack, w, b)

    def _weight_bias(self):
        return torch.ops.quantized.conv2d_unpack(self._packed_params)

    def forward(self, input):
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        return torch.ops.quantized.conv_transpose2d(input, self._packed_params, self.scale, self.zero_point)


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of quantized tensors over three dimensions."""

    _FLOAT_MODULE = nn.ConvTranspose3d
    _ND = 3

    def _get_name(self) -> str:
        return "QuantizedConvTranspose3d"

    def set_weight_bias(self, w: torch.Tensor, b: torch.Tensor | None) -> None:
        self._packed_params = self._prepack(torch.ops.quantized.conv_transpose3d_prepack, w, b)

    def _weight_bias(self):
        return torch.ops.quantized.conv3d_unpack(self._packed_params)

    def forward(self, input):
        if len(input.shape) != 5:
            raise ValueError("Input shape must be `(N, C, T, H, W)`!")
        return torch.ops.quantized.conv_transpose3d(input, self._packed_params, self.scale, self.zero_point)


Conv1d._NNI_CONV_RELU_MODULE = nni.ConvReLU1d
Conv2d._NNI_CONV_RELU_MODULE = nni.ConvReLU2d
Conv2d._NNI_CONV_ADD_MODULE = nni.ConvAdd2d
Conv2d._NNI_CONV_ADD_RELU_MODULE = nni.ConvAddReLU2d
Conv3d._NNI_CONV_RELU_MODULE = nni.ConvReLU3d
