#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All checks that need no running: one line each, and what is wrong below it.

    tools/lint.py BUILD [STEP ...]

BUILD is a built release folder: it has the compile commands, the generated headers and the libraries.
Checks per file (formatting, clang-tidy, self-contained headers) are remembered by content under
build/lint-cache, so that a second run looks only at what changed.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / "build/lint-cache"
FOLDERS = ("include", "src", "python", "tests", "examples", "bench")
INCLUDED = [ROOT / folder for folder in ("include", "src", "python", "tests", "tests/support")]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)

Result = tuple[bool, str]


def run(command: list[str], cwd: pathlib.Path = ROOT) -> Result:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


@functools.cache
def version(tool: str) -> str:
    return run([tool, "--version"])[1]


def c_files(*suffixes: str) -> list[pathlib.Path]:
    return [p for f in FOLDERS for p in sorted((ROOT / f).rglob("*")) if p.suffix in suffixes]


@functools.cache
def closure(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """The file and the project's headers that it includes, directly or not; generated ones do not count."""
    found = {path}
    todo = [path]
    while todo:
        here = todo.pop()
        for name in INCLUDE.findall(here.read_text()):
            for folder in (here.parent, *INCLUDED):
                header = (folder / name).resolve()
                if header.is_file() and ROOT in header.parents and header not in found:
                    found.add(header)
                    todo.append(header)
    return frozenset(found)


def key(path: pathlib.Path, *settings: str) -> str:
    digest = hashlib.sha256("\0".join(settings).encode())
    for part in sorted(closure(path)):
        digest.update(str(part.relative_to(ROOT)).encode() + b"\0" + part.read_bytes())
    return digest.hexdigest()


def cached(path: pathlib.Path, settings: list[str], check: Callable[[], Result]) -> Result:
    try:
        mark = CACHE / key(path, *settings)
    except OSError as error:  # the file went away meanwhile
        return False, f"{path.relative_to(ROOT)}: {error}\n"
    if mark.exists():
        return True, ""
    result = check()
    if result[0]:
        mark.touch()
    return result


def each(paths: list[pathlib.Path], check: Callable[[pathlib.Path], Result]) -> Result:
    """Run a check over files, as many at a time as there are cores, the largest first."""
    order = sorted(paths, key=lambda p: -p.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(check, order))
    return all(ok for ok, _ in results), "".join(text for ok, text in results if not ok)


def step_format(_: pathlib.Path) -> Result:
    return run(["clang-format", "--dry-run", "--Werror", *map(str, c_files(".c", ".h"))])


def step_tidy(build: pathlib.Path) -> Result:
    config = (ROOT / ".clang-tidy").read_text()
    # The analyzer follows at most so many states of a function. With its own limit, ten times as many, the largest
    # files take half a minute each.
    extra = ["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument",
             "-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000"]
    commands = {}
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = re.sub(r" -fvect-cost-model=\w+", "", entry["command"])  # clang does not know it
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_file() and ROOT in path.parents:
            commands[path] = entry["command"]
    known = build / "lint"
    known.mkdir(exist_ok=True)
    (known / "compile_commands.json").write_text(json.dumps(entries))
    arguments = ["--quiet", "-p", str(known), *(f"--extra-arg={one}" for one in extra)]

    def check(path: pathlib.Path) -> Result:
        def tidy() -> Result:
            ok, text = run(["clang-tidy", *arguments, str(path)])
            return ok, re.sub(r"^\d+ warnings.*\n|^Suppressed.*\n|^Use -header-filter.*\n", "", text, flags=re.M)

        return cached(path, ["tidy", version("clang-tidy"), config, *extra, commands[path]], tidy)

    return each(list(commands), check)


def step_headers(build: pathlib.Path) -> Result:
    includes = [f"-I{folder}" for folder in (*INCLUDED, build / "include", build)]
    compiler = os.environ.get("CC", "cc")
    base = [compiler, "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", *includes]
    base += ["-isystem", sysconfig.get_path("include")]

    def check(path: pathlib.Path) -> Result:
        # Included from an empty file: compiling a header itself gives warnings of its own.
        def compile_alone() -> Result:
            done = subprocess.run([*base, "-include", str(path), "-x", "c", os.devnull], capture_output=True, text=True)
            return done.returncode == 0, f"{path.relative_to(ROOT)} does not compile alone:\n{done.stderr}"

        return cached(path, ["header", version(compiler), " ".join(base)], compile_alone)

    return each(c_files(".h"), check)


def step_docs(_: pathlib.Path) -> Result:
    settings = [version("doxygen"), *((ROOT / f).read_text() for f in ("docs/Doxyfile", "tools/doxygen_filter.py"))]
    return cached(ROOT / "include/ingot/ingot.h", settings, lambda: run([str(ROOT / "tools/docs")]))


def script(name: str) -> Callable[[pathlib.Path], Result]:
    return lambda build: run([sys.executable, str(ROOT / "tools" / name), str(build)])


def step_ruff(_: pathlib.Path) -> Result:
    ruff = pathlib.Path(sys.executable).parent / "ruff"
    return run([str(ruff), "check", "--quiet", "python", "tests", "tools", "examples", "bench"])


STEPS = {
    "files": script("check_files.py"),
    "layers": script("check_layers.py"),
    "formulas": script("check_formulas.py"),
    "values": script("check_values.py"),
    "names": script("check_names.py"),
    "sizes": script("check_sizes.py"),
    "symbols": script("check_symbols.py"),
    "ruff": step_ruff,
    "format": step_format,
    "headers": step_headers,
    "docs": step_docs,
    "tidy": step_tidy,
}


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    CACHE.mkdir(parents=True, exist_ok=True)
    bad = []
    for name in sys.argv[2:] or STEPS:
        start = time.monotonic()
        ok, text = STEPS[name](build)
        print(f"lint: {name:<9} {'ok' if ok else 'FAILED':<7} {time.monotonic() - start:5.1f} s", flush=True)
        if not ok:
            bad.append(name)
            print(text.rstrip(), flush=True)
    print(f"lint: {'failed: ' + ', '.join(bad) if bad else 'all checks passed'}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
