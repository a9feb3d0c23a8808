# SPDX-License-Identifier: Apache-2.0
"""Which sequences of modules become one module, and how."""

from __future__ import annotations

from typing import Any

from ingot import nn
from ingot.ao.nn import intrinsic as nni
from ingot.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = [
    "fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method",
]  # fmt: skip

_CONVS = {1: (nn.Conv1d, nn.BatchNorm1d), 2: (nn.Conv2d, nn.BatchNorm2d), 3: (nn.Conv3d, nn.BatchNorm3d)}


def _same_mode(*modules: Any) -> None:
    assert len({m.training for m in modules}) == 1, (
        "Conv and BN both must be in the same mode (train or eval)."
        if len(modules) == 2
        else "Conv and BN both must be in the same mode (train or eval)."
    )


def _check_batch_norm(conv: Any, bn: Any) -> None:
    assert bn.num_features == conv.out_channels, "Output channel of Conv2d must match num_features of BatchNorm2d"
    assert bn.affine, "Only support fusing BatchNorm2d with affine set to True"
    assert bn.track_running_stats, "Only support fusing BatchNorm2d with tracking_running_stats set to True"


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution and its batch norm: two modules in one for training, one convolution for inference."""
    _same_mode(conv, bn)
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    _check_batch_norm(conv, bn)
    made = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}.get(type(conv))
    if made is None:
        raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn)}")
    return made(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    _same_mode(conv, bn, relu)
    trained = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
    plain = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}
    made = (trained if is_qat else plain).get(type(conv))
    if made is None:
        raise NotImplementedError(f"Cannot fuse {'train' if is_qat else 'eval'} modules: {(conv, bn, relu)}")
    if is_qat:
        _check_batch_norm(conv, bn)
        return made(conv, bn, relu)
    return made(fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    assert linear.training == bn.training, "Linear and BN both must be in the same mode (train or eval)."
    if not is_qat:
        return fuse_linear_bn_eval(linear, bn)
    assert bn.num_features == linear.out_features, "Output features of Linear must match num_features of BatchNorm1d"
    assert bn.affine, "Only support fusing BatchNorm1d with affine set to True"
    assert bn.track_running_stats, "Only support fusing BatchNorm1d with tracking_running_stats set to True"
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    assert convt.training == bn.training, "ConvTranspose and BN both must be in the same mode (train or eval)."
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")  # noqa: TRY002
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _in_sequence(made: Any) -> Any:
    def fuse(is_qat: bool, first: Any, second: Any) -> Any:
        return made(first, second)

    return fuse


_METHODS: dict[tuple[Any, ...], Any] = {
    (nn.Conv1d, nn.ReLU): _in_sequence(nni.ConvReLU1d),
    (nn.Conv2d, nn.ReLU): _in_sequence(nni.ConvReLU2d),
    (nn.Conv3d, nn.ReLU): _in_sequence(nni.ConvReLU3d),
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _in_sequence(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _in_sequence(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _in_sequence(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}
for _conv, _bn in _CONVS.values():
    _METHODS[_conv, _bn] = fuse_conv_bn
    _METHODS[_conv, _bn, nn.ReLU] = fuse_conv_bn_relu


def get_fuser_method(op_list: tuple[Any, ...], additional_fuser_method_mapping: Any = None) -> Any:
    found = {**_METHODS, **(additional_fuser_method_mapping or {})}.get(op_list)
    assert found is not None, f"did not find fuser method for: {op_list} "
    return found
