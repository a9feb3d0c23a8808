# SPDX-License-Identifier: Apache-2.0
"""What help() shows of an operator: signature, text and an example, made from its schemas and samples."""

from __future__ import annotations

import inspect
import re
from typing import Any

_ARGUMENT = re.compile(r"(?P<type>[A-Za-z]+)(\([a-z!*>| -]+\))?(?P<list>\[\d*\])?(?P<none>\?)? (?P<name>\w+)(=(?P<default>.+))?$")
_KINDS = {"Tensor": "Tensor", "Scalar": "Number", "SymInt": "int", "str": "str", "ScalarType": "dtype",
          "Layout": "layout", "Device": "device", "MemoryFormat": "memory_format", "Generator": "Generator",
          "int": "int", "float": "float", "bool": "bool", "complex": "complex"}  # fmt: skip
_SAMPLE = re.compile(r"(?P<kind>f|i|u|b|c|bf)(?P<bits>\d+)?\[(?P<size>[\d,]*)\]$")


def _parts(text: str, separator: str = ",") -> list[str]:
    """Split outside of brackets and quotes."""
    found, depth, start, quoted = [], 0, 0, False
    for i, ch in enumerate(text):
        quoted ^= ch in "\"'"
        depth += 0 if quoted else (ch in "([") - (ch in ")]")
        if ch == separator and depth == 0 and not quoted:
            found.append(text[start:i].strip())
            start = i + 1
    return [p for p in [*found, text[start:].strip()] if p]


def _type(match: re.Match) -> str:
    kind = _KINDS.get(match["type"], "object")
    if match["list"] is not None:
        kind = f"Sequence[{kind}]"
    return f"{kind} | None" if match["none"] else kind


def _default(text: str | None) -> Any:
    words = {"None": None, "True": True, "False": False}
    if text is None:
        return inspect.Parameter.empty
    if text in words:
        return words[text]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return [] if text == "[]" else text.strip("\"'")


def arguments(schema: str) -> list[inspect.Parameter]:
    """The arguments of a schema as Python writes them."""
    inner = schema[schema.index("(") + 1 : schema.rindex(" -> ") - 1]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found = []
    for part in _parts(inner):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        match = _ARGUMENT.match(part)
        if match:
            name = "input" if match["name"] == "self" and not found else match["name"]
            name += "_" if name in ("from", "lambda", "in") else ""
            found.append(inspect.Parameter(name, kind, default=_default(match["default"]), annotation=_type(match)))
    return found


def result(schema: str) -> str:
    """The type of what a schema returns."""
    text = schema[schema.rindex(" -> ") + 4 :].strip()
    rets = _parts(text[1:-1]) if text.startswith("(") else [text]
    kinds = []
    for ret in rets:
        match = _ARGUMENT.match(ret + " r" if " " not in ret else ret)
        kinds.append(_type(match).replace("Sequence", "list") if match else "object")
    if not kinds:
        return "None"
    return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def signature(schemas: list[Any]) -> inspect.Signature:
    """Of the overload that is tried first; defaults may follow in any order, so keywords come where Python needs them."""
    first = str(schemas[0])
    parameters = arguments(first)
    optional = False
    for i, p in enumerate(parameters):
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            if optional and p.default is p.empty:
                parameters[i] = p.replace(default=None)
            optional = optional or p.default is not p.empty
    return inspect.Signature(parameters, return_annotation=result(first))


def _sample_value(text: str) -> str | None:
    match = _SAMPLE.match(text)
    if match is None:
        return text if re.match(r"^(-?[\d.]+|\[[-\d, ]*\]|True|False|None|\"\w*\")$", text) else None
    size = ", ".join(match["size"].split(",")) if match["size"] else ""
    if match["kind"] in "fbc":
        dtype = {"f32": "", "f64": ", dtype=ingot.float64"}.get(f"{match['kind']}{match['bits']}")
        return None if dtype is None else f"ingot.randn({size or '()'}{dtype})"
    return f"ingot.zeros({size or '()'}, dtype=ingot.int64)" if match["kind"] + (match["bits"] or "") == "i64" else None


def example(name: str, samples: str | None) -> str | None:
    """A call with the operands of the first sample that Python can write in one line."""
    for sample in _parts(samples or "", "|"):
        values = []
        for part in _parts(sample):
            key, equals, value = part.partition("=")
            made = _sample_value(value if equals else part)
            values.append(None if made is None else f"{key}={made}" if equals else made)
        if values and None not in values:
            return f">>> ingot.{name}({', '.join(values)})"
    return None


def document(name: str, schemas: list[Any], samples: str | None) -> str:
    """The text of help()."""
    calls = []
    for schema in map(str, schemas):
        parameters = arguments(schema)
        shown = [f"{p.name}={p.default!r}" if p.default is not p.empty else p.name for p in parameters]
        named = next((i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
        if named is not None:
            shown.insert(named, "*")
        calls.append(f"    {name}({', '.join(shown)}) -> {result(schema)}")
    lines = [f"The operator aten::{name}, as torch.{name} in PyTorch.", "", "Overloads:", *dict.fromkeys(calls)]
    call = example(name, samples)
    if call:
        lines += ["", "Example:", f"    {call}"]
    return "\n".join(lines)
