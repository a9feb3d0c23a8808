#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which names of torch do third-party packages use, and which of them does Ingot lack?

    scan_surface.py record --site SITE --peer PYTHON [PACKAGE...]    scan sources, ask the real PyTorch, write the list
    scan_surface.py check [--all]                                    look every name of the list up in Ingot

`record` parses the Python sources of the packages below SITE (a site-packages folder), follows imports and aliases of
torch in every file and collects the attribute paths that are used (`torch.nn.functional.relu`), and the names that are
used as attributes of any object and that torch.Tensor has (`torch.Tensor.narrow`). PYTHON, an interpreter with the real
PyTorch, says which of them exist there: sources also name what other releases had. The list is
tests/python/surface_used.tsv. `check` needs neither the packages nor PyTorch. What Ingot leaves out is listed with
reasons in tests/python/surface_waived.tsv; a row `torch.cuda.*` covers everything below torch.cuda.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import collections
import importlib
import json
import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
USED = ROOT / "tests" / "python" / "surface_used.tsv"
WAIVED = ROOT / "tests" / "python" / "surface_waived.tsv"
PACKAGES = (
    "timm", "transformers", "torchvision", "diffusers", "segmentation_models_pytorch", "einops", "accelerate", "peft",
)  # fmt: skip
ROOTS = ("torch", "functorch")
# Attributes of lists, dicts, strings and modules of the standard library: seeing `x.index` says nothing of tensors.
COMMON = frozenset(name for kind in (list, dict, str, set, tuple, bytes, object) for name in dir(kind))

# Run by either interpreter: paths as JSON on standard input, those that exist on standard output.
PROBE = """
import importlib, json, sys
def exists(path):
    parts = path.split(".")
    try:
        found = importlib.import_module(parts[0])
    except ImportError:
        return False
    for i, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except Exception:
            try:
                found = importlib.import_module(".".join(parts[:i]))
            except Exception:
                return False
    return True
answers = [path for path in json.load(sys.stdin) if exists(path)]
sys.stdout.write("\\n" + json.dumps(answers))
"""


class Names(ast.NodeVisitor):
    """The paths of torch that one file uses. Aliases are kept per file: a name that is bound twice keeps both
    meanings, because a function may import what the module imports too."""

    def __init__(self) -> None:
        self.aliases: dict[str, set[str]] = collections.defaultdict(set)
        self.paths: set[str] = set()
        self.attributes: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:  # noqa: N802
        for name in node.names:
            if name.name.split(".")[0] in ROOTS:
                self.paths.add(name.name)
                self.aliases[name.asname or name.name.split(".")[0]].add(
                    name.name if name.asname else name.name.split(".")[0]
                )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802
        if node.level or not node.module or node.module.split(".")[0] not in ROOTS:
            return
        self.paths.add(node.module)
        for name in node.names:
            if name.name != "*":
                self.paths.add(f"{node.module}.{name.name}")
                self.aliases[name.asname or name.name].add(f"{node.module}.{name.name}")


class Uses(ast.NodeVisitor):
    """Second walk: attribute chains that begin with an alias."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: N802
        parts: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            parts.append(base.attr)
            base = base.value
        parts.reverse()
        if isinstance(base, ast.Name) and base.id in self.names.aliases:
            for root in self.names.aliases[base.id]:
                self.names.paths.add(".".join([root, *parts]))
        else:
            self.names.attributes.update(parts)
            self.visit(base)


def scan_file(path: pathlib.Path) -> Names:
    """Paths and attributes of a source file; a file that does not parse has none."""
    names = Names()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.visit_Import(node)
        elif isinstance(node, ast.ImportFrom):
            names.visit_ImportFrom(node)
    Uses(names).visit(tree)
    return names


def probe(command: list[str], paths: list[str]) -> set[str]:
    """Those of the paths that exist for the interpreter."""
    done = subprocess.run([*command, "-c", PROBE], input=json.dumps(paths), capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.rpartition("\n")[2]))


def record(site: pathlib.Path, peer: str, packages: list[str]) -> None:
    """Write the list of used names."""
    users: dict[str, set[str]] = collections.defaultdict(set)
    attributes: dict[str, set[str]] = collections.defaultdict(set)
    for package in packages:
        files = sorted((site / package).rglob("*.py"))
        if not files:
            sys.exit(f"scan_surface: no sources of {package} in {site}")
        for file in files:
            names = scan_file(file)
            for path in names.paths:
                users[path].add(package)
            for name in names.attributes:
                attributes[name].add(package)
    for name, where in attributes.items():
        if not name.startswith("__") and name not in COMMON and not hasattr(builtins, name):
            users[f"torch.Tensor.{name}"] |= where
    # A longer path than the peer has may be an attribute of an instance: its prefixes stand by themselves.
    for path in list(users):
        parts = path.split(".")
        for end in range(2, len(parts)):
            users[".".join(parts[:end])] |= users[path]
    known = probe([peer], sorted(users))
    lines = [f"{path}\t{' '.join(sorted(users[path]))}" for path in sorted(known)]
    USED.write_text(
        "# Names of torch that exist in PyTorch and that the packages use; made by tools/scan_surface.py record.\n"
        + "\n".join(lines)
        + "\n"
    )
    print(f"{len(lines)} names of {len(packages)} packages; {len(users) - len(lines)} others are not names of PyTorch")


def rows(path: pathlib.Path) -> list[list[str]]:
    """Rows of a table of ours, without comments."""
    return [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]


def waiver(path: str, waived: dict[str, str]) -> str | None:
    """The reason for which a name is left out, if there is one."""
    if path in waived:
        return waived[path]
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        reason = waived.get(".".join(parts[:end]) + ".*")
        if reason:
            return reason
    return None


def missing(used: list[list[str]], waived: dict[str, str]) -> tuple[list[list[str]], int]:
    """Rows that Ingot lacks and that nothing excuses, and how many are excused. Runs in an interpreter with
    `ingot.as_torch` in place."""
    here: list[list[str]] = []
    excused = 0
    for row in used:
        if not exists(row[0]):
            if waiver(row[0], waived):
                excused += 1
            else:
                here.append(row)
    return here, excused


def exists(path: str) -> bool:
    """Whether the path leads to something, by attributes and imports."""
    parts = path.split(".")
    found: Any = importlib.import_module(parts[0])
    for end, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:end]))
            except ImportError:
                return False
    return True


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("--site", type=pathlib.Path, required=True)
    recorder.add_argument("--peer", required=True)
    recorder.add_argument("packages", nargs="*", default=list(PACKAGES))
    commands.add_parser("check")
    options = parser.parse_args()
    if options.command == "record":
        record(options.site, options.peer, options.packages or list(PACKAGES))
        return 0
    import ingot.as_torch  # noqa: F401

    used = rows(USED)
    absent, excused = missing(used, {row[0]: row[1] for row in rows(WAIVED)})
    for row in absent:
        print(f"{row[0]}  ({row[1]})")
    print(f"used {len(used)}  present {len(used) - len(absent) - excused}  waived {excused}  missing {len(absent)}")
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
