#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call every operator sample with the real PyTorch and write the results: tests/ops/goldens.txt.gz.

    python tools/make_goldens.py [TEXT ...]         (needs torch and numpy; the tests do not)

Samples are read off src/ops, inputs are made as tests/support/sample.c makes them. One line per call:
    op <tab> sample number <tab> dtype that stands for f32 <tab> results
Results (and arguments that the call wrote) are joined by ";": dtype|sizes|strides|values, or a number, or None, or
[a list among several];
"!Class" when PyTorch refuses. Every sample runs as it stands; the first two of each operator also in every other dtype,
and with other sizes and elements ("2:3>0"). With TEXTs only operators whose names have one of them are called anew.
"""

import gzip
import math
import os
import pathlib
import re
import sys

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed

ROOT = pathlib.Path(__file__).parent.parent
RECORD = re.compile(r"^IG_OP\((\w+)\) = \{(.*?)^\};", re.M | re.S)
STRING = r'"((?:[^"\\]|\\.)*)"'
DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "f16": torch.float16,
    "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64,
    "c128": torch.complex128, "f8e4m3fn": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
}  # fmt: skip
BRIEF = {v: k for k, v in DTYPES.items()}
VARIANTS = ["f64", "f16", "bf16", "i64", "i32", "u8", "bool", "c64", "c128"]


def hashed(tensor: int, i: np.ndarray) -> np.ndarray:
    wide = i.astype(np.uint64) * np.uint64(2654435761) + np.uint64((tensor + 1) * 40503 * 65537)
    return (wide & np.uint64(0xFFFFFFFF)) >> np.uint64(8)


def reals(tensor: int, i: np.ndarray, how: str) -> np.ndarray:
    u = (hashed(tensor, i) % np.uint64(1009)).astype(np.float64) / 1009.0
    v = 2 * u - 1
    if how == "+":
        return 0.1 + 1.9 * u
    if how == "u":
        return u
    if how == "s":
        return 0.9 * v
    if how == "ones":
        return np.ones_like(u)
    out = np.where(v >= 0, 0.9 * v + 0.1, 0.9 * v - 0.1)
    if how == "special":
        out = np.where(i % 8 == 2, -np.inf, out)
        out = np.where(i % 4 == 1, np.inf, out)
        out = np.where(i % 4 == 0, np.nan, out)
    return out


def wholes(tensor: int, i: np.ndarray, how: str, n: int) -> np.ndarray:
    h = hashed(tensor, i).astype(np.int64)
    if how == "ones":
        return np.ones_like(h)
    if how.startswith("<"):
        return h % int(how[1:])
    if how == "+":
        return 1 + h % 9
    if how == "perm":
        step = next(s for s in (7, 11, 13, 1) if math.gcd(s, n) == 1)
        return (i * step + 3) % n
    return h % 10


def make_tensor(dtype: torch.dtype, sizes: list[int], number: int, how: str, layout: str) -> torch.Tensor:
    n = math.prod(sizes)
    i = np.arange(n, dtype=np.int64)
    if dtype == torch.bool and how != "ones":
        t = torch.from_numpy((hashed(number, i) & np.uint64(1)).astype(bool))
    elif not (dtype.is_floating_point or dtype.is_complex):
        t = torch.from_numpy(wholes(number, i, how, n).copy()).to(dtype)
    else:
        v = reals(number, i, how)
        if how == "spd" and n and len(sizes) > 1 and n % (sizes[-1] * sizes[-1]) == 0:
            k = sizes[-1]
            a = v.reshape(-1, k, k)
            v = (a @ a.transpose(0, 2, 1) + k * np.eye(k)).reshape(-1)
        if how == "sort":
            v = np.sort(v)
        z = v
        if dtype.is_complex:
            z = np.empty(n, np.complex128)
            z.real, z.imag = v, reals(number, i + 7919, how)
        t = torch.from_numpy(z).to(dtype)
    t = t.reshape(sizes)
    if layout == ".T":
        return t.transpose(-2, -1)
    if layout == ".cl":
        layout = torch.channels_last_3d if t.dim() == 5 else torch.channels_last
        return torch.empty(sizes, dtype=dtype, memory_format=layout).copy_(t)
    if layout == ".s2" and t.dim():
        strides, step = [], 2
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= size or 1
        return torch.empty_strided(sizes, strides, dtype=dtype).copy_(t)
    return t


class Reader:
    """One sample; the grammar of tests/support/sample.c."""

    TENSOR = re.compile(r"(\w+)\[([-\d, ]*)\]((?:\.T|\.cl|\.s2|:[+\w<]+)*)")
    ELEMENTS = re.compile(r"(\w+)\{([^}]*)\}")
    NUMBER = re.compile(r"-?\d+(\.\d*)?(e-?\d+)?([+-]\d+(\.\d*)?j)?")

    def __init__(self, text: str, floats: str, change: str = "") -> None:
        self.text, self.at, self.floats, self.tensors, self.change = text, 0, floats, 0, change

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def take(self, token: str) -> bool:
        self.skip()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def dtype(self, brief: str) -> torch.dtype:
        return DTYPES[self.floats if brief == "f32" else brief]

    def tensor(self, m: re.Match) -> torch.Tensor:
        sizes = [int(s) for s in m[2].split(",") if s.strip()]
        marks = re.findall(r"\.\w+|:[+\w<]+", m[3])
        how = next((k[1:] for k in marks if k[0] == ":"), "")
        layout = next((k for k in marks if k[0] == "."), "")
        self.tensors += 1
        if ">" in self.change:
            before, after = map(int, self.change.split(">"))
            sizes = [after if size == before else size for size in sizes]
        if m[1] == "f32" and self.change == "special":
            how = how or "special"
        if m[1] == "f32" and self.change == "flat":
            sizes, layout = [], ""
        return make_tensor(self.dtype(m[1]), sizes, self.tensors - 1, how, layout)

    def value(self):
        self.skip()
        m = self.TENSOR.match(self.text, self.at)
        if m and m[1] in DTYPES:
            self.at = m.end()
            return self.tensor(m)
        m = self.ELEMENTS.match(self.text, self.at)
        if m and m[1] in DTYPES:
            self.at = m.end()
            self.tensors += 1
            return torch.tensor([float(v) for v in m[2].split(",")]).to(self.dtype(m[1]))
        m = re.compile(r"\w+").match(self.text, self.at)
        if m and m[0] in DTYPES:
            self.at = m.end()
            return self.dtype(m[0])
        if self.take("["):
            end = self.text.index("]", self.at)
            items = [int(s) for s in self.text[self.at : end].split(",") if s.strip()]
            self.at = end + 1
            return items
        if self.take("("):
            items = []
            while not self.take(")"):
                items.append(self.value())
                self.take(",")
            return items
        if self.take("'"):
            end = self.text.index("'", self.at)
            text, self.at = self.text[self.at : end], end + 1
            return text
        for word, v in (("None", None), ("True", True), ("False", False)):
            if self.take(word):
                return v
        m = self.NUMBER.match(self.text, self.at)
        if not m:
            raise ValueError(f"bad sample at {self.text[self.at :]!r}")
        self.at = m.end()
        if m[3]:
            return complex(m[0])
        return float(m[0]) if "." in m[0] or "e" in m[0] else int(m[0])

    def call(self, schema) -> tuple[list, dict]:
        names = {a.name: a for a in schema.arguments}
        values = {}
        self.skip()
        i = 0
        while self.at < len(self.text):
            if i and not self.take(","):
                raise ValueError(f"expected , in {self.text!r}")
            self.skip()
            m = re.compile(r"(\w+)=").match(self.text, self.at)
            name = m[1] if m and m[1] in names else schema.arguments[i].name
            if m and m[1] in names:
                self.at = m.end()
            values[name] = self.value()
            self.skip()
            i += 1
        args, kwargs = [], {}
        for a in schema.arguments:
            if a.kwarg_only:
                if a.name in values:
                    kwargs[a.name] = values[a.name]
            elif a.name in values:
                args.append(values[a.name])
            else:
                args.append(a.default_value)
        return args, kwargs


def number_text(x) -> str:
    if isinstance(x, complex):
        return f"{number_text(x.real)},{number_text(x.imag)}"
    if isinstance(x, float):
        return "nan" if math.isnan(x) else "inf" if x == math.inf else "-inf" if x == -math.inf else f"{x:.9g}"
    return str(int(x))


def result_text(x, nested: bool = False) -> str:
    if isinstance(x, torch.Tensor):
        flat = x.detach().reshape(-1)
        narrow = flat.dtype.is_floating_point and flat.dtype.itemsize < 4
        values = (flat.to(torch.float32) if narrow else flat).tolist()
        sizes, strides = ",".join(map(str, x.shape)), ",".join(map(str, x.stride()))
        return f"{BRIEF[x.dtype]}|{sizes}|{strides}|{' '.join(map(number_text, values))}"
    if isinstance(x, (list, tuple)):
        inside = ";".join(result_text(item, True) for item in x)
        return f"[{inside}]" if nested else inside
    if x is None:
        return "None"
    return f"={number_text(x)}"


def samples_of(body: str) -> str | None:
    m = re.search(r"\.samples =\s*((?:" + STRING + r"\s*|\w+\s*(?:\(" + STRING + r"\)\s*)?)+),\n", body)
    return m[1] if m else None


def expand(text: str, macros: dict[str, str]) -> str:
    """C string constants and the macros that stand between them."""
    out = []
    for token in re.finditer(STRING + r"|(\w+)(?:\(" + STRING + r"\))?", text):
        if token[2]:
            body = macros[token[2]]
            if token[3] is not None:
                body = re.sub(r'"\s*\bname\b\s*"', token[3], body)
            out.append(expand(body, macros))
        else:
            out.append(token[1])
    return "".join(out)


def records():
    for path in sorted((ROOT / "src/ops").rglob("*.c")):
        text = path.read_text()
        joined = text.replace("\\\n", " ")
        macros = {m[1]: m[2] for m in re.finditer(r"^#define (\w+)(?:\(\w+\))?\s+(\"[^\n]*)$", joined, re.M)}
        for m in RECORD.finditer(joined):
            schema = re.search(r"\.schema =\s*((?:" + STRING + r"\s*)+),", m[2])
            text = "".join(re.findall(STRING, schema[1])).replace('\\"', '"')
            samples = samples_of(m[2])
            if samples is None:
                print(f"{path.name}: {m[1]} has no samples", file=sys.stderr)
                continue
            yield text.partition("(")[0], expand(samples, macros), ".random = true" in m[2]


def find(op: str):
    ns, _, full = op.partition("::")
    name, _, overload = full.partition(".")
    return getattr(getattr(getattr(torch.ops, ns), name), overload or "default")


def run(op: str, text: str, floats: str, change: str = "") -> str:
    target = find(op)
    args, kwargs = Reader(text, floats, change).call(target._schema)
    schema = target._schema
    written = [a for a, s in zip(args, schema.arguments) if s.alias_info and s.alias_info.is_write]
    try:
        result = target(*args, **kwargs)
        if any(r.alias_info for r in schema.returns):
            written = []  # the result is what was written
        return result_text([result, *written] if written else result)
    except Exception as e:  # noqa: BLE001: whatever PyTorch raises is the answer
        return f"!{type(e).__name__}"


def changes(text: str) -> list[str]:
    """The same call with other sizes or elements: sizes of 0 and 1, no dimensions, NaN and infinity."""
    sizes = {int(v) for m in re.finditer(r"\w\[([\d,]*)\]", text) for v in m[1].split(",") if v}
    found = [f"{v}>{to}" for v in sorted(v for v in sizes if v >= 2)[:3] for to in (0, 1)]
    return found + (["flat", "special"] if "f32[" in text else [])


def run_all(op: str, calls: list[tuple[int, str, str, str]]) -> list[str]:
    """Run calls in a child process: odd sizes crash PyTorch now and then, and then the answer is "!Crash"."""
    lines = []
    while calls:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with os.fdopen(write, "w") as out:
                for k, text, floats, change in calls:
                    out.write(f"{op}\t{k}{':' if change else ''}{change}\t{floats}\t{run(op, text, floats, change)}\n")
                    out.flush()
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as results:
            done = results.read().splitlines()
        os.waitpid(child, 0)
        lines += done
        if len(done) < len(calls):
            k, _, floats, change = calls[len(done)]
            lines.append(f"{op}\t{k}{':' if change else ''}{change}\t{floats}\t!Crash")
            done.append("")
        calls = calls[len(done) :]
    return lines


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # children have no other threads
    lines, wanted, path = [], sys.argv[1:], ROOT / "tests/ops/goldens.txt.gz"
    known = gzip.decompress(path.read_bytes()).decode().splitlines() if wanted else []
    names = set()
    for op, samples, random in records():
        names.add(op)
        if wanted and not any(text in op for text in wanted):
            continue
        calls = []
        for k, text in enumerate(s.strip() for s in samples.split(" | ")):
            calls.append((k, text, "f32", ""))
            if k < 2 and "f32" in text and not random:
                calls += [(k, text, d, "") for d in VARIANTS]
            if k < 2 and not random:
                calls += [(k, text, "f32", c) for c in changes(text)]
        lines += run_all(op, calls)
    called = {line.partition("\t")[0] for line in lines}
    kept = [line for line in known if line.partition("\t")[0] in names - called]
    data = "\n".join(sorted(lines + kept)) + "\n"
    with open(path, "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
            f.write(data.encode())
    refused = [line for line in lines if "\tf32\t!" in line and ":" not in line.split("\t")[1]]
    print(f"{len(lines)} calls; refused as they stand: {len(refused)}")
    print("\n".join(refused))


main()
