# SPDX-License-Identifier: Apache-2.0
"""Graphs of modules below export."""
