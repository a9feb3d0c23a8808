#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the package importable from the build tree: a folder of links to the sources and the module.

    tools/link_package.py python/ingot BUILD/python/ingot MODULE

MODULE is the file name of the extension module, which is built beside the folder.
"""
import os
import pathlib
import sys


def main() -> None:
    source, target, module = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    target.mkdir(parents=True, exist_ok=True)
    wanted = {module: pathlib.Path("..") / module}
    if source.is_dir():
        wanted |= {entry.name: entry for entry in source.iterdir() if entry.name != "__pycache__"}
    for entry in target.iterdir():
        if entry.is_symlink() and (entry.name not in wanted or os.readlink(entry) != str(wanted[entry.name])):
            entry.unlink()
    for name, path in wanted.items():
        if not (target / name).is_symlink():
            (target / name).symlink_to(path)


main()
