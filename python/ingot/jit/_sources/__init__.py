# SPDX-License-Identifier: Apache-2.0
"""Texts of the package's functions and layers for the compiler of scripts, which cannot read what is written with all
of Python. They are compiled, never called."""
