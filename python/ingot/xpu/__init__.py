# SPDX-License-Identifier: Apache-2.0
"""torch.xpu on a machine without it: queries are answered, use is refused."""

from ingot import _no_device

globals().update(_no_device.names("torch.xpu", "XPU"))
set_device = _no_device.refusal("XPU")


def is_current_stream_capturing() -> bool:
    raise RuntimeError("Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing")
