# SPDX-License-Identifier: Apache-2.0
"""torch.quantization: the older name of torch.ao.quantization."""

from ingot.ao.quantization import *  # noqa: F403
from ingot.ao.quantization import default_eval_fn as default_eval_fn
from ingot.ao.quantization import fuse_modules as fuse_modules
from ingot.ao.quantization import fuse_modules_qat as fuse_modules_qat
