# SPDX-License-Identifier: Apache-2.0
"""Errors about what Python's syntax has and scripts have not."""

from __future__ import annotations


class FrontendError(Exception):
    """A constant or name that has no meaning in scripts."""


class NotSupportedError(FrontendError):
    """A form of something that scripts have."""


class UnsupportedNodeError(NotSupportedError):
    """A kind of statement or expression that scripts have not."""
