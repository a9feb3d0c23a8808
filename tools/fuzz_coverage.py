# SPDX-License-Identifier: Apache-2.0
"""What the fuzz targets reach, per folder of the sources.

    python tools/fuzz_coverage.py [BUILD] [--files]

BUILD (build/fuzz) is the folder that tools/fuzz configures and runs in. A target that has left no profile there, since
it crashed or was not run, runs its corpus once. The table has the lines and functions that any target ran; --files has
a row for each source as well.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def profile_of(target: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The target's profile; the corpus runs where there is none."""
    name = target.name.removesuffix("_fuzz")
    profile = folder / f"{name}.profraw"
    if not profile.exists() or profile.stat().st_size == 0:
        corpus = ROOT / "tests/fuzz/corpus" / name
        command = [target, "-runs=0", "-verbosity=0", *([corpus] if corpus.exists() else [])]
        subprocess.run(command, env={**os.environ, "LLVM_PROFILE_FILE": str(profile)}, check=True)
    return profile


def summary(targets: list[pathlib.Path], folder: pathlib.Path) -> list[dict]:
    """llvm-cov's row for each source."""
    merged = folder / "all.profdata"
    profiles = [profile_of(target, folder) for target in targets]
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-failure-mode=all", "-o", merged, *profiles], check=True)
    objects = [word for target in targets[1:] for word in ("-object", str(target))]
    command = ["llvm-cov", "export", "-summary-only", f"-instr-profile={merged}", targets[0], *objects]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(found.stdout)["data"][0]["files"]


def folder_of(path: pathlib.Path) -> str | None:
    """The folder that a source counts for: src/ops/nn, src/codec; None for what is not ours to cover."""
    try:
        parts = path.resolve().relative_to(ROOT).parts
    except ValueError:
        return None
    return "/".join(parts[: 3 if parts[1] == "ops" else 2][: len(parts) - 1]) if parts[0] == "src" else None


def main(words: list[str]) -> int:
    by_file = "--files" in words
    places = [word for word in words if not word.startswith("--")]
    build = pathlib.Path(places[0] if places else ROOT / "build/fuzz").resolve()
    targets = sorted(path for path in (build / "tests").glob("*_fuzz") if path.is_file())
    if not targets:
        print(f"{build}: no fuzz targets; run `make fuzz` first", file=sys.stderr)
        return 1
    folder = build / "coverage"
    folder.mkdir(exist_ok=True)
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for entry in summary(targets, folder):
        path = pathlib.Path(build, entry["filename"])
        place = folder_of(path)
        if place is None:
            continue
        for row in (place, "total", *([f"{place}/{path.name}"] if by_file else [])):
            for kind in ("lines", "functions"):
                rows[row][kind] += entry["summary"][kind]["count"]
                rows[row][f"{kind} run"] += entry["summary"][kind]["covered"]
    width = max(map(len, rows))
    print(f"{'folder':{width}}  {'lines':>8}  {'run':>5}  {'functions':>9}  {'run':>5}")
    for name in sorted(rows, key=lambda row: (row == "total", row)):
        row = rows[name]
        shares = [row[f"{kind} run"] / max(row[kind], 1) for kind in ("lines", "functions")]
        print(f"{name:{width}}  {row['lines']:8}  {shares[0]:5.0%}  {row['functions']:9}  {shares[1]:5.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
