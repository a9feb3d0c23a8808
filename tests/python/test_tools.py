# SPDX-License-Identifier: Apache-2.0
"""The project's own checks find what they look for, and leave the rest alone."""
import pathlib
import shutil
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
HEAD = "// SPDX-License-Identifier: Apache-2.0\n"

# check, file, text, what it says (nothing: it passes)
CASES = [
    ("formulas", "src/ops/a.c", "f(c, ig_relu(c, x), ig_neg(c, x));", "f() has two recording arguments"),
    ("formulas", "src/ops/a.c", "f(c, ig_relu(c, x), ig_int_add(c, a, b));", ""),
    ("formulas", "src/ops/a.c", "ig_tensor *y = ig_relu(c, x);\nf(c, y, ig_neg(c, x));", ""),
    ("formulas", "src/ops/a.c", "ig_tensor *t[] = {ig_relu(c, x), ig_neg(c, x)};", "two recording members"),
    ("formulas", "src/ops/a.c", "// f(c, ig_relu(c, x), ig_neg(c, x))", ""),
    ("formulas", "src/ops/a.c", "static int g(ig_ctx *c, int i);\nf(c, g(c, 1), g(c, 2));", ""),
    ("values", "src/ops/a.c", "static void s(int a) {\n  n = size.value;\n}\nX = {.shape = s};", "s() reads .value"),
    ("values", "src/ops/a.c", "static void s(int a) {\n  // concrete: why\n  n = z.value;\n}\nX = {.shape = s};", ""),
    ("values", "src/ops/a.c", "static void k(int a) {\n  int n = size.value;\n}\nX = {.kernel = k};", ""),
    (
        "values",
        "src/ops/a.c",
        "static int h(int a) {\n  return a->value;\n}\nstatic void v(int a) {\n  h(a);\n}\nX = {.vjp = v};",
        "h() reads .value",
    ),
    ("layers", "src/base/a.c", '#include "ir/graph.h"', "layer 'base' may not include 'ir'"),
    ("layers", "src/ops/a.c", '#include "op/op.h"\n#include "ingot/op.h"\n#include <stdio.h>', ""),
    ("layers", "src/base/a.c", '#include "../ir/graph.h"', "does not spell its layer"),
    ("layers", "src/attic/a.c", "", "'attic' is not in tools/layers.txt"),
    ("layers", "examples/a.c", '#include "op/op.h"', "layer 'examples' may not include 'op'"),
    ("files", "src/base/b.c", "int x;  // TO" "DO", "marks unfinished work"),
    ("files", "src/base/b.c", "int x;\n" * 1001, "at most 1000"),
    ("files", "src/base/b.c", "int x;", ""),
]


@pytest.mark.parametrize(("check", "name", "text", "says"), CASES)
def test_check(check: str, name: str, text: str, says: str, tmp_path: pathlib.Path) -> None:
    shutil.copytree(TOOLS, tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + text + "\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = [sys.executable, tmp_path / "tools" / f"check_{check}.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert (done.returncode != 0) == bool(says), done.stdout
    assert says in done.stdout


def test_license_line_is_missed(tmp_path: pathlib.Path) -> None:
    shutil.copytree(TOOLS, tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "a.c").write_text("int x;\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = [sys.executable, tmp_path / "tools/check_files.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "a.c:1: no line" in done.stdout
