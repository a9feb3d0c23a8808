# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.intrinsic.quantized.dynamic.modules.linear_relu import LinearReLU

__all__ = ["LinearReLU"]
