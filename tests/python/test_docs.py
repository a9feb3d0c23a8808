# SPDX-License-Identifier: Apache-2.0
"""The code blocks of the documents are run as they stand, in order, in one folder per document; their links lead
somewhere.

A fenced block of python, c, cpp or sh is run; a fenced block of text right after it is what it prints. Blocks that
are only to be read are indented instead.
"""
import importlib.util
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


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def documents() -> list[pathlib.Path]:
    return [path for path in pages() if any(m[1] in LANGUAGES for m in FENCE.finditer(path.read_text()))]


def build() -> pathlib.Path:
    return pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))


def run(command: list[str], folder: pathlib.Path) -> str:
    environment = dict(os.environ, PATH=f"{build()}{os.pathsep}{os.environ['PATH']}", INGOT_PYTHON=sys.executable)
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
@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_blocks_of(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for m in FENCE.finditer(path.read_text()):
        language, code, expected = m.groups()
        if language in LANGUAGES:
            printed = run_block(language, code, tmp_path)
            if expected is not None:
                assert printed == expected, f"the {language} block prints something else"


# ---- examples

SHOWN = """input x: float32 [3, 4]
output linear_1: float32 [3, 2]
 -0.147191 0.209443 -0.147191 0.209443 -0.147191 0.209443
"""


@pytest.mark.parametrize("language", ["c", "cpp", "py"])
def test_example_that_runs_a_model(language: str, tmp_path: pathlib.Path) -> None:
    """In every language it prints the same: names, dtypes, sizes, values."""
    built = build() / f"examples/example_run_model{'_cpp' if language == 'cpp' else ''}"
    command = [sys.executable, str(ROOT / "examples/run_model.py")] if language == "py" else [str(built)]
    if language != "py" and not built.exists():
        pytest.skip(f"{built.name} is not built")
    assert run([*command, str(ROOT / "tests/pt2/data/mlp.pt2")], tmp_path) == SHOWN


@pytest.mark.skipif("INGOT_SANITIZED" in os.environ, reason="it compares with ONNX Runtime, which knows no sanitizers")
def test_the_tour(tmp_path: pathlib.Path) -> None:
    printed = run([sys.executable, str(ROOT / "examples/demo.py")], tmp_path)
    assert printed.endswith("demo: all numbers agree\n")


# ---- links

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,4} (.+)$", re.M)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.M | re.S)
# Pages of the site that tools/site.py makes.
GENERATED = {"errors/index", "python/index", "c/index", "contributing", "changelog"}


def anchors(path: pathlib.Path) -> set[str]:
    """Of the headings, as GitHub and the site make them."""
    titles = HEADING.findall(re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_links_of(path: pathlib.Path) -> None:
    for target in LINK.findall(CODE.sub("", path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = path.parent / name if name else path
        assert to.exists(), f"there is no {target}"
        assert not anchor or anchor in anchors(to), f"{to.name} has no heading for #{anchor}"


def test_links_of_the_pages_of_the_site(tmp_path: pathlib.Path) -> None:
    """Sections that become pages of their own, and documents that move, take their links along."""
    sys.path.append(str(ROOT / "tools"))  # at the end: Python has a module called site, too
    spec = importlib.util.spec_from_file_location("ingot_site", ROOT / "tools/site.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    source = tmp_path / "docs/source"
    made.make_pages(source, str(build() / "ingot"))
    wrong = []
    for path in source.rglob("*.md"):
        for target in LINK.findall(CODE.sub("", path.read_text())):
            name, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target) or not name:
                continue
            to = path.parent / name
            if not to.exists() or (anchor and anchor not in anchors(to)):
                wrong.append(f"{path.relative_to(source)}: {target}")
    assert wrong == []
    assert (source / "commands/compile.md").exists() and (source / "errors/IG0103.md").exists()


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs/index.md").read_text()
    entries = {line for tree in TREE.findall(index) for line in tree.split("\n") if line and line[0] != ":"}
    here = {str(path.relative_to(ROOT / "docs").with_suffix("")) for path in (ROOT / "docs").rglob("*.md")}
    assert entries == (here - {"index"}) | GENERATED
