# SPDX-License-Identifier: Apache-2.0
"""Names and numbers of the export schema."""
from __future__ import annotations

import enum

__all__ = ["SCHEMA_VERSION", "TREESPEC_VERSION", "ArgumentKind", "Layout", "MemoryFormat", "ScalarType"]

SCHEMA_VERSION = (8, 20)
TREESPEC_VERSION = 1


class ScalarType(enum.IntEnum):
    UNKNOWN = 0
    BYTE = 1
    CHAR = 2
    SHORT = 3
    INT = 4
    LONG = 5
    HALF = 6
    FLOAT = 7
    DOUBLE = 8
    COMPLEXHALF = 9
    COMPLEXFLOAT = 10
    COMPLEXDOUBLE = 11
    BOOL = 12
    BFLOAT16 = 13
    UINT16 = 28
    FLOAT8E4M3FN = 29
    FLOAT8E5M2 = 30
    FLOAT8E4M3FNUZ = 31
    FLOAT8E5M2FNUZ = 32
    FLOAT8E8M0FNU = 33
    UINT32 = 34
    UINT64 = 35


class Layout(enum.IntEnum):
    Unknown = 0
    SparseCoo = 1
    SparseCsr = 2
    SparseCsc = 3
    SparseBsr = 4
    SparseBsc = 5
    _mkldnn = 6
    Strided = 7


class MemoryFormat(enum.IntEnum):
    Unknown = 0
    ContiguousFormat = 1
    ChannelsLast = 2
    ChannelsLast3d = 3
    PreserveFormat = 4


class ArgumentKind(enum.IntEnum):
    UNKNOWN = 0
    POSITIONAL = 1
    KEYWORD = 2
