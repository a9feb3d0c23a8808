# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.profiler: the older name of the labels of torch.profiler."""

from ingot.profiler import profile, record_function

__all__ = ["profile", "record_function"]
