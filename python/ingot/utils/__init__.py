# SPDX-License-Identifier: Apache-2.0
"""Utilities: pytrees."""

from ingot.utils import _pytree

__all__ = ["_pytree"]
