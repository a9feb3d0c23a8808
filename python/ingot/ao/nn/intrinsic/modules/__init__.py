# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.intrinsic.modules.fused import *  # noqa: F403
from ingot.ao.nn.intrinsic.modules.fused import _FusedModule as _FusedModule
