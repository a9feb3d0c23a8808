# SPDX-License-Identifier: Apache-2.0
"""The project's own checks find what they look for, and leave the rest alone."""

import pathlib
import shutil
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
FILES = (
    *(f"check_{name}.py" for name in ("files", "formulas", "layers", "names", "sizes", "values")),
    "csource.py",
    "layers.txt",
)
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
    ("values", "src/ops/a.c", "// concrete: why\nstatic void s(int a) {\n  n = z.value;\n}\nX = {.shape = s};", ""),
    ("values", "src/ops/a.c", "static void s(int a) {\n  if (!z.expr && z.value < 1) f();\n}\nX = {.shape = s};", ""),
    ("values", "src/ops/a.c", "static void s(int a) {\n  if (!y.expr && z.value) f();\n}\nX = {.shape = s};", "reads"),
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
    ("layers", "python/a.c", '#include "ops/dense.h"', "layer 'python' may not include 'ops'"),
    ("layers", "python/a.c", '#include "op/op.h"', ""),
    ("sizes", "src/op/a.c", "x = ig_scope_push(c, n * size);", "ig_scope_push(): a product"),
    ("sizes", "src/op/a.c", "x = ig_scope_push(c,\n                  (n + 1) * sizeof *x);", "a product"),
    ("sizes", "src/op/a.c", "x = ig_arena_array(a, (size_t)(2 * n), sizeof *x);", "ig_arena_array(): a product"),
    ("sizes", "src/op/a.c", "x = malloc(a->n + b->n);", "malloc(): a sum of two variables"),
    ("sizes", "src/op/a.c", "x = ig_scope_array(c, ig_mem_mul(n, m) + 1, sizeof *x);", ""),
    ("sizes", "src/op/a.c", "x = ig_arena_push(a, sizeof *x + 8);\ny = ig_mem_new(a, sizeof(char *));", ""),
    ("sizes", "src/op/a.c", "x = ig_mem_array(a, (size_t)*n, sizeof *x);", ""),
    ("sizes", "src/op/a.c", "void *ig_scope_push(ig_ctx *c, size_t size);", ""),
    ("sizes", "src/op/a.c", "size_t bytes = n * sizeof *x;", "a product with sizeof"),
    ("sizes", "src/op/a.c", "memcpy(to, from, n * sizeof *to);\nm = sizeof a / sizeof *a;", ""),
    ("sizes", "src/op/a.c", "int f(const char *p) {\n  return p[0] + g(p + i * step);\n}", "an offset of bytes"),
    ("sizes", "src/op/a.c", "int f(const char *p) {\n  return g(p + i * 2);  // admitted: why\n}", ""),
    ("sizes", "src/kernels/a.c", "int f(const char *p) {\n  return g(p + i * step);\n}", ""),
    ("files", "src/base/b.c", "int x;  // " + "TO" + "DO", "marks unfinished work"),
    ("files", "src/base/b.c", "int x;\n" * 1001, "at most 1000"),
    ("files", "src/base/b.c", "int x;", ""),
    ("names", "src/pass/a.c", 'ig_op_find(c, "aten::relu");', '"aten::relu" names an operator'),
    ("names", "src/pass/a.c", '// the form of "aten::relu"', ""),
    ("names", "src/ops/nn/a.c", '.schema = "aten::relu(Tensor self) -> Tensor",', ""),
    ("names", "src/pass/a.c", "if (op->number == IG_ID_RELU) f();", ""),
    ("names", "src/pass/a.c", 'if (strcmp(op->schema.name, "relu") == 0) f();', "recognises an operator by its name"),
    ("names", "src/pass/a.c", 'if (strcmp(n->target, "_operator.getitem") == 0) f();', ""),
    ("names", "src/pass/a.c", "if (strcmp(a->target, b->target) == 0) f();", ""),
    ("names", "src/pass/a.c", 'if (strcmp(n->hop->name, "cond") == 0) f();', "recognises an operator by its name"),
    ("names", "src/pass/a.c", 'if (strstr(n->target, "rand")) f();', "recognises an operator by its name"),
    ("names", "src/pass/a.c", 'if (strncmp(n->op_type, "Random", 6) == 0) f();', "recognises an operator by its name"),
    ("names", "src/pass/a.c", "if (row->op_type[0] == 'l') f();", "tests a letter of a name"),
    ("names", "src/pass/a.c", 'static const char *const x[] = {"add", "mul", "relu"};', "a list of names of operators"),
    ("names", "src/pass/a.c", 'static const row x[] = {{"add", f}, {"mul", g}, {"relu", h}};', "a list of names"),
    ("names", "src/pass/a.c", 'static const char *const x[] = {"red", "green", "add"};', ""),
    ("names", "src/pass/table.c", '{"aten.relu.default", relu},', ""),
    ("names", "src/pass/table.c", '{"aten.relu.default", strstr(n->target, "rand")},', "recognises an operator"),
    ("names", "python/ingot/a.py", 'X = "aten.relu.default"', "names an operator"),
    ("names", "python/ingot/a.py", 'def f():\n    """As "aten.relu.default" does."""', ""),
]


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A checkout that has nothing but the checks."""
    (tmp_path / "tools").mkdir()
    for name in FILES:
        shutil.copy(TOOLS / name, tmp_path / "tools")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "src/op").mkdir(parents=True)
    rows = [f"aten::{name}\taten::{name}()\t\t\t" for name in ("add.Tensor", "mul", "relu")]
    (tmp_path / "src/op/aten.tsv").write_text("\n".join(["op\tschema\tfacts\tbackward\tlists", *rows]))
    (tmp_path / "src/op/hop_cond.c").write_text(HEAD + 'const ig_hop ig_hop_cond = {\n    .name = "cond",\n};\n')
    (tmp_path / "tools/op_tables.txt").write_text("# path: reason\n")
    return tmp_path


@pytest.mark.parametrize(("check", "name", "text", "says"), CASES)
def test_check(check: str, name: str, text: str, says: str, root: pathlib.Path) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((HEAD if path.suffix != ".py" else "") + text + "\n")
    if path.stem == "table":
        (root / "tools/op_tables.txt").write_text(f"{name}: rows\n")
    command = [sys.executable, root / "tools" / f"check_{check}.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    assert (done.returncode != 0) == bool(says), done.stdout
    assert says in done.stdout


@pytest.mark.parametrize(("line", "says"), [("src/a.c: rows", "names no operator"), ("src/a.c", "expected")])
def test_tables_have_rows_and_reasons(line: str, says: str, root: pathlib.Path) -> None:
    (root / "tools/op_tables.txt").write_text(line + "\n")
    done = subprocess.run([sys.executable, root / "tools/check_names.py"], capture_output=True, text=True)
    assert done.returncode == 1 and says in done.stdout + done.stderr


def test_license_line_is_missed(root: pathlib.Path) -> None:
    (root / "a.c").write_text("int x;\n")
    command = [sys.executable, root / "tools/check_files.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "a.c:1: no line" in done.stdout
