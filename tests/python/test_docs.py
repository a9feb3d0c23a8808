# SPDX-License-Identifier: Apache-2.0
"""The code blocks of the documents are run as they stand, in order, in one folder per document.

A fenced block of python, c, cpp or sh is run; a fenced block of text right after it is what it prints. Blocks that
are only to be read are indented instead.
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", re.M | re.S)
LANGUAGES = {"python", "c", "cpp", "sh"}
# The compiler of a language and the standard that the blocks are written in.
COMPILERS = {"c": ("CC", "cc", "c11"), "cpp": ("CXX", "c++", "c++17")}


def documents() -> list[pathlib.Path]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [path for path in paths if any(m[1] in LANGUAGES for m in FENCE.finditer(path.read_text()))]


def build() -> pathlib.Path:
    return pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))


def run(command: list[str], folder: pathlib.Path) -> str:
    environment = dict(os.environ, PATH=f"{build()}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def run_compiled(language: str, code: str, folder: pathlib.Path) -> str:
    variable, usual, standard = COMPILERS[language]
    source = f"block.{language}"
    (folder / source).write_text(code)
    includes = [f"-I{ROOT / 'include'}", f"-I{build() / 'include'}"]
    link = [f"-L{build()}", f"-Wl,-rpath,{build()}", "-lingot", "-lm"]
    compiler = [os.environ.get(variable, usual), f"-std={standard}", "-Wall", "-Werror"]
    run([*compiler, *includes, source, *link, "-o", "block"], folder)
    return run(["./block"], folder)


def run_block(language: str, code: str, folder: pathlib.Path) -> str:
    if language in COMPILERS:
        return run_compiled(language, code, folder)
    if language == "sh":
        return run(["bash", "-euc", code], folder)
    (folder / "block.py").write_text(code)
    return run([sys.executable, "block.py"], folder)


@pytest.mark.skipif("INGOT_SANITIZED" in os.environ, reason="the blocks are linked without sanitizers")
@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_blocks_of(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for m in FENCE.finditer(path.read_text()):
        language, code, expected = m.groups()
        if language in LANGUAGES:
            printed = run_block(language, code, tmp_path)
            if expected is not None:
                assert printed == expected, f"the {language} block prints something else"
