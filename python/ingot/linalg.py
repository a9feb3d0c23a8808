# SPDX-License-Identifier: Apache-2.0
"""The operators of linear algebra: `linalg.name` is the operator aten::linalg_name."""

from ingot._prefixed import members

LinAlgError = RuntimeError  # what is raised for a matrix that has no such decomposition or inverse

__getattr__, __dir__ = members("linalg", globals())
