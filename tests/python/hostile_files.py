# SPDX-License-Identifier: Apache-2.0
"""Hostile files, byte by byte: ONNX models by hand, archives with a member that is more than it seems."""
from __future__ import annotations

import io
import json
import struct
import zipfile

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f"  # title, clear, C1, right-to-left override, DEL


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(op: str, inputs: list[str], outputs: list[str], *attrs: bytes, domain: str = "", name: str = "") -> bytes:
    out = b"".join(field(1, x) for x in inputs) + b"".join(field(2, x) for x in outputs)
    return out + field(3, name) + field(4, op) + b"".join(field(5, a) for a in attrs) + field(7, domain)


def attr_int(name: str, i: int) -> bytes:
    return field(1, name) + field(3, i) + field(20, 2)


def attr_graph(name: str, graph: bytes) -> bytes:
    return field(1, name) + field(6, graph) + field(20, 5)


def info(name: str, elem: int, dims: list[int | str]) -> bytes:
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, elem) + field(2, shape)))


def tensor(name: str, elem: int, dims: list[int], raw: bytes) -> bytes:
    return b"".join(field(1, d) for d in dims) + field(2, elem) + field(8, name) + field(9, raw)


def graph(
    nodes: list[bytes], inputs: list[bytes], outputs: list[bytes], inits: list[bytes] = (), name: str = "g"
) -> bytes:
    out = b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(5, t) for t in inits)
    return out + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)


def function(name: str, nodes: list[bytes], domain: str = "f") -> bytes:
    out = field(1, name) + field(4, "x") + field(5, "y") + b"".join(field(7, n) for n in nodes)
    return out + field(9, field(2, 18)) + field(9, field(1, domain) + field(2, 1)) + field(10, domain)


def model(main: bytes, *functions: bytes) -> bytes:
    opsets = field(8, field(2, 18)) + field(8, field(1, "f") + field(2, 1))
    return field(1, 8) + opsets + field(7, main) + b"".join(field(25, f) for f in functions)


def doubling_functions(n: int) -> bytes:
    """n functions that each call the next one twice: 2^n nodes when they are inlined."""
    functions = []
    for i in range(n):
        last = i == n - 1
        calls = [node("Relu", ["x"], ["y"])]
        if not last:
            calls = [node(f"F{i + 1}", ["x"], ["t"], domain="f"), node(f"F{i + 1}", ["t"], ["y"], domain="f")]
        functions.append(function(f"F{i}", calls))
    main = graph([node("F0", ["x"], ["y"], domain="f")], [info("x", 1, [1])], [info("y", 1, [1])])
    return model(main, *functions)


def growing_loop(rounds: int) -> bytes:
    """A loop whose carried tensor doubles in each round."""
    body = graph(
        [node("Identity", ["go"], ["go_out"]), node("Concat", ["v", "v"], ["v_out"], attr_int("axis", 0))],
        [info("i", 7, []), info("go", 9, []), info("v", 1, ["n"])],
        [info("go_out", 9, []), info("v_out", 1, ["m"])], name="body",
    )  # fmt: skip
    main = graph(
        [node("Loop", ["trips", "", "x"], ["y"], attr_graph("body", body))], [info("x", 1, [1024])],
        [info("y", 1, ["k"])], [tensor("trips", 7, [], struct.pack("<q", rounds))],
    )  # fmt: skip
    return model(main)


def named_model(name: str) -> bytes:
    """y = relu(x), with the name in every place that has one."""
    w = tensor(name + "w", 1, [2], struct.pack("<ff", 1, 2))
    nodes = [node("Relu", [name], [name + "t"], name=name + "n"), node("Add", [name + "t", name + "w"], [name + "y"])]
    main = graph(nodes, [info(name, 1, [name + "d"])], [info(name + "y", 1, [name + "d"])], [w], name)
    return model(main) + field(14, field(1, name + "key") + field(2, name + "value")) + field(2, name + "producer")


def safetensors(entries: dict[str, list[int]]) -> bytes:
    head: dict[str, object] = {}
    at = 0
    for name, shape in entries.items():
        n = 4
        for d in shape:
            n *= d
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


def archive(members: dict[str, bytes], deflated: bool = True) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as z:
        for name, data in members.items():
            z.writestr(name, data)
    return out.getvalue()


# ---- TorchScript archives


def pickled(value: object) -> bytes:
    """The opcodes of a plain value; bytes are opcodes themselves."""
    if isinstance(value, bytes):
        return value
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        return b"\x8a\x08" + struct.pack("<q", value)
    if isinstance(value, str):
        return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
    if isinstance(value, dict):
        return b"}(" + b"".join(pickled(k) + pickled(v) for k, v in value.items()) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(pickled, value)) + b"e"
    assert isinstance(value, tuple)
    return b"(" + b"".join(map(pickled, value)) + b"t"


def instance(name: str, state: object) -> bytes:
    """An object of class __torch__.<name>."""
    return b"c__torch__\n" + name.encode() + b"\n)\x81" + pickled(state) + b"b"


def shared_twice(depth: int, kind: str) -> bytes:
    """A container that holds another one twice, which holds another one twice, ...: 2^depth elements."""
    out = pickled(1)
    for i in range(depth):
        both = out + b"q" + bytes([i]) + b"h" + bytes([i])
        out = b"](" + both + b"e" if kind == "list" else b"(" + both + b"t"
    return out


def script(
    body: str,
    classes: str = "",
    attributes: str = "",
    signature: str = "x: Tensor",
    result: str = "Tensor",
    state: dict[str, object] | None = None,
    constants: object = (),
    storages: tuple[bytes, ...] = (),
) -> bytes:
    """An archive with a module whose forward has this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"{classes}\nclass M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n{attributes}"
    text += f"  def forward(self: __torch__.M, {signature}) -> {result}:\n{lines}"
    members = {
        "a/data.pkl": b"\x80\x02" + instance("M", {"training": False, **(state or {})}) + b".",
        "a/code/__torch__.py": text.encode(),
        "a/constants.pkl": b"\x80\x02" + pickled(constants) + b".",
        "a/version": b"3",
        **{f"a/data/{i}": data for i, data in enumerate(storages)},
    }
    return archive(members, deflated=False)


def stored(key: str, n: int, kind: str) -> bytes:
    """The n elements of storage data/<key>."""
    return b"(" + pickled("storage") + f"ctorch\n{kind}Storage\n".encode() + pickled((key, "cpu", n))[1:] + b"Q"


def tensor_of(key: str, n: int, kind: str) -> bytes:
    """A vector of a storage."""
    head = b"ctorch._utils\n_rebuild_tensor_v2\n(" + stored(key, n, kind) + pickled(0) + pickled((n,)) + pickled((1,))
    return head + b"\x89ccollections\nOrderedDict\n)RtR"


def quantized(sizes: tuple[int, ...], strides: tuple[int, ...], *quantizer: object, offset: int = 0) -> bytes:
    """A tensor of qint8 over the 8 elements of data/0; the quantizer is a scheme and its numbers."""
    scheme = f"ctorch\n{quantizer[0]}\n".encode()
    numbers = b"".join(b"G" + struct.pack(">d", v) if isinstance(v, float) else pickled(v) for v in quantizer[1:])
    head = b"ctorch._utils\n_rebuild_qtensor\n(" + stored("0", 8, "QInt8") + pickled(offset)
    tail = b"(" + scheme + numbers + b"t\x89ccollections\nOrderedDict\n)RtR"
    return head + pickled(sizes) + pickled(strides) + tail
