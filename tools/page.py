#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of `ingot view` as C: tools/page.py src/view/page.html > view_page.inc

A page has one style sheet and at most one script. Their checksums go into its Content-Security-Policy, so that a
browser runs nothing else. What stands before @MORE@ (in the policy), before and after @DATA@ become arrays.
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
    path = pathlib.Path(sys.argv[1])
    name = path.stem
    text = path.read_text(encoding="utf-8")
    if "<script>" in text:
        text = text.replace("@SCRIPT@", checksum(between(text, "<script>", "</script>")))
    text = text.replace("@STYLE@", checksum(between(text, "<style>", "</style>")))
    print(f"// Made from src/view/{path.name} by tools/page.py.")
    if "@MORE@" in text:
        policy, text = text.split("@MORE@")
        print(array(f"{name}_policy", policy), end="")
    head, tail = text.split("@DATA@")
    print(array(f"{name}_head", head) + array(f"{name}_tail", tail), end="")


if __name__ == "__main__":
    main()
