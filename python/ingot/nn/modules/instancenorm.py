# SPDX-License-Identifier: Apache-2.0
"""Instance normalization."""

from __future__ import annotations

from typing import Any

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules.batchnorm import _STATISTICS, _LazyNorm, _NormBase


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self.ranks[0]
        channel = 0 if unbatched else 1
        if input.size(channel) != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={channel} to match num_features ({self.num_features}), but got: "
                f"{input.size(channel)}."
            )
        result = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if unbatched else result

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict, strict: bool, missing: list, extra: list, errors: list
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            found = [name for name in _STATISTICS[:2] if prefix + name in state_dict]
            for name in found:  # written by versions that always had statistics
                state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, extra, errors)


class InstanceNorm1d(_InstanceNorm):
    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    ranks = (4, 5)


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    cls_to_become = InstanceNorm3d
