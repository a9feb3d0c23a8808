# SPDX-License-Identifier: Apache-2.0
"""Utilities: pytrees, handles of hooks."""

from ingot.utils import _pytree, hooks

__all__ = ["_pytree", "hooks"]
