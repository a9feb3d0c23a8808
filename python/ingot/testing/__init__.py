# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests: closeness of tensors, sample tensors, checks of texts."""

from ingot.testing._comparison import assert_allclose, assert_close
from ingot.testing._creation import make_tensor
from ingot.testing._filecheck import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
