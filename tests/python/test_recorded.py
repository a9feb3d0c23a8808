# SPDX-License-Identifier: Apache-2.0
"""Recorded calls of the real PyTorch: the same source with Ingot as torch gives the same values, gradients and errors.

recorded_ops.json.gz is made by tools/make_recorded.py.
"""

import builtins
import gzip
import json
import math
import pathlib

import pytest

import ingot
import ingot.nn.functional as F

np = pytest.importorskip("numpy")

RECORDS = json.loads(gzip.decompress((pathlib.Path(__file__).parent / "recorded_ops.json.gz").read_bytes()))
DTYPES = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "u8": "uint8", "b": "bool", "c64": "complex64", "c128": "complex128",
}  # fmt: skip
TOLERANCE = {"float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float64": (1e-7, 1e-9), "complex128": (1e-7, 1e-9)}
# Elements that nobody set, or that PyTorch draws with another library's generator (dropout).
UNSET = {"dropout", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
# What still differs, with the reason, by field and name of the record.
KNOWN = json.loads((pathlib.Path(__file__).parent / "recorded_known.json").read_text())


def draw(rs: "np.random.RandomState", spec: dict) -> "np.ndarray":
    """The flat elements of one input, as the recorder drew them."""
    n = math.prod(spec["shape"])
    how, dtype = spec["how"], spec["dtype"]
    if dtype == "b":
        return rs.randint(0, 2, n).astype(bool)
    if dtype[0] in "iu":
        if how == "perm":
            return rs.permutation(n)
        low, high = map(int, how[1:].split("..")) if how.startswith("%") else (0, 10)
        return rs.randint(low, high, n)
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


def make_inputs(record: dict) -> list[ingot.Tensor]:
    rs = np.random.RandomState(record["seed"])
    inputs = []
    for spec in record["inputs"]:
        t = ingot.from_numpy(draw(rs, spec).reshape(spec["shape"])).to(getattr(ingot, DTYPES[spec["dtype"]]))
        if spec["how"] == "T":
            t = t.transpose(-1, -2)
        if spec["how"] == "cl":
            t = t.contiguous(memory_format=ingot.channels_last)
        inputs.append(t)
    return inputs


def function(record: dict):
    scope = {"torch": ingot, "F": F}
    exec(record["source"], scope)
    made = scope["f"]
    names = record["source"].partition("(")[2].partition(")")[0]
    return (lambda *args: made(None, *args)) if names.startswith("self") else made


def flat(values) -> list:
    if isinstance(values, list):
        return [x for v in values for x in flat(v)]
    return [float(values)] if isinstance(values, str) else [values]


def numbers(t: ingot.Tensor) -> list[float]:
    t = t.detach().resolve_conj() if hasattr(t, "resolve_conj") else t.detach()
    if t.dtype.is_complex:
        t = ingot.view_as_real(t)
    return [float(x) for x in t.to(ingot.float64).flatten().tolist()]


def close(found: list[float], expected: list[float], dtype: str, scale: float = 1.0) -> bool:
    rtol, atol = TOLERANCE.get(dtype, (1e-5, 1e-6))

    def same(a: float, b: float) -> bool:
        return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= scale * (atol + rtol * abs(b))

    return len(found) == len(expected) and all(map(same, found, expected))


def compare(found, expected, where: str, values: bool = True) -> None:
    if isinstance(expected, list):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected), where
        for i, (a, b) in enumerate(zip(found, expected)):
            compare(a, b, f"{where}[{i}]", values)
        return
    if not isinstance(expected, dict):
        near = isinstance(expected, float)
        assert found == (pytest.approx(expected, rel=1e-5, abs=1e-6, nan_ok=True) if near else expected), where
        return
    assert str(found.dtype).rpartition(".")[2] == expected["dtype"], where
    assert list(found.shape) == expected["shape"], where
    if not values:
        return
    mine = numbers(found)
    if "values" in expected:
        assert close(mine, [float(x) for x in flat(expected["values"])], expected["dtype"]), where
        return
    width = 2 if found.dtype.is_complex else 1
    for key, part in (("head", mine[: 4 * width]), ("tail", mine[-4 * width :])):
        assert close(part, [float(x) for x in flat(expected[key])], expected["dtype"]), f"{where}: {key}"
    if width == 1:
        size = sum(abs(x) for x in mine)
        weighted = sum(x * (i % 7 + 1) for i, x in enumerate(mine))
        for key, total in (("sum", sum(mine)), ("abs_sum", size), ("weighted_sum", weighted)):
            assert close([total], [float(expected[key])], expected["dtype"], 1 + size), f"{where}: {key}"


def loss(out) -> ingot.Tensor | None:
    parts = []
    for t in out if isinstance(out, (list, tuple)) else [out]:
        if isinstance(t, (list, tuple)):
            parts.append(loss(t))
        elif isinstance(t, ingot.Tensor) and t.requires_grad:
            t = ingot.view_as_real(t) if t.dtype.is_complex else t
            w = (ingot.arange(t.numel()) % 7 + 1).reshape(t.shape).to(t.dtype)
            parts.append((t * w).sum())
    parts = [p for p in parts if p is not None]
    return sum(parts[1:], parts[0]) if parts else None


@pytest.mark.parametrize("record", RECORDS, ids=[r["name"] for r in RECORDS])
def test_recorded(record: dict) -> None:
    if record["name"] in KNOWN["out"]:
        pytest.skip(KNOWN["out"][record["name"]])
    f = function(record)
    ingot.manual_seed(record["seed"])
    failed = record.get("errors", {}).get("out")
    if failed:
        expected = getattr(builtins, failed["class"].rpartition(".")[2])
        with pytest.raises(expected) as caught:
            f(*make_inputs(record))
        assert failed["text"].splitlines()[0] in str(caught.value)
        return
    compare(f(*make_inputs(record)), record["out"], "out", record["op"] not in UNSET)
    if "grads" not in record or record["op"] in UNSET or record["name"] in KNOWN["grads"]:
        return
    inputs = make_inputs(record)
    leaves = [t.requires_grad_() for t in inputs if t.dtype.is_floating_point or t.dtype.is_complex]
    loss(f(*inputs)).backward()
    for i, (leaf, expected) in enumerate(zip(leaves, record["grads"], strict=True)):
        if expected is None:
            assert leaf.grad is None or not bool((leaf.grad != 0).any()), f"grads[{i}]"
        else:
            compare(leaf.grad, expected, f"grads[{i}]")
