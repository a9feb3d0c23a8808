# SPDX-License-Identifier: Apache-2.0
"""Which class a module becomes when it is quantized."""

from __future__ import annotations

from typing import Any

import ingot
from ingot import nn
from ingot.ao.nn import intrinsic as nni
from ingot.ao.nn import qat as nnqat
from ingot.ao.nn import quantizable as nnz
from ingot.ao.nn import quantized as nnq
from ingot.ao.nn.intrinsic import qat as nniqat
from ingot.ao.nn.intrinsic import quantized as nniq
from ingot.ao.nn.intrinsic.quantized import dynamic as nniqd
from ingot.ao.nn.qat import dynamic as nnqatd
from ingot.ao.nn.quantized import dynamic as nnqd
from ingot.ao.quantization.fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)  # fmt: skip
from ingot.ao.quantization.stubs import DeQuantStub, QuantStub
from ingot.nn import functional as F
from ingot.nn.modules.linear import NonDynamicallyQuantizableLinear

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS",
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_compare_output_module_list", "get_default_dynamic_quant_module_mappings",
    "get_default_float_to_quantized_operator_mappings", "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class", "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings", "get_quantized_operator", "get_static_quant_module_class",
    "no_observer_set",
]  # fmt: skip

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize, DeQuantStub: nnq.DeQuantize, NonDynamicallyQuantizableLinear: nnq.Linear,
    nnq.FloatFunctional: nnq.QFunctional,
    nniqat.ConvBn1d: nnq.Conv1d, nniqat.ConvBn2d: nnq.Conv2d, nniqat.ConvBn3d: nnq.Conv3d,
    nniqat.ConvBnReLU1d: nniq.ConvReLU1d, nniqat.ConvBnReLU2d: nniq.ConvReLU2d, nniqat.ConvBnReLU3d: nniq.ConvReLU3d,
    nniqat.ConvReLU2d: nniq.ConvReLU2d, nniqat.ConvReLU3d: nniq.ConvReLU3d, nniqat.LinearReLU: nniq.LinearReLU,
    nniqat.LinearBn1d: nnq.Linear,
    nnqat.Linear: nnq.Linear, nnqat.Conv1d: nnq.Conv1d, nnqat.Conv2d: nnq.Conv2d, nnqat.Conv3d: nnq.Conv3d,
    **{getattr(nn, name): getattr(nnq, name) for name in (
        "BatchNorm2d", "BatchNorm3d", "Dropout", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
        "ConvTranspose3d", "ELU", "Embedding", "EmbeddingBag", "GroupNorm", "Hardswish", "InstanceNorm1d",
        "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "ReLU6", "PReLU",
    )},
    **{getattr(nni, name): getattr(nniq, name) for name in (
        "BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "ConvAdd2d", "ConvAddReLU2d", "LinearReLU",
        "LinearLeakyReLU", "LinearTanh",
    )},
}  # fmt: skip
del DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[nnqat.Conv1d]

DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Conv2d: nnqat.Conv2d, nn.Conv3d: nnqat.Conv3d, nn.Linear: nnqat.Linear,
    NonDynamicallyQuantizableLinear: nnqat.Linear,
    **{getattr(nni, name): getattr(nniqat, name) for name in (
        "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU2d",
        "ConvReLU3d", "LinearReLU", "LinearBn1d",
    )},
}  # fmt: skip

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Linear: nnqd.Linear, NonDynamicallyQuantizableLinear: nnqd.Linear, nn.LSTM: nnqd.LSTM, nn.GRU: nnqd.GRU,
    nn.LSTMCell: nnqd.LSTMCell, nn.RNNCell: nnqd.RNNCell, nn.GRUCell: nnqd.GRUCell,
    nni.LinearReLU: nniqd.LinearReLU, nn.EmbeddingBag: nnq.EmbeddingBag, nn.Embedding: nnq.Embedding,
    nnqatd.Linear: nnqd.Linear,
}  # fmt: skip

DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS: dict[Any, Any] = {
    getattr(F, name): getattr(ingot.ops.quantized, name)
    for name in ("elu", "hardswish", "instance_norm", "layer_norm", "leaky_relu", "dropout")
}

# What modules give whose results have a known range.
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}


def no_observer_set() -> set[Any]:
    """Modules without an observer of their own: their parts have some."""
    return {nnz.LSTM, nnz.MultiheadAttention}


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    mapping = get_default_static_quant_module_mappings()
    mapping[nnqat.EmbeddingBag] = nnq.EmbeddingBag
    mapping[nnqat.Embedding] = nnq.Embedding
    return mapping


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: Any = None, is_reference: bool = False
) -> Any:
    found = {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, **(additional_static_quant_mapping or {})}.get(float_module_class)
    assert found is not None, (
        f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
    )
    return found


def get_dynamic_quant_module_class(float_module_class: Any, additional_dynamic_quant_mapping: Any = None) -> Any:
    found = {**DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, **(additional_dynamic_quant_mapping or {})}.get(
        float_module_class
    )
    assert found is not None, (
        f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
    )
    return found


def get_default_qat_module_mappings() -> dict[Any, Any]:
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    mapping = get_default_qat_module_mappings()
    mapping[nn.EmbeddingBag] = nnqat.EmbeddingBag
    mapping[nn.Embedding] = nnqat.Embedding
    return mapping


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """Modules that get observers."""
    maps = (DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)
    return {cls for mapping in maps for cls in mapping} | {nn.Sequential}


def get_default_compare_output_module_list() -> set[Any]:
    """Modules and their counterparts, for comparing their results."""
    maps = (DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)
    found = {cls for mapping in maps for pair in mapping.items() for cls in pair}
    return found | {nn.Sequential}


def get_default_float_to_quantized_operator_mappings() -> dict[Any, Any]:
    return dict(DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS)


def get_quantized_operator(float_op: Any) -> Any:
    found = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS.get(float_op)
    assert found is not None, f"Operator {float_op} does not have corresponding quantized op"
    return found


def _get_special_act_post_process(module: Any) -> Any:
    """What observes a module that is trained and whose results have a known range; None: nothing special."""
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(type(module)) if module.training else None
