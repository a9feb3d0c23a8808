# SPDX-License-Identifier: Apache-2.0
"""What `make install` installs, in a folder that is then moved, found by pkg-config and by CMake."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
PROGRAM = '#include <ingot/version.h>\n#include <stdio.h>\nint main(void) { return puts(ig_version()) < 0; }\n'

pytestmark = pytest.mark.skipif("INGOT_SANITIZED" in os.environ, reason="installed from the release build")


def run(*command: object, **variables: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, env=dict(os.environ, **variables), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    if not shutil.which("meson"):
        pytest.skip("meson is not on the path")
    stage = tmp_path_factory.mktemp("install")
    tags = "--tags=runtime,devel,command,man"
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", stage, tags)
    config = next(stage.rglob("ingotConfig.cmake"))
    moved = stage / "moved"
    shutil.move(next(p for p in config.parents if (p / "include").is_dir()), moved)
    return moved


def test_files(prefix: pathlib.Path) -> None:
    names = {p.name for p in prefix.rglob("*") if p.is_file()}
    assert {"ingot", "ingot.1", "libingot.a", "libingot.so", "ingot.pc", "aten.h", "ingot.h", "ingot.hpp"} <= names
    assert "usage" in run(next(prefix.rglob("bin/ingot")), "--help").lower()


def test_pkg_config(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    folder = next(prefix.rglob("ingot.pc")).parent
    flags = run(
        "pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "ingot", PKG_CONFIG_PATH=str(folder)
    ).split()
    (tmp_path / "program.c").write_text(PROGRAM)
    run("cc", tmp_path / "program.c", "-o", tmp_path / "program", *flags)
    library = next(prefix.rglob("libingot.so")).parent
    assert run(tmp_path / "program", LD_LIBRARY_PATH=str(library)) == "0.1.0\n"


@pytest.mark.parametrize(("wanted", "found"), [("0.1", True), ("", True), ("0.2", False), ("1.0", False)])
def test_cmake(wanted: str, found: bool, prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(program C)\n"
        f"find_package(ingot {wanted} REQUIRED)\nadd_executable(program program.c)\n"
        "target_link_libraries(program ingot::ingot)\n"
    )
    configure = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"]
    done = subprocess.run(configure, capture_output=True, text=True)
    assert (done.returncode == 0) == found, done.stderr
    if found:
        run("cmake", "--build", tmp_path / "build")
        assert run(tmp_path / "build/program") == "0.1.0\n"


def test_example_of_cmake(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not shutil.which("cmake") or not shutil.which("c++"):
        pytest.skip("cmake or a compiler of C++ is not installed")
    run("cmake", "-S", ROOT / "examples/cmake", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    for program in ("run_model", "run_model_cpp"):
        assert "-0.147191 0.209443" in run(tmp_path / program, ROOT / "tests/pt2/data/mlp.pt2")


def test_meson_wrap(tmp_path: pathlib.Path) -> None:
    """As a subproject it is found by the name of its dependency. Configured only: it is the same library."""
    if not shutil.which("meson"):
        pytest.skip("meson is not on the path")
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "meson.build").write_text(
        "project('program', 'c', default_options: ['ingot:tests=false', 'ingot:extension=disabled'])\n"
        "executable('program', 'program.c', dependencies: dependency('ingot'))\n"
    )
    (tmp_path / "subprojects").mkdir()
    (tmp_path / "subprojects/ingot").symlink_to(ROOT)
    shutil.copy(ROOT / "packaging/ingot.wrap", tmp_path / "subprojects")
    run("meson", "setup", tmp_path / "build", tmp_path, f"-Dingot:python={sys.executable}")
    targets = json.loads(run("meson", "introspect", "--targets", tmp_path / "build"))
    sources = {t["name"]: t["target_sources"] for t in targets}
    folders = [word for part in sources["program"] for word in part.get("parameters", [])]
    assert any(word.startswith("-I") and word.endswith("ingot/include") for word in folders), folders


CROSS_32 = """[binaries]
c = ['cc', '-m32']
ar = 'ar'
[properties]
skip_sanity_check = true
[host_machine]
system = 'linux'
cpu_family = 'x86'
cpu = 'i686'
endian = 'little'
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="-m32 is an option of compilers for x86-64")
def test_32_bit_systems_are_refused(tmp_path: pathlib.Path) -> None:
    """By a sentence, although the headers for such a system are not installed."""
    if not shutil.which("meson"):
        pytest.skip("meson is not on the path")
    (tmp_path / "m32.ini").write_text(CROSS_32)
    options = ["--cross-file", str(tmp_path / "m32.ini"), f"-Dpython={sys.executable}"]
    command = ["meson", "setup", str(tmp_path / "build"), str(ROOT), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Ingot needs a 64-bit system" in done.stdout
    assert "This compiler makes 32-bit code" in done.stdout


def include_of(version: str) -> str | None:
    """The headers of another Python, where it is installed with them."""
    command = [f"python{version}", "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    if not shutil.which(command[0]):
        return None
    folder = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return folder if folder and pathlib.Path(folder, "Python.h").exists() else None


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_the_module_compiles_for_other_pythons(version: str) -> None:
    if version == "{}.{}".format(*sys.version_info[:2]):
        pytest.skip("it is the one that the build is for")
    include = include_of(version)
    if include is None:
        pytest.skip(f"Python {version} is not installed with its headers")
    folders = [ROOT / "python", ROOT / "include", ROOT / "src", BUILD / "include", BUILD]
    sources = sorted((ROOT / "python").glob("*.c"))
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only", "-std=c11", "-D_GNU_SOURCE=1"]
    run("cc", *strict, *(f"-I{folder}" for folder in folders), f"-I{include}", *sources)
