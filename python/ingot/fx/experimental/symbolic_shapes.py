# SPDX-License-Identifier: Apache-2.0
"""Errors of symbolic shapes."""
from ingot._C import ConstraintViolationError, GuardOnDataDependentSymNode

__all__ = ["ConstraintViolationError", "GuardOnDataDependentSymNode"]
