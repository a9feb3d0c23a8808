# SPDX-License-Identifier: Apache-2.0
"""torch._utils: what programs use of it."""
from ingot.compiler import is_compiling

__all__ = ["is_compiling"]
