# SPDX-License-Identifier: Apache-2.0
"""QConfigMapping: settings for a whole model, by operator, by module name, by a pattern of names or by their order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import ingot
from ingot import nn
from ingot.ao.quantization import fake_quantize as _fq
from ingot.ao.quantization import observer as _ob
from ingot.ao.quantization.qconfig import (
    QConfig,
    QConfigAny,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)  # fmt: skip

__all__ = ["QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping"]

# The attribute of a mapping, and its name in the form of a dictionary.
_STYLES = {
    "global_qconfig": "",
    "object_type_qconfigs": "object_type",
    "module_name_regex_qconfigs": "module_name_regex",
    "module_name_qconfigs": "module_name",
    "module_name_object_type_order_qconfigs": "module_name_object_type_order",
}
_TRANSPOSED = (
    nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
    nn.functional.conv_transpose1d, nn.functional.conv_transpose2d, nn.functional.conv_transpose3d,
)  # fmt: skip
# Operators whose results have a known range.
_ZERO_TO_ONE = (
    nn.Hardsigmoid, nn.functional.hardsigmoid, "hardsigmoid", "hardsigmoid_", nn.Sigmoid, ingot.sigmoid, "sigmoid",
    "sigmoid_", nn.Softmax,
)  # fmt: skip
_MINUS_ONE_TO_ONE = (nn.Tanh, ingot.tanh, "tanh", "tanh_")


class QConfigMapping:
    """Settings by what they are for; every method returns the mapping. More specific settings win."""

    def __init__(self) -> None:
        self.global_qconfig: QConfigAny = None
        self.object_type_qconfigs: OrderedDict[Callable | str, QConfigAny] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, QConfigAny] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, QConfigAny] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple[str, Callable, int], QConfigAny] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for style in _STYLES:
            lines.append(f" {style}")
            value = getattr(self, style)
            if isinstance(value, OrderedDict):
                lines += [f"  {key}: {setting}" for key, setting in value.items()]
            else:
                lines.append(f"  {value}")
            lines.append("")
        return "\n".join(lines[:-1]) + "\n)"

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for style, key in _STYLES.items():
            value = getattr(self, style)
            if isinstance(value, OrderedDict):
                value = [(*k, v) if isinstance(k, tuple) else (k, v) for k, v in value.items()]
            out[key] = value
        return out

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        made = cls()
        if "" in qconfig_dict:
            made.set_global(qconfig_dict[""])
        setters = {
            "object_type": made.set_object_type, "module_name_regex": made.set_module_name_regex,
            "module_name": made.set_module_name,
            "module_name_object_type_order": made.set_module_name_object_type_order,
        }  # fmt: skip
        for key, setter in setters.items():
            for row in qconfig_dict.get(key, ()):
                setter(*row)
        return made


def _default(is_qat: bool, backend: str, version: int) -> QConfigMapping:
    usual = (get_default_qat_qconfig if is_qat else get_default_qconfig)(backend, version)
    weight = _fq.default_weight_fake_quant if is_qat else _ob.default_weight_observer
    # Transposed convolutions have no scales per channel.
    narrow = _fq.fused_wt_fake_quant_range_neg_127_to_127 if is_qat else _ob.weight_observer_range_neg_127_to_127
    signed = default_symmetric_qnnpack_qat_qconfig if is_qat else default_symmetric_qnnpack_qconfig
    transposed = QConfig(usual.activation, narrow if usual is signed else weight)
    normed = QConfig(usual.activation, _ob.default_placeholder_observer)
    made = QConfigMapping().set_global(usual).set_object_type("reshape", default_reuse_input_qconfig)
    for kind in _TRANSPOSED:
        made.set_object_type(kind, transposed)
    for kind in (nn.functional.layer_norm, nn.LayerNorm):
        made.set_object_type(kind, normed)
    made.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    for kinds, observer, fake in (
        (_ZERO_TO_ONE, _ob.default_fixed_qparams_range_0to1_observer, _fq.default_fixed_qparams_range_0to1_fake_quant),
        (
            _MINUS_ONE_TO_ONE,
            _ob.default_fixed_qparams_range_neg1to1_observer,
            _fq.default_fixed_qparams_range_neg1to1_fake_quant,
        ),
    ):
        for kind in kinds:
            made.set_object_type(kind, QConfig(fake if is_qat else observer, weight))
    return made


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """The usual settings for quantization after training."""
    return _default(False, backend, version)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The usual settings for training with fake quantization."""
    return _default(True, backend, version)
