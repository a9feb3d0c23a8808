# SPDX-License-Identifier: Apache-2.0
"""torch.backends.opt_einsum: Ingot contracts from left to right and does not use the package opt_einsum."""

from ingot.backends import _settings


def is_available() -> bool:
    return False


def get_opt_einsum() -> None:
    """The package: none."""


_settings.install(__name__, {"enabled": False, "strategy": None}, globals())
