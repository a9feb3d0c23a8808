# SPDX-License-Identifier: Apache-2.0
"""Symbolic expressions and ranges as Python sees them."""
