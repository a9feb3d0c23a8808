# SPDX-License-Identifier: Apache-2.0
"""The public headers in every language that programs are written in: each header alone, with all warnings of the
standard as errors, and programs in C and C++ that are linked with the shared library."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import abi  # noqa: E402

BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
INCLUDES = [f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}"]
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors"]
HEADERS = sorted(p.name for p in (ROOT / "include/ingot").glob("*.h")) + ["aten.h"]
C = [(compiler, standard) for compiler in ("gcc", "clang") for standard in ("c99", "c11", "c17", "c2x")]
CPP = [(compiler, standard) for compiler in ("g++", "clang++") for standard in ("c++11", "c++17", "c++20")]

pytestmark = pytest.mark.skipif("INGOT_SANITIZED" in os.environ, reason="the same files as in the release build")


def run(command: list[str], folder: pathlib.Path) -> str:
    # The C library fills freed memory with a pattern: what is used too late is noticed.
    environment = dict(os.environ, MALLOC_PERTURB_="165")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def need(compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")


@pytest.mark.parametrize(("compiler", "standard"), C + CPP)
def test_alone(compiler: str, standard: str, tmp_path: pathlib.Path) -> None:
    need(compiler)
    headers = HEADERS + (["ingot.hpp"] if standard in ("c++17", "c++20") else [])
    names = []
    for header in headers:
        names.append(f"{header.replace('.', '_')}.{'cpp' if '++' in compiler else 'c'}")
        (tmp_path / names[-1]).write_text(f'#include "ingot/{header}"\n')
    run([compiler, f"-std={standard}", *STRICT, *INCLUDES, "-fsyntax-only", *names], tmp_path)


PROGRAM = """
#include <stdio.h>
#include <string.h>

#include "ingot/ingot.h"

int main(void) {
  ig_ctx *c = NULL;
  int64_t sizes[] = {3};
  if (ig_ctx_create(NULL, &c) != IG_OK || strcmp(ig_version(), IG_VERSION) != 0) return 1;
  ig_tensor *x = ig_tensor_empty(c, IG_F32, sizes, 1);
  ig_tensor *y = ig_add_tensor(c, ig_ones_like(c, x), ig_ones_like(c, x));
  printf("%g %g %s\\n", ig_tensor_get(y, 0), ig_tensor_get(y, 2), ig_ctx_error(c));
  ig_ctx_free(c);
  return 0;
}
"""

CPP_PROGRAM = """
#include <iostream>

#include "ingot/ingot.hpp"

int main(int, char **argv) {
  ingot::model model(argv[1]);
  const ingot::model copy = model;
  ingot::session session(copy);
  const ig_model_port &port = *model.inputs()[0];
  std::vector<int64_t> sizes;
  std::size_t n = 1;
  for (int d = 0; d < port.ndim; d++) {
    sizes.push_back(port.dims[d]->value);
    n *= static_cast<std::size_t>(sizes.back());
  }
  const std::vector<float> x(n, 1.0f);
  session.bind(port.name, sizes, x);
  session.run();
  const auto copied = session.read<float>();
  const auto borrowed = session.output<float>();
  std::cout << (copied == std::vector<float>(borrowed.begin(), borrowed.end())) << ' '
            << (session.sizes().size() > 0) << '\\n';
  try {
    const std::vector<double> wrong(n);
    session.bind(port.name, sizes, wrong);
  } catch (const ingot::error &e) {
    std::cout << e.status() << ' ' << e.what() << '\\n';
  }
  try {
    session.bind("nowhere", sizes, x);
  } catch (const ingot::error &e) {
    std::cout << ig_status_text(e.status()) << '\\n';
  }
  session.bind(port.name, sizes, x);  // the context is usable again
  session.run();
  ingot::session other(model);
  other.bind(port.name, sizes, x);
  session = std::move(other);  // frees what the first one had
  session.run();
  std::cout << (session.read<float>() == copied) << '\\n';
  try {
    ingot::model("no such file.pt2");
  } catch (const ingot::error &e) {
    std::cout << ig_status_text(e.status()) << '\\n';
  }
  return 0;
}
"""


def link(compiler: str, standard: str, code: str, folder: pathlib.Path) -> pathlib.Path:
    source = folder / ("program.cpp" if "++" in compiler else "program.c")
    source.write_text(code)
    library = [f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lingot"]
    run([compiler, f"-std={standard}", *STRICT, *INCLUDES, source.name, "-o", "program", *library], folder)
    return folder / "program"


def test_every_function_has_c_linkage(tmp_path: pathlib.Path) -> None:
    """A C++ program that takes the address of each: a header without IG_BEGIN_DECLS does not link."""
    need("g++")
    names = sorted(set().union(*(abi.functions((ROOT / "include/ingot" / h).read_text()) for h in HEADERS[:-1])))
    assert len(names) > 300
    table = "".join(f"  reinterpret_cast<function>(&{name}),\n" for name in names)
    includes = "".join(f'#include "ingot/{h}"\n' for h in HEADERS)
    code = f"{includes}typedef void (*function)();\nfunction table[] = {{\n{table}}};\n"
    code += "int main() {\n  for (function f : table) {\n    if (!f) return 1;\n  }\n  return 0;\n}\n"
    run([str(link("g++", "c++11", code, tmp_path))], tmp_path)


LINKED = [("gcc", "c99"), ("clang", "c2x"), ("g++", "c++11"), ("clang++", "c++20")]


@pytest.mark.parametrize(("compiler", "standard"), LINKED)
def test_same_program_in_both_languages(compiler: str, standard: str, tmp_path: pathlib.Path) -> None:
    need(compiler)
    program = link(compiler, standard, PROGRAM, tmp_path)
    assert run([str(program)], tmp_path) == "2 2 \n"


@pytest.mark.parametrize(("compiler", "standard"), [("g++", "c++17"), ("clang++", "c++20")])
def test_sessions_in_cpp(compiler: str, standard: str, tmp_path: pathlib.Path) -> None:
    need(compiler)
    program = link(compiler, standard, CPP_PROGRAM, tmp_path)
    out = run([str(program), str(ROOT / "tests/pt2/data/mlp.pt2")], tmp_path).splitlines()
    assert out == [
        "1 1",
        "4 x has elements of float32, which the given C++ type does not hold",
        "not found",
        "1",
        "file error",
    ]
