# SPDX-License-Identifier: Apache-2.0
"""Sharded training needs an accelerator: the classes exist to be asked for, and cannot be made."""
from __future__ import annotations

import dataclasses
import enum
from typing import Any

from ingot import nn

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullyShardedDataParallel", "MixedPrecision", "ShardingStrategy", "StateDictType",
]  # fmt: skip


class ShardingStrategy(enum.Enum):
    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


@dataclasses.dataclass
class CPUOffload:
    offload_params: bool = False


@dataclasses.dataclass(frozen=True)
class MixedPrecision:
    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters are spread over devices."""

    def __init__(self, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("FSDP needs a non-CPU accelerator device, but no accelerator device is detected.")
