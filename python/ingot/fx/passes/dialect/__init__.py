# SPDX-License-Identifier: Apache-2.0
"""Passes by dialect."""
