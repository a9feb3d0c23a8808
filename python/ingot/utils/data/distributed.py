# SPDX-License-Identifier: Apache-2.0
"""DistributedSampler: the share of one of several processes, whose number and rank the caller gives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import ingot
from ingot.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "Requires distributed package to be available: this package has no torch.distributed; give "
                "num_replicas and rank"
            )
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        n = len(dataset)
        if drop_last and n % num_replicas != 0:
            self.num_samples = math.ceil((n - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        indices = list(range(n))
        if self.shuffle:
            generator = ingot.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = ingot.randperm(n, generator=generator).tolist()
        if self.drop_last:
            indices = indices[: self.total_size]
        elif len(indices) < self.total_size:  # the first ones again, so that all shares are equal
            indices = (indices * math.ceil(self.total_size / n))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Another order per epoch; the same for all processes."""
        self.epoch = epoch
