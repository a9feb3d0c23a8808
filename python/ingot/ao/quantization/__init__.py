# SPDX-License-Identifier: Apache-2.0
"""torch.ao.quantization in eager mode: stubs, observers, settings, fusing, prepare and convert."""

from ingot.ao.quantization.fake_quantize import *  # noqa: F403
from ingot.ao.quantization.fuse_modules import fuse_modules, fuse_modules_qat
from ingot.ao.quantization.fuser_method_mappings import *  # noqa: F403
from ingot.ao.quantization.observer import *  # noqa: F403
from ingot.ao.quantization.observer import _PartialWrapper
from ingot.ao.quantization.qconfig import *  # noqa: F403
from ingot.ao.quantization.qconfig_mapping import *  # noqa: F403
from ingot.ao.quantization.quantization_mappings import *  # noqa: F403
from ingot.ao.quantization.quantize import *  # noqa: F403
from ingot.ao.quantization.stubs import *  # noqa: F403


def default_eval_fn(model, calib_data):
    """Runs a model over pairs of inputs and targets."""
    for data, _ in calib_data:
        model(data)
