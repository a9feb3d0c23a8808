#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the package importable from the build tree: a folder of links to the sources and the module.

    tools/link_package.py python/ingot BUILD/python/ingot MODULE

MODULE is the file name of the extension module, which is built beside the folder. The metadata of an installed package
lies beside the folder too: other packages find Ingot by its entry points.
"""
import os
import pathlib
import sys


def write_metadata(project: pathlib.Path, folder: pathlib.Path) -> None:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10: no entry points in the build tree
        return
    groups = tomllib.loads(project.read_text())["project"].get("entry-points", {})
    info = folder / "ingot-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ingot\nVersion: 0\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


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
    project = source.parent.parent / "pyproject.toml"
    if project.exists():
        write_metadata(project, target.parent)


main()
