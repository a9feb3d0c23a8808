# SPDX-License-Identifier: Apache-2.0
from ingot.ao.nn.qat.dynamic.modules import *  # noqa: F403
