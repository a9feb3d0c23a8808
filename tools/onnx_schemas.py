#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the C tables of ONNX operators for src/onnx/schema.c, from src/onnx/ops.tsv.

Names lie in one pool of text and are referred to by offset, equal lists of parameters and attributes are one, so that
the tables need no relocation and take about 40 kB.
"""
import re
import sys

ELEMENTS = ("float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
            "bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 "
            "int2 float6e2m3 float6e3m2").split()
SHAPES = ("tensor", "seq(tensor", "optional(tensor", "optional(seq(tensor")
MAPS = ("map(int64,double)", "map(int64,float)", "map(int64,string)", "map(string,double)", "map(string,float)",
        "map(string,int64)", "seq(map(int64,float))", "seq(map(string,float))")
KINDS = ("FLOAT INT STRING TENSOR GRAPH FLOATS INTS STRINGS TENSORS GRAPHS SPARSE_TENSOR SPARSE_TENSORS TYPE_PROTO "
         "TYPE_PROTOS").split()
OPTIONS = {"": 0, "?": 1, "*": 2}
ENDLESS = 0xFFFF


class Pool:
    """Things numbered in order of first use; a list is one thing."""

    def __init__(self) -> None:
        self.at: dict[tuple[str, ...], int] = {(): 0}
        self.rows: list[str] = []

    def put(self, rows: list[str]) -> int:
        key = tuple(rows)
        if key not in self.at:
            self.at[key] = len(self.rows)
            self.rows += rows
        return self.at[key]


class Text:
    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        self.size = 0

    def put(self, text: str) -> int:
        if text not in self.at:
            self.at[text] = self.size
            self.size += len(text.encode()) + 1
        return self.at[text]


def type_set(text: str) -> str:
    masks = [0, 0, 0, 0]
    maps = 0
    for one in text.split("|"):
        if one in MAPS:
            maps |= 1 << MAPS.index(one)
            continue
        shape, _, element = one.rpartition("(")
        masks[SHAPES.index(shape)] |= 1 << (ELEMENTS.index(element.rstrip(")")) + 1)
    return "{{" + ", ".join(f"0x{m:x}" for m in masks) + f"}}, 0x{maps:x}}}"


def main() -> None:
    head, *lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
    text, types, params, attrs, bounds = Text(), Pool(), Pool(), Pool(), Pool()
    text.put("")
    sets = {}
    schemas = []

    def span(s: str) -> str:
        low, high = s.split("-")
        return f"{low}, {high or ENDLESS}"

    def parameters(s: str, names: list[str]) -> tuple[int, int]:
        out = []
        for one in filter(None, s.split(";")):
            name, mark, mixed, kind = re.fullmatch(r"([^?*~:]*)([?*]?)(~?):(.*)", one).groups()
            var = names.index(kind) if kind in names else 0xFF
            which = 0 if var != 0xFF else types.put([type_set(kind.replace(", ", ","))])
            out.append(f"{{{text.put(name)}, {OPTIONS[mark]}, {int(bool(mixed))}, {var}, {which}}}")
        return params.put(out), len(out)

    for line in lines:
        cells = line.split("\t")
        if line.startswith("="):
            sets[cells[0][1:]] = types.put([type_set(cells[1])])
            continue
        domain, name, since, old, ins, outs, inputs, outputs, attributes, limits = cells
        pairs = [b.split("=") for b in filter(None, limits.split(";"))]
        names = [b[0] for b in pairs]
        bound = bounds.put([f"{{{text.put(n)}, {sets[s]}}}" for n, s in pairs])
        put = []
        for one in filter(None, attributes.split(";")):
            attr, need, kind, default = re.fullmatch(r"([^!:]*)(!?):(\w+)(?:=(.*))?", one).groups()
            given = 0 if default is None else text.put(default)
            put.append(f"{{{text.put(attr)}, {given}, {KINDS.index(kind) + 1}, {int(bool(need))}}}")
        in0, nin = parameters(inputs, names)
        out0, nout = parameters(outputs, names)
        order = (domain, name, int(since))
        row = (text.put(domain), text.put(name), since, int(bool(old)), nin, nout, len(put), len(pairs), span(ins),
               span(outs), in0, out0, attrs.put(put), bound)
        schemas.append((order, "{" + ", ".join(map(str, row)) + "}"))
    newest = dict(re.findall(r"(\S+) (\d+)(?:\t|$)", head))
    for name, key in (("IR", "ir"), ("OPSET", "ai.onnx"), ("ML", "ai.onnx.ml")):
        print(f"enum {{ IG_ONNX_NEWEST_{name} = {newest[key]} }};")
    # Numbers: a string literal of this length is more than a compiler must take.
    print(f"static const char pool[{text.size}] = {{")
    print("\n".join("    " + "".join(f"{b}, " for b in t.encode()) + f"0,  // {t}" for t in text.at) + "\n};")
    for name, kind, pool in (("type_sets", "ig_onnx_types", types), ("parameters", "ig_onnx_param", params),
                             ("attributes", "ig_onnx_attr_schema", attrs), ("bounds", "ig_onnx_bound", bounds)):
        print(f"static const {kind} {name}[] = {{\n" + ",\n".join("    " + r for r in pool.rows) + "};")
    print("static const ig_onnx_schema schemas[] = {\n" + ",\n".join("    " + r for _, r in sorted(schemas)) + "};")


main()
