# SPDX-License-Identifier: Apache-2.0
"""Errors of export, word by word, from golden_errors.txt."""

import linecache
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import ingot as torch
from ingot.export import Dim, export

PATH = pathlib.Path(__file__).parent / "golden_errors.txt"


def read() -> Iterator[tuple[str, str, str]]:
    """(name, program, "class\\ntext") per case."""
    for block in ("\n" + PATH.read_text()).split("\n=== ")[1:]:
        head, _, rest = block.partition("\n")
        source, _, want = rest.partition("\n--- ")
        yield head, source, want.removesuffix("\n")


CASES = list(read())


def error_of(name: str, source: str) -> str:
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"torch": torch, "Dim": Dim, "export": export}
    asserts = torch._dynamo.config.do_not_emit_runtime_asserts
    try:
        exec(compile(source, file, "exec"), space)
    except Exception as error:
        return f"{type(error).__name__}\n{error}"
    finally:
        torch._dynamo.config.do_not_emit_runtime_asserts = asserts
    return "no error"


def write() -> None:
    head = PATH.read_text().split("\n=== ")[0] + "\n"
    blocks = [f"=== {name}\n{source.strip()}\n--- {error_of(name, source)}\n" for name, source, _ in CASES]
    PATH.write_text(head + "".join(blocks))


if os.environ.get("INGOT_GOLDEN") == "write":
    write()


@pytest.mark.parametrize(("name", "source", "want"), CASES, ids=[case[0] for case in CASES])
def test_text(name: str, source: str, want: str) -> None:
    assert error_of(name, source).rstrip("\n") == want.rstrip("\n")


CATALOGUE = {
    "UserError": [
        "not in range",
        "Constraints violated",
        "satisfy the generated guard",
        "Suggested fixes:",
        "must always be related to the values of",
        "to be equal to dimx + 1, where dimx = 5, but got",
        "to be of the form 2*dimx, where dimx is an integer",
        "Specializations unexpectedly required",
        "must be specialized to",
        "Static shape constraint of",
        "Found different definitions",
        "Cannot mark 0-dimension tensors to be dynamic",
        "to be in the range [0:1]",
        "Expected tensor as input to dynamic_dim",
        "Could not guard on data-dependent expression",
        "Tried to use data-dependent value in the subsequent computation",
    ],
    "ConstraintViolationError": ["not in range", "Static shape constraint of"],
    "GuardOnDataDependentSymNode": ["Could not guard on data-dependent expression"],
    "Unsupported": ["TorchDynamo purposely graph breaks on RNN, GRU, LSTMs"],
    "RuntimeError": [
        "to be equal to",
        "to be >=",
        "to be <=",
        "to be of the form 2*s1, where s1 is an integer",
        "Expected input at *args[1] to be equal to 5, but got 6",
        "to be equal to 5.0, but got",
        "Invalid value range for",
        "Runtime assertion failed for expression",
        "Expected cond to be True, but got False",
        "cannot mutate tensors with frozen storage",
        "is a mutating/aliasing op",
        "is not CompositeImplicitAutograd op, so we will preserve it as",
        "is a metadata query function",
        "as a functional op statically",
    ],
    "ValueError": ["Trying to flatten user inputs"],
    "NotImplementedError": ["Calling train() is not supported yet.", "Calling eval() is not supported yet."],
}


@pytest.mark.parametrize("kind", CATALOGUE)
def test_catalogue(kind: str) -> None:
    """Each kind of error that the specification names has a case with its words."""
    texts = [want.split("\n", 1)[1] for _, _, want in CASES if want.split("\n")[0] == kind]
    assert [words for words in CATALOGUE[kind] if not any(words in text for text in texts)] == []
