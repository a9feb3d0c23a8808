# SPDX-License-Identifier: Apache-2.0
"""Passes for any dialect."""
