# SPDX-License-Identifier: Apache-2.0
"""QConfig: which observer looks at the activations of a module, and which at its weight."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import ingot
from ingot import nn
from ingot.ao.quantization import fake_quantize as _fq
from ingot.ao.quantization import observer as _ob
from ingot.ao.quantization.fake_quantize import FakeQuantize, FusedMovingAvgObsFakeQuantize
from ingot.ao.quantization.observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    _PartialWrapper,
)  # fmt: skip

__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig", "default_debug_qconfig",
    "default_dynamic_qat_qconfig", "default_dynamic_qconfig", "default_embedding_qat_qconfig",
    "default_per_channel_qconfig", "default_per_channel_symmetric_qnnpack_qat_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2",
    "default_qconfig", "default_quint8_weight_qconfig", "default_reuse_input_qconfig",
    "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig", "default_weight_only_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig",
    "get_default_qat_qconfig", "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals",
]  # fmt: skip


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Classes of observers, or callables that make observers, for activations and weights."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The same for dynamic quantization, where only weights are observed."""

    __slots__ = ()

    def __new__(cls, activation: Any = nn.Identity, weight: Any = nn.Identity) -> QConfigDynamic:
        if isinstance(weight, nn.Module):
            raise ValueError(
                "QConfigDynamic received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig

default_qconfig = QConfig(_ob.default_observer, _ob.default_weight_observer)
default_debug_qconfig = QConfig(_ob.default_debug_observer, _ob.default_weight_observer)
default_per_channel_qconfig = QConfig(_ob.default_observer, _ob.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(_ob.default_dynamic_quant_observer, _ob.default_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=ingot.float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=ingot.float16),
)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=ingot.float16), PlaceholderObserver.with_args(dtype=ingot.float16)
)
per_channel_dynamic_qconfig = QConfig(_ob.default_dynamic_quant_observer, _ob.default_per_channel_weight_observer)
float_qparams_weight_only_qconfig = QConfig(_ob.default_placeholder_observer, _ob.default_float_qparams_observer)
default_qat_qconfig = QConfig(_fq.default_fake_quant, _fq.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(_fq.default_dynamic_fake_quant, _fq.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(nn.Identity, _fq.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(_fq.default_fake_quant, nn.Identity)
default_qat_qconfig_v2 = QConfig(_fq.default_fused_act_fake_quant, _fq.default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(_ob.default_reuse_input_observer, NoopObserver)
default_embedding_qat_qconfig = QConfig(NoopObserver.with_args(dtype=ingot.float32), _fq.default_embedding_fake_quant)
default_quint8_weight_qconfig = QConfig(HistogramObserver, _ob.MinMaxObserver)

_SIGNED_ACTIVATION = {"dtype": ingot.qint8, "reduce_range": False, "eps": 2**-12}
default_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(**_SIGNED_ACTIVATION), _ob.weight_observer_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(**_SIGNED_ACTIVATION), _ob.per_channel_weight_observer_range_neg_127_to_127
)


def _fused_activation(**kwargs: Any) -> Any:
    return FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, **kwargs)


_SIGNED_FAKE = {"quant_min": -128, "quant_max": 127, **_SIGNED_ACTIVATION}
default_symmetric_qnnpack_qat_qconfig = QConfig(
    _fused_activation(**_SIGNED_FAKE), _fq.fused_wt_fake_quant_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _fused_activation(**_SIGNED_FAKE), _fq.fused_per_channel_wt_fake_quant_range_neg_127_to_127
)

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError("backend: " + str(backend) + f" not supported. backend must be one of {_BACKENDS}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The usual settings of a backend for quantization after training."""
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            "Version number: " + str(version) + " in get_default_qconfig is not supported. Version number must be 0"
        )
    activation = HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86"))
    weight = _ob.default_weight_observer if backend == "qnnpack" else _ob.default_per_channel_weight_observer
    return QConfig(activation, weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The usual settings of a backend for training with fake quantization."""
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            "Version number: "
            + str(version)
            + "in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    reduced = {"quant_min": 0, "quant_max": 255, "reduce_range": backend in ("fbgemm", "x86")}
    if backend == "onednn":
        del reduced["reduce_range"]
    if version == 1:
        weight = (
            _fq.default_fused_wt_fake_quant if backend == "qnnpack" else _fq.default_fused_per_channel_wt_fake_quant
        )
        return QConfig(_fused_activation(**reduced), weight)
    weight = _fq.default_weight_fake_quant if backend == "qnnpack" else _fq.default_per_channel_weight_fake_quant
    return QConfig(FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, **reduced), weight)


def _assert_valid_qconfig(qconfig: Any, mod: Any) -> None:
    transposed = isinstance(mod, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d))
    if qconfig is None or not transposed or qconfig.weight is None:
        return
    weight = qconfig.weight()
    assert not isinstance(weight, (_ob.PerChannelMinMaxObserver, _ob.MovingAveragePerChannelMinMaxObserver)), (
        "Per channel weight observer is not supported yet for ConvTranspose{n}d."
    )


def _settings(o: Any) -> Any:
    """A class or a partial class, as something that can be compared."""
    if not isinstance(o, _PartialWrapper):
        return o
    keywords = {k: _settings(v) for k, v in o.p.keywords.items()}
    return o.p.func, o.p.args, keywords


def qconfig_equals(q1: Any, q2: Any) -> bool:
    if q1 is None or q2 is None:
        return q1 == q2
    return _settings(q1.activation) == _settings(q2.activation) and _settings(q1.weight) == _settings(q2.weight)
