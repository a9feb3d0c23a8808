# SPDX-License-Identifier: Apache-2.0
"""Explanations of errors: every example in the table is run, and raises what it says under the code it has."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import ingot
from ingot import _C

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODES = _C._explanation_codes()
# Runs example.py and prints what it raised.
RUNNER = """
import json
try:
    exec(compile(open("example.py").read(), "example.py", "exec"), {"__name__": "__main__"})
except Exception as error:
    notes = getattr(error, "__notes__", [])
    print("raised " + json.dumps([getattr(error, "ingot_code", None), str(error), notes]))
"""
NUMBER = re.compile(r"\d+")  # bytes in use and positions in files differ between machines and versions of NumPy


@pytest.mark.parametrize("code", CODES)
def test_example_raises_its_message(code: str, tmp_path: pathlib.Path) -> None:
    row = ingot.explain(code)
    if "RLIMIT_AS" in row.example and "INGOT_SANITIZED" in os.environ:
        pytest.skip("the sanitizers need the address space")
    (tmp_path / "example.py").write_text(row.example)
    done = subprocess.run([sys.executable, "-c", RUNNER], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    raised = [line for line in done.stdout.splitlines() if line.startswith("raised ")]
    assert raised, f"nothing is raised:\n{done.stdout}{done.stderr}"
    found, message, notes = json.loads(raised[0].removeprefix("raised "))
    assert found == code, message
    assert NUMBER.sub("0", message) == NUMBER.sub("0", row.message)
    assert f'ingot.explain("{code}") tells more' in notes
    assert code not in message


def test_table_is_complete() -> None:
    assert list(CODES) == sorted(set(CODES))
    for code in CODES:
        row = ingot.explain(code)
        assert all(row), f"{code}: a text is missing"
        assert "\n" not in row.title
        assert not row.title.endswith(".")
        for text in (row.cause, row.remedy):
            assert text.endswith(".")
            assert all(p == p.strip() and "\n" not in p for p in text.split("\n\n")), f"{code}: line breaks"
        assert all(len(line) <= 120 for line in row.example.splitlines()), f"{code}: long lines"


def test_codes_are_found_in_any_spelling() -> None:
    assert ingot.explain("ig103") == ingot.explain("103") == ingot.explain("0103") == ingot.explain("IG0103")
    for wrong in ("", "IG", "IG9999", "IG0103x", "x", "IG-103", "99999999999"):
        with pytest.raises(ValueError, match="is not the code of an error"):
            ingot.explain(wrong)


def test_exceptions_are_explained() -> None:
    with pytest.raises(OSError, match="missing.pt2") as caught:
        ingot.open("missing.pt2")
    assert ingot.explain(caught.value).code == "IG0505"
    with pytest.raises(ValueError, match="this KeyError has no code"):
        ingot.explain(KeyError("x"))


def test_text_is_wrapped() -> None:
    text = str(ingot.explain("IG0103"))
    assert text.startswith("IG0103: the zip archive is damaged\n\n")
    prose = [line for line in text.splitlines() if not line.startswith("    ")]
    assert max(map(len, prose)) <= 100
    assert "    torch.export.load" in text


def test_scripts_keep_the_codes_of_their_errors() -> None:
    """Errors that are worded again are still the same errors."""

    @ingot.jit.script
    def f(x):
        for _ in range(1000000):
            x = x + 1
        return x

    with ingot.limits.limited(max_work=1000), pytest.raises(RuntimeError, match="units of work") as caught:
        f(ingot.ones(2))
    assert caught.value.ingot_code == "IG0503"
