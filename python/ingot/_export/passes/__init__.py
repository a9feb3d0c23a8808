# SPDX-License-Identifier: Apache-2.0
"""Passes over graph modules of programs."""
