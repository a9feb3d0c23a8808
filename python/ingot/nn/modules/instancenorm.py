# SPDX-License-Identifier: Apache-2.0
"""Instance normalization, under the name of its module in PyTorch; it is defined beside batch normalization."""

from ingot.nn.modules.batchnorm import (  # noqa: F401
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
)
