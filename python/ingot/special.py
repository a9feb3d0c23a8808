# SPDX-License-Identifier: Apache-2.0
"""The operators of special functions: `special.name` is the operator aten::special_name."""

from ingot._prefixed import members

__getattr__, __dir__ = members("special", globals())
