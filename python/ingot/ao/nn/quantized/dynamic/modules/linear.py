# SPDX-License-Identifier: Apache-2.0
"""Linear layers whose activations are quantized by every call."""

from __future__ import annotations

from typing import Any

import ingot as torch
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import quantized as nnq
from ingot.ao.nn.quantized.modules.linear import _detached
from ingot.ao.nn.quantized.modules.utils import _quantize_weight

__all__ = ["Linear"]


class Linear(nnq.Linear):
    _version = 4

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = self._version

    def forward(self, x):
        if self._packed_params.dtype == torch.qint8:
            if self.version is None or self.version < 4:
                Y = torch.ops.quantized.linear_dynamic(x, self._packed_params._packed_params)
            else:
                Y = torch.ops.quantized.linear_dynamic(x, self._packed_params._packed_params, reduce_range=True)
        elif self._packed_params.dtype == torch.float16:
            Y = torch.ops.quantized.linear_dynamic_fp16(x, self._packed_params._packed_params)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return Y.to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        if self._packed_params.dtype == torch.qint8:
            text += f", qscheme={self.weight().qscheme()}"
        return text

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        assert hasattr(mod, "qconfig"), "Input float module must have qconfig defined"
        qconfig = mod.qconfig
        if type(mod) is nni.LinearReLU:
            mod = mod[0]
        if qconfig is not None and qconfig.weight is not None:
            observer = qconfig.weight()
        else:
            from ingot.ao.quantization.qconfig import default_dynamic_qconfig

            observer = default_dynamic_qconfig.weight()
        assert observer.dtype in (torch.qint8, torch.float16), (
            "The only supported dtypes for dynamic quantized linear are qint8 and float16 got: " + str(observer.dtype)
        )
        observer(mod.weight)
        weight = mod.weight.detach().float()
        if observer.dtype == torch.qint8:
            weight = _quantize_weight(weight, observer)
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(weight, _detached(mod.bias))
        return made
