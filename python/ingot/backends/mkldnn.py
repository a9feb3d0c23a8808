# SPDX-License-Identifier: Apache-2.0
"""torch.backends.mkldnn: not used; its settings are kept."""

from ingot.backends import _settings


def is_available() -> bool:
    return False


_settings.install(
    __name__,
    {"enabled": True, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"},
    globals(),
)
