#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `ingot view` as C: tools/page.py src/view/page.html > page.inc

The page has one style sheet and one script. Their checksums go into its Content-Security-Policy, so that a browser runs
nothing else. What stands before and after @DATA@ become two arrays.
"""
import base64
import hashlib
import pathlib
import sys


def between(text: str, start: str, end: str) -> str:
    first = text.index(start) + len(start)
    return text[first:text.index(end, first)]


def checksum(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def array(name: str, text: str) -> str:
    data = text.encode()
    rows = (", ".join(map(str, data[i:i + 24])) for i in range(0, len(data), 24))
    return f"static const unsigned char {name}[] = {{\n  " + ",\n  ".join(rows) + "};\n"


def main() -> None:
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    script = between(text, "<script>", "</script>")
    text = text.replace("@SCRIPT@", checksum(script)).replace("@STYLE@", checksum(between(text, "<style>", "</style>")))
    head, tail = text.split("@DATA@")
    print("// Made from src/view/page.html by tools/page.py.")
    print(array("page_head", head) + array("page_tail", tail), end="")


if __name__ == "__main__":
    main()
