# SPDX-License-Identifier: Apache-2.0
"""Schemas of functions by their annotations."""
from ingot.library import _parameter_types, _return_types, infer_schema

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema"]

SUPPORTED_PARAM_TYPES = _parameter_types()
SUPPORTED_RETURN_TYPES = _return_types()
