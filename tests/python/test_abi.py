# SPDX-License-Identifier: Apache-2.0
"""The binary interface of the shared library: what the list of the series (packaging/abi) has is still there, every
declared function is exported under a version and nothing else is; the check itself notices what breaks programs."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
LIBRARY = BUILD / "libingot.so"

sys.path.insert(0, str(ROOT / "tools"))
import abi  # noqa: E402

needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="the shared library is not built")


def version() -> str:
    text = (ROOT / "include/ingot/version.h").read_text()
    return text.split('#define IG_VERSION "')[1].split('"')[0]


@needs_library
def test_nothing_of_the_series_is_lost():
    script = [sys.executable, ROOT / "tools/abi.py", "check", LIBRARY, version(), ROOT / "include", BUILD / "include"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_library
def test_exported_names_are_the_declared_ones():
    headers = (ROOT / "include/ingot").glob("*.h")
    declared = set().union(*(abi.functions(path.read_text()) for path in headers))
    exported = abi.exported(str(LIBRARY))
    assert set(exported) == declared
    assert set(exported.values()) == {f"INGOT_{abi.series(version())}"}


def test_structs_of_options_begin_with_their_size():
    found = {}
    for path in (ROOT / "include/ingot").glob("*.h"):
        found |= abi.structs(path.read_text())
    options = {name: fields for name, fields in found.items() if name.endswith(("_options", "_args", "_limits"))}
    assert len(options) > 15
    assert [name for name, fields in options.items() if fields[0] != "size"] == []


@needs_library
def test_the_list_of_the_series_is_complete():
    """A release records its list. Until then the list grows with the headers, so that nothing new goes unwatched."""
    folders = [str(ROOT / "include"), str(BUILD / "include")]
    now = abi.exported(str(LIBRARY)) | abi.layouts(folders)
    listed = abi.read_list(ROOT / "packaging/abi" / f"{abi.series(version())}.txt")
    assert sorted(set(now) - set(listed)) == [], "tools/abi.py record writes the list"


def test_series():
    assert [abi.series(v) for v in ("0.1.0", "0.12.3", "1.0.0", "2.5.1")] == ["0.1", "0.12", "1", "2"]


@pytest.mark.parametrize(
    "now, message",
    [
        ({"ig_f": "INGOT_1", "struct a": "16 bytes; size 0+8; x 8+8"}, None),
        ({"ig_f": "INGOT_1", "ig_g": "INGOT_1", "struct a": "24 bytes; size 0+8; x 8+8; y 16+8"}, None),
        ({"struct a": "16 bytes; size 0+8; x 8+8"}, "ig_f is gone"),
        ({"ig_f": "INGOT_2", "struct a": "16 bytes; size 0+8; x 8+8"}, "ig_f was INGOT_1, is INGOT_2"),
        ({"ig_f": "INGOT_1", "struct a": "16 bytes; size 0+8; y 8+8"}, "struct a was"),
        ({"ig_f": "INGOT_1", "struct a": "24 bytes; size 0+8; y 8+8; x 16+8"}, "struct a was"),
        ({"ig_f": "INGOT_1", "struct a": "8 bytes; size 0+8"}, "struct a was"),
    ],
)
def test_what_breaks_programs_is_noticed(now: dict[str, str], message: str | None):
    old = {"ig_f": "INGOT_1", "struct a": "16 bytes; size 0+8; x 8+8"}
    found = abi.lost(old, now)
    assert (found == []) if message is None else (len(found) == 1 and found[0].startswith(message))


def test_a_struct_without_its_size_must_not_grow():
    assert abi.lost({"struct a": "8 bytes; x 0+8"}, {"struct a": "16 bytes; x 0+8; y 8+8"})


def test_names_keep_the_version_of_their_first_list(tmp_path: pathlib.Path):
    header = tmp_path / "a.h"
    header.write_text("IG_API int ig_old(void);\nIG_API IG_MUST_USE const char *ig_new(\n    int x);\n")
    old = tmp_path / "1.txt"
    old.write_text("# a list\nig_old: INGOT_1\nstruct a: 8 bytes; x 0+8\n")
    assert abi.version_script("2.0.0", [str(header), str(old)]).split() == (
        "INGOT_1 { global: ig_old; }; INGOT_2 { global: ig_new; local: *; };".split()
    )


def test_fields_of_structs():
    text = """typedef struct ig_a {
  int x, y[3];
  void (*fn)(int a, int b);
  const char *const *names;  // of; them
  IG_EXTENSION union {
    double f;
    struct {
      int at;
      int n;
    } list;
  };
} ig_a;
"""
    assert abi.structs(text) == {"ig_a": ["x", "y", "fn", "names", "f", "list"]}
