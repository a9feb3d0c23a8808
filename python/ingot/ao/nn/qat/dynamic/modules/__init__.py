# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.qat.dynamic.modules.linear import Linear

__all__ = ["Linear"]
