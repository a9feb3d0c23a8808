#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write src/op/aten.tsv from a table of ATen facts (ops.tsv, read out of PyTorch 2.5.1).

    tools/make_aten.py OPS_TSV > src/op/aten.tsv

One row per overload: op, schema, facts. Facts are letters: i implicit composite, c Core ATen, d decomposed by default,
v view, t taken apart whenever a program is traced below autograd, because Python implements it there.
"""
import csv
import sys

# Names that PyTorch registers only for TorchScript and that programs name all the same.
ALSO = ("aten::sym_size", "aten::sym_stride")
# Operators with a Python implementation for the Autograd key (OpOverload.py_kernels).
AUTOGRAD = (
    "aten::hardshrink", "aten::softshrink", "aten::multi_margin_loss", "aten::multilabel_margin_loss_forward",
    "aten::upsample_bilinear2d", "aten::upsample_bicubic2d",
)  # fmt: skip
# Operators of later releases, with their facts.
NEWER = (
    (
        "aten::rrelu_with_noise_functional",
        "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
        "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
        "d",
    ),
)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    lines = list(NEWER)
    for row in rows:
        scripted = row["kind"] == "TorchScript" and row["op"] not in ALSO
        if not row["op"].startswith("aten::") or scripted:
            continue
        facts = {
            "i": row["kind"] in ("CompositeImplicitAutograd", "TorchScript"),
            "c": row["is_core_aten"] == "1",
            "d": row["has_default_decomp"] == "1",
            "v": row["is_view"] == "1",
            "t": row["py_composite_implicit"] == "1" or row["op"] in AUTOGRAD,
        }
        lines.append((row["op"], row["schema"], "".join(k for k, on in facts.items() if on)))
    print("op\tschema\tfacts")
    for line in sorted(lines):
        print("\t".join(line))


main()
