# SPDX-License-Identifier: Apache-2.0
"""Instance normalization lives beside batch normalization; this is its usual address."""

from ingot.nn.modules.batchnorm import (  # noqa: F401
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
)
