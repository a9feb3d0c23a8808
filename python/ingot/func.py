# SPDX-License-Identifier: Apache-2.0
"""Functional forms of models."""

from ingot.nn.utils.stateless import functional_call

__all__ = ["functional_call"]
