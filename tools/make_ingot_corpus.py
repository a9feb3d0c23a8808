# SPDX-License-Identifier: Apache-2.0
"""Write the corpus of the fuzz target `ingot`: small compiled models, packed for the baseline instruction set.

    INGOT_CPU=base python tools/make_ingot_corpus.py [FOLDER]
"""

import os
import pathlib
import sys
import tempfile

import ingot
from ingot import nn


def main() -> None:
    if os.environ.get("INGOT_CPU") != "base":
        raise SystemExit("set INGOT_CPU=base: the corpus is for every machine")
    here = pathlib.Path(__file__).resolve().parent
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here.parent / "tests/fuzz/corpus/ingot")
    ingot.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 1)).eval()
    rows = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4)).eval()
    models = {"images": (net, (ingot.rand(1, 4, 6, 6),)), "rows": (rows, (ingot.rand(8, 8),))}
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, args) in models.items():
            ingot.export.save(ingot.export.export(model, args), f"{folder}/{name}.pt2")
            ingot.onnx.export(model, args, dynamo=True, verify=False).save(f"{folder}/{name}.onnx")
            for kind in ("pt2", "onnx"):
                ingot.compile_file(f"{folder}/{name}.{kind}", out / f"{name}.{kind}.ingot", *args)
        ingot.export.save(ingot.export.export(rows, (ingot.rand(1, 8),)), f"{folder}/few.pt2")
        ingot.compile_file(f"{folder}/few.pt2", out / "few.pt2.ingot")
        for kind in ("bf16", "f16", "int8", "int4", "dynamic_int8"):
            ingot.compile_file(f"{folder}/few.pt2", out / f"{kind}.pt2.ingot", precision=kind)


main()
