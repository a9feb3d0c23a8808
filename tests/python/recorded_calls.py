# SPDX-License-Identifier: Apache-2.0
"""The inputs of recorded calls, as the recorder made them. `torch` is whatever stands for it."""

import gzip
import json
import math
import pathlib

import numpy as np

DTYPES = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "u8": "uint8", "b": "bool", "c64": "complex64", "c128": "complex128",
}  # fmt: skip


def draw(rs, spec):
    """The flat elements of one input."""
    n = math.prod(spec["shape"])
    how, dtype = spec["how"], spec["dtype"]
    if dtype == "b":
        return rs.randint(0, 2, n).astype(bool)
    if dtype[0] in "iu":
        if how == "perm":
            return rs.permutation(n)
        low, high = map(int, how[1:].split("..")) if how.startswith("%") else (0, 10)
        v = rs.randint(low, high, n)
        return np.sort(v) if how == "sort" else v
    v = rs.standard_normal(n)
    if dtype[0] == "c":
        return v + 1j * rs.standard_normal(n)
    if how in ("u", "s"):
        v = rs.random_sample(n)
        return v * 1.8 - 0.9 if how == "s" else v
    if how in ("+", ">1"):
        return np.abs(v) + (0.1 if how == "+" else 1.1)
    if how == "sort":
        return np.sort(v)
    if how == "spd":
        k = spec["shape"][-1]
        a = v.reshape(-1, k, k)
        return (a @ a.transpose(0, 2, 1) + k * np.eye(k)).reshape(-1)
    if how == "special":
        v[::4], v[1::4], v[2::8] = np.nan, np.inf, -np.inf
    return v


def make_inputs(record, torch):
    rs = np.random.RandomState(record["seed"])
    inputs = []
    for spec in record["inputs"]:
        t = torch.from_numpy(np.ascontiguousarray(draw(rs, spec))).reshape(spec["shape"])
        t = t.to(getattr(torch, DTYPES[spec["dtype"]])).clone()
        if spec["how"] == "T":
            t = t.transpose(-1, -2)
        if spec["how"] == "cl":
            t = t.contiguous(memory_format=torch.channels_last)
        inputs.append(t)
    return tuple(inputs)


def load_records():
    """One record per call; of those that were recorded with several releases, the first."""
    path = pathlib.Path(__file__).parent / "recorded_ops.json.gz"
    every = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    return list({record["name"]: record for record in reversed(every)}.values())[::-1]
