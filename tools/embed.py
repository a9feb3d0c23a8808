#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A text file as a C string: tools/embed.py FILE NAME"""
import pathlib
import sys

path = pathlib.Path(sys.argv[1])
data = path.read_bytes() + b"\0"
rows = (", ".join(map(str, data[i : i + 24])) for i in range(0, len(data), 24))
print(f"// Made from {path.name} by tools/embed.py.")
print(f"static const char {sys.argv[2]}[] = {{\n  " + ",\n  ".join(rows) + "};")
