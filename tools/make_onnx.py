#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write src/onnx/ops.tsv: what the onnx package knows of every version of every operator.

    python tools/make_onnx.py > src/onnx/ops.tsv        (in an environment with onnx)

The first line names the release it was read out of, its IR version and newest opsets. Then one row per version of an
operator: domain (empty: the default one), name, first opset, deprecated (d or nothing), counts of inputs and
outputs ("1-3", "1-" without end), inputs, outputs, attributes, type constraints. A set of types is named once, in a row
of its own that begins with "=", and referred to by that name.
"""
import onnx
from onnx import helper
from onnx.defs import get_all_schemas_with_history


def span(low: int, high: int) -> str:
    return f"{low}-" if high >= 2**31 - 1 else f"{low}-{high}"


def formal(parameters) -> str:  # type: ignore[no-untyped-def]
    marks = {"single": "", "optional": "?", "variadic": "*"}
    out = []
    for p in parameters:
        mark = marks[str(p.option).split(".")[-1].lower()]
        out.append(f"{p.name}{mark}{'' if p.is_homogeneous else '~'}:{p.type_str}")
    return ";".join(out)


def default(attribute) -> str:  # type: ignore[no-untyped-def]
    value = attribute.default_value
    if value is None or value.type == onnx.AttributeProto.UNDEFINED:
        return ""
    got = helper.get_attribute_value(value)
    if isinstance(got, bytes):
        return "=" + got.decode()
    if isinstance(got, (list, tuple)):
        return "=" + ",".join(g.decode() if isinstance(g, bytes) else str(g) for g in got)
    return "=" + (repr(float(f"{got:.9g}")) if isinstance(got, float) else str(got))


def attributes(schema) -> str:  # type: ignore[no-untyped-def]
    out = []
    for name in sorted(schema.attributes):
        a = schema.attributes[name]
        text = default(a)
        if ";" in text or "\t" in text or "\n" in text:
            raise ValueError(f"{schema.name}.{name}: default {text!r} needs another separator")
        out.append(f"{name}{'!' if a.required else ''}:{str(a.type).split('.')[-1]}{text}")
    return ";".join(out)


def main() -> None:
    release, ir, *opsets = helper.VERSION_TABLE[-1][:5]
    print("\t".join((f"# onnx {release}", f"ir {ir}", f"ai.onnx {opsets[0]}", f"ai.onnx.ml {opsets[1]}")))
    sets: dict[str, str] = {}
    rows = []
    for s in get_all_schemas_with_history():
        bounds = []
        for c in sorted(s.type_constraints, key=lambda c: c.type_param_str):
            types = "|".join(sorted(t.replace(", ", ",") for t in c.allowed_type_strs))
            bounds.append(f"{c.type_param_str}={sets.setdefault(types, f'={len(sets)}')[1:]}")
        rows.append((s.domain, s.name, s.since_version, "d" if s.deprecated else "", span(s.min_input, s.max_input),
                     span(s.min_output, s.max_output), formal(s.inputs), formal(s.outputs), attributes(s),
                     ";".join(bounds)))
    for types, name in sets.items():
        print(f"{name}\t{types}")
    for row in sorted(rows):
        print("\t".join(map(str, row)))


main()
