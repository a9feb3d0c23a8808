# SPDX-License-Identifier: Apache-2.0
"""Capture of modules into programs, and programs in files."""
from ingot.export._capture import export
from ingot.export.exported_program import ExportedProgram, load, save

__all__ = ["ExportedProgram", "export", "load", "save"]
