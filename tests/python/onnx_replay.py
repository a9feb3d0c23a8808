# SPDX-License-Identifier: Apache-2.0
"""Writes recorded programs as ONNX and runs the models on the programs' own inputs: by onnxruntime and by Ingot. Run as
a program: `onnx_replay.py RECORDS` prints a JSON object name -> verdict: "ok", "refused: why", "no program: why" or
"wrong: what"."""

import gzip
import json
import os
import sys

import numpy
import onnx
import onnxruntime

from program_replay import in_child, load

import torch  # isort: skip  # means Ingot: program_replay saw to that

RANDOM = ("rand", "dropout", "bernoulli", "normal", "empty")


def near(found, wanted):
    if len(found) != len(wanted):
        return f"{len(found)} outputs, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        a, b = (numpy.asarray(v.detach().numpy() if isinstance(v, torch.Tensor) else v) for v in (a, b))
        if a.shape != b.shape:
            return f"output {i} has shape {a.shape}, expected {b.shape}"
        if not numpy.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True):
            return f"output {i} differs"
    return None


def verdict(record):
    try:
        ns = load(record["source"])
        args, kwargs = ns.get("args", ()), ns.get("kwargs") or {}
        ep = torch.export.export(ns["M"](), args, kwargs, dynamic_shapes=ns.get("dynamic_shapes"), strict=False)
    except Exception as error:
        return f"no program: {str(error).splitlines()[0][:100] if str(error) else type(error).__name__}"
    program = torch.onnx.ONNXProgram(ep)
    try:
        model = onnx.load_model_from_string(program.model_bytes)
    except NotImplementedError as error:
        return f"refused: {str(error)[:200]}"
    onnx.checker.check_model(model, full_check=True)
    _ = program.adapt_torch_inputs_to_onnx(*args, **kwargs)
    wanted = program._run_program(program._fed)
    if any(word in str(ep.graph) for word in RANDOM):
        return "ok"
    for engine in ("ingot", "onnxruntime"):
        program.runtime = engine
        try:
            found = program(*args, **kwargs)
        except Exception as error:
            if engine == "onnxruntime" and "NOT_IMPLEMENTED" in str(error):
                continue  # it lacks a kernel, bfloat16 say; Ingot has run the model
            raise
        wrong = near(found, wanted)
        if wrong:
            return f"wrong: {engine}: {wrong}"
    return "ok"


def checked(record):
    try:
        return {"verdict": verdict(record)}
    except Exception as error:
        return {"verdict": f"wrong: {type(error).__name__}: {str(error)[:300]}"}


def main(path):
    onnxruntime.set_default_logger_severity(4)
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        records = {}
        for text in file:
            record = json.loads(text)
            records.setdefault(record["name"], record)
    out = {}
    for name, record in records.items():
        found = in_child(lambda: checked(record))  # noqa: B023
        out[name] = found.get("verdict", f"wrong: {found}")
    print(json.dumps(out))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1])
