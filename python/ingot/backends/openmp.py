# SPDX-License-Identifier: Apache-2.0
"""torch.backends.openmp: Ingot computes without it."""

from ingot._no_device import no as is_available

__all__ = ["is_available"]
