# SPDX-License-Identifier: Apache-2.0
"""Modules that share a batch between devices or processes, where there is one device and one process."""

from ingot.nn.parallel.data_parallel import DataParallel, data_parallel
from ingot.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
