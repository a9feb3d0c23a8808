# SPDX-License-Identifier: Apache-2.0
"""Programs of single calls: the captured graph and its Core ATen form print as PyTorch 2.5.1 (or 2.4.1) prints them.

Where sizes are symbolic the two versions number names differently, and 2.5.1 also clears nodes that nobody reads: both
are compared without numbers and clearing. recorded_known.json lists what still differs and why.
"""

import inspect
import re

import pytest

import ingot
from test_recorded import KNOWN, RECORDS, function, make_inputs

TEXTS = ("training_code", "core_code")
CASES = [(r, f) for f in TEXTS for r in RECORDS if f in r or f in r.get("errors", {})]


def module(record: dict) -> ingot.nn.Module:
    f = function(record)
    names = re.match(r"def f\((.*?)\)", record["source"])[1].split(", ")
    names = [n for n in names if n and n != "self"]
    scope = {"f": f}
    exec(f"def forward(self, {', '.join(names)}):\n    return f({', '.join(names)})", scope)
    return type("M", (ingot.nn.Module,), {"forward": scope["forward"]})()


def dims(record: dict, names: list[str]) -> dict | None:
    if not record["dynamic"]:
        return None
    made: dict = {}
    out: dict = dict.fromkeys(names)
    for part in record["dynamic"].split():
        place, _, what = part.partition("=")
        name, _, bounds = what.partition(":")
        low, _, high = bounds.partition("..")
        if name not in made:
            made[name] = ingot.export.Dim(name, **({"min": int(low), "max": int(high)} if bounds else {}))
        argument, _, dim = place.partition(".")
        out[argument] = {**(out[argument] or {}), int(dim): made[name]}
    return out


def capture(record: dict, field: str) -> str:
    m = module(record)
    args = tuple(make_inputs(record))
    names = list(inspect.signature(m.forward).parameters)
    shapes = dims(record, names)
    if field == "training_code":
        ep = ingot.export._trace._export_for_training(m, args, dynamic_shapes=shapes, strict=False)
        return ep.graph_module.code
    return ingot.export.export(m, args, dynamic_shapes=shapes, strict=False).run_decompositions().graph_module.code


def plain(code: str, numbers: bool) -> str:
    lines = [line.split(";  ")[0].rstrip() for line in code.strip().splitlines()]
    text = "\n".join(line for line in lines if not line.endswith(" = None"))
    return text if numbers else re.sub(r"\b([A-Za-z_]\w*?)_\d+\b", r"\1", text)


def same(found: str, expected: str, symbolic: bool) -> bool:
    return found.strip() == expected.strip() or plain(found, not symbolic) == plain(expected, not symbolic)


@pytest.mark.parametrize("record,field", CASES, ids=[f"{f}-{r['name']}" for r, f in CASES])
def test_text(record: dict, field: str) -> None:
    if record["name"] in KNOWN[field]:
        pytest.skip(KNOWN[field][record["name"]])
    failed = record.get("errors", {}).get(field)
    if failed:
        with pytest.raises(Exception) as caught:  # noqa: PT011 the class is compared by name below
            capture(record, field)
        assert type(caught.value).__name__ == failed["class"].rpartition(".")[2]
        assert failed["text"].splitlines()[0] in str(caught.value)
        return
    found = capture(record, field)
    expected = [record[field]] + [t for t in [record.get("second", {}).get(field)] if t]
    assert any(same(found, e, bool(record["dynamic"])) for e in expected), f"found\n{found}\nexpected\n{record[field]}"
