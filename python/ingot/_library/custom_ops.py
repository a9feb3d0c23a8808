# SPDX-License-Identifier: Apache-2.0
"""Operators made of functions."""
from ingot.library import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op"]
