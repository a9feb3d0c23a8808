# SPDX-License-Identifier: Apache-2.0
"""What other runtimes had to fix, by class: each kind of trick once, against the files that could carry it.

docs/security.md lists the classes and where else they are tested.
"""
import os
import pathlib
import struct
import zipfile

import pytest

import hostile_files as hostile
import ingot
from ingot import limits

REFUSED = (ValueError, NotImplementedError, OSError, RuntimeError, TypeError, IndexError, OverflowError)


def entry(key: str, value: str) -> bytes:
    return hostile.field(1, key) + hostile.field(2, value)


def outside(location: str, offset: str = "0", length: str = "8") -> bytes:
    """A model whose weight lies in another file."""
    entries = (("location", location), ("offset", offset), ("length", length))
    data = b"".join(hostile.field(13, entry(*e)) for e in entries)
    weight = hostile.field(1, 2) + hostile.field(2, 1) + hostile.field(8, "w") + data + hostile.field(14, 1)
    main = hostile.graph([hostile.node("Add", ["x", "w"], ["y"])], [hostile.info("x", 1, [2])],
                         [hostile.info("y", 1, [2])], [weight])  # fmt: skip
    return hostile.model(main)


def run_onnx(path: pathlib.Path) -> object:
    return ingot._C.onnx_open(str(path)).program()


# ---- names that leave the folder, and links


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    (tmp_path / "secret").write_bytes(struct.pack("<ff", 3, 4))
    inside = tmp_path / "models"
    (inside / "sub").mkdir(parents=True)
    (inside / "w.bin").write_bytes(struct.pack("<ff", 1, 2))
    os.symlink(tmp_path / "secret", inside / "soft.bin")
    os.symlink(tmp_path, inside / "up")
    os.link(tmp_path / "secret", inside / "hard.bin")
    return inside


@pytest.mark.parametrize("location", [
    "../secret", "sub/../../secret", "./../secret", "sub/../w.bin", "/etc/passwd", "soft.bin", "hard.bin", "up/secret",
    "up/models/w.bin", "", ".", "sub", "w.bin/", "w.bin\0x", "..\\secret", "%2e%2e/secret", "/dev/zero",
    "/proc/self/environ", "file:///etc/passwd",
])  # fmt: skip
def test_data_outside_of_the_folder_is_not_read(folder, location):
    path = folder / "m.onnx"
    path.write_bytes(outside("w.bin"))
    run_onnx(path)
    path.write_bytes(outside(location))
    with pytest.raises(REFUSED):
        run_onnx(path)


@pytest.mark.parametrize("offset, length", [
    ("0", "9"), ("1", "8"), ("8", "8"), ("-1", "8"), ("18446744073709551615", "8"), ("9223372036854775807", "8"),
    ("18446744073709551612", "12"), ("0", "-8"), ("x", "8"), ("0x0", "8"), ("0", "18446744073709551615"),
])  # fmt: skip
def test_places_in_other_files_are_checked(folder, offset, length):
    path = folder / "m.onnx"
    path.write_bytes(outside("w.bin", offset, length))
    with pytest.raises(REFUSED):
        run_onnx(path)


@pytest.mark.parametrize("name", [
    "../x", "/x", "a/../../x", "a/data/../../../x", "C:\\x", "a\\..\\x",
])  # fmt: skip
def test_members_outside_of_the_archive_are_refused(tmp_path, name):
    path = tmp_path / "x.pt"
    path.write_bytes(hostile.archive({"a/data.pkl": b"\x80\x02N.", "a/version": b"3", name: b"x"}))
    with pytest.raises(REFUSED):
        ingot.load(str(path))


# ---- sizes that wrap


@pytest.mark.parametrize("dims", [
    [1 << 32, 1 << 32], [1 << 62, 4], [1 << 63], [(1 << 63) - 1, 2], [1 << 61, 1 << 61, 1 << 6], [-1], [-1, -8], [3],
    [1 << 62], [0, 1 << 63],
])  # fmt: skip
def test_sizes_that_wrap_are_refused(tmp_path, dims):
    path = tmp_path / "m.onnx"
    weight = hostile.tensor("w", 1, dims, bytes(8))
    main = hostile.graph([hostile.node("Add", ["x", "w"], ["y"])], [hostile.info("x", 1, [2])],
                         [hostile.info("y", 1, [2])], [weight])  # fmt: skip
    path.write_bytes(hostile.model(main))
    with pytest.raises(REFUSED):
        run_onnx(path)


@pytest.mark.parametrize("shape", [[1 << 32, 1 << 32], [1 << 62, 4], [1 << 63], [-1], [2.5], [1e30], [True]])
def test_sizes_of_safetensors_are_checked(tmp_path, shape):
    path = tmp_path / "x.safetensors"
    text = b'{"a":{"dtype":"F32","shape":' + str(shape).replace("True", "true").encode() + b',"data_offsets":[0,8]}}'
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with pytest.raises(REFUSED):
        ingot.load_file(str(path))


@pytest.mark.parametrize("n", [0, 1, 1 << 31, 1 << 62, (1 << 64) - 1])
def test_headers_longer_than_the_file_are_refused(tmp_path, n):
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", n) + b"{}")
    with pytest.raises(REFUSED):
        ingot.load_file(str(path))


# ---- recursion


def test_graphs_in_graphs_have_a_depth(tmp_path):
    inner = hostile.graph([], [], [hostile.info("c", 9, [])])
    for _ in range(2000):
        inner = hostile.graph([hostile.node("If", ["c"], ["d"], hostile.attr_graph("then_branch", inner))], [], [])
    path = tmp_path / "m.onnx"
    path.write_bytes(hostile.model(inner))
    with pytest.raises(REFUSED):
        run_onnx(path)


def test_functions_that_call_themselves_are_refused(tmp_path):
    path = tmp_path / "m.onnx"
    body = [hostile.node("F0", ["x"], ["y"], domain="f")]
    main = hostile.graph(body, [hostile.info("x", 1, [1])], [hostile.info("y", 1, [1])])
    path.write_bytes(hostile.model(main, hostile.function("F0", body)))
    with pytest.raises(REFUSED):
        run_onnx(path)


# ---- fields that unfold


def test_packed_fields_are_counted_by_their_bytes(tmp_path):
    """A packed list of ten million sizes is ten megabytes of file, and no more than memory allows."""
    path = tmp_path / "m.onnx"
    dims = hostile.field(1, b"\x01" * 10_000_000)
    weight = dims + hostile.field(2, 1) + hostile.field(8, "w") + hostile.field(9, bytes(4))
    main = hostile.graph([], [hostile.info("x", 1, [1])], [hostile.info("x", 1, [1])], [weight])
    path.write_bytes(hostile.model(main))
    with limits.limited(max_memory=limits.memory_in_use() + (256 << 20)), pytest.raises((*REFUSED, MemoryError)):
        run_onnx(path)


# ---- archives that say two things


def with_central_name(data: bytes, old: bytes, new: bytes) -> bytes:
    """Another name in the directory than before the member."""
    at = data.rindex(old)
    return data[:at] + new + data[at + len(old) :]


def test_a_member_has_one_name(tmp_path):
    path = tmp_path / "x.pt"
    data = hostile.archive({"a/data.pkl": b"\x80\x02N.", "a/version": b"3"}, deflated=False)
    path.write_bytes(data)
    ingot.load(str(path))
    path.write_bytes(with_central_name(data, b"a/version", b"a/versioN"))
    with pytest.raises(ValueError, match="another name"):
        ingot.load(str(path))


def test_a_name_has_one_member(tmp_path):
    path = tmp_path / "x.pt"
    with zipfile.ZipFile(path, "w") as z, pytest.warns(UserWarning):
        z.writestr("a/data.pkl", b"\x80\x02N.")
        z.writestr("a/version", b"3")
        z.writestr("a/data.pkl", b"\x80\x02K\x01.")
    with pytest.raises(ValueError, match="twice|duplicate"):
        ingot.load(str(path))


def test_an_archive_does_not_begin_elsewhere(tmp_path):
    """Bytes before and after an archive are where a second file would hide."""
    path = tmp_path / "x.pt"
    data = hostile.archive({"a/data.pkl": b"\x80\x02N.", "a/version": b"3"}, deflated=False)
    for stranger in (b"PK\3\4" + data, data + data[:100], data + b"\0" * 70000):
        path.write_bytes(stranger)
        with pytest.raises(REFUSED):
            ingot.load(str(path))


# ---- pickles


@pytest.mark.parametrize("code", [
    b"cos\nsystem\n(S'echo owned'\ntR.", b"cbuiltins\neval\n(S'1'\ntR.", b"c__builtin__\nexec\n(S'1'\ntR.",
    b"cposix\nsystem\n(S'x'\ntR.", b"(S'echo owned'\nios\nsystem\n.", b"cnumpy.core.multiarray\n_reconstruct\n.",
    b"ccollections\nOrderedDict\n(ctorch\nload\ntR.", b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R.",
    b"cbuiltins\ngetattr\n(cos\npath\nS'join'\ntR.", b"ctorch.serialization\n_get_restore_location\n.",
    b"ccopyreg\n_reconstructor\n(cos\n_wrap_close\nctypes\nobject\nNtR.", b"\x80\x02\x82\x01.",
])  # fmt: skip
def test_pickles_run_nothing(tmp_path, code):
    path = tmp_path / "x.pt"
    path.write_bytes(hostile.archive({"a/data.pkl": code, "a/version": b"3"}, deflated=False))
    for how in ({}, {"weights_only": True}):
        with pytest.raises(Exception) as caught:
            ingot.load(str(path), **how)
        assert not isinstance(caught.value, SystemError)


# ---- operands of other ranks than the operator has


@pytest.mark.parametrize("dims", [[], [1], [1, 1]])
def test_windows_of_any_rank(tmp_path, dims):
    """The frame has the length of the window, which need not have one."""
    path = tmp_path / "m.onnx"
    weights = [hostile.tensor("x", 1, [1, 8, 1], bytes(32)), hostile.tensor("step", 7, [], struct.pack("<q", 1)),
               hostile.tensor("w", 1, dims, struct.pack("<f", 1))]  # fmt: skip
    main = hostile.graph([hostile.node("STFT", ["x", "step", "w"], ["y"])], [], [hostile.info("y", 1, [])], weights)
    path.write_bytes(hostile.model(main))
    if len(dims) == 1:
        run_onnx(path)
        return
    with pytest.raises(REFUSED, match="dimensions|window"):
        run_onnx(path)


# ---- numbers of a model that no tensor has

EXTREMES = [-(2**63), 2**63 - 1, 2**62, -3]


def ints(name: str, *values: int, dims: list[int] | None = None) -> bytes:
    return hostile.tensor(name, 7, [len(values)] if dims is None else dims, struct.pack(f"<{len(values)}q", *values))


def extreme_models(n: int) -> dict[str, tuple[list[bytes], list[bytes]]]:
    """By operator: nodes that give y, and their weights beside x."""
    one, axis, pair = [ints("i", n, dims=[])], hostile.attr_int("axis", n), ints("i", n, n)
    build = hostile.node("SequenceConstruct", ["x", "x"], ["s"])
    join = hostile.node("ConcatFromSequence", ["t"], ["y"], axis)
    double = hostile.node("Concat", ["v", "v"], ["w"], hostile.attr_int("axis", 0))
    grow = hostile.graph(
        [double, hostile.node("Identity", ["c"], ["d"])],
        [hostile.info("n", 7, []), hostile.info("c", 9, []), hostile.info("v", 1, ["a", "b"])],
        [hostile.info("d", 9, []), hostile.info("w", 1, ["a", "b"])],
    )
    return {
        "SequenceAt": ([build, hostile.node("SequenceAt", ["s", "i"], ["y"])], one),
        "SequenceInsert": ([build, hostile.node("SequenceInsert", ["s", "x", "i"], ["t"]), join], one),
        "SplitToSequence": ([hostile.node("SplitToSequence", ["x", "i"], ["t"], axis), join], [pair]),
        "Loop": ([hostile.node("Loop", ["i", "", "x"], ["y"], hostile.attr_graph("body", grow))], one),
        "OneHot": ([hostile.node("OneHot", ["i", "i", "x"], ["y"], axis)], one),
        "Tile": ([hostile.node("Tile", ["x", "i"], ["y"])], [pair]),
        "Slice": ([hostile.node("Slice", ["x", "i", "i", "i", "i"], ["y"])], [ints("i", n)]),
        "Pad": ([hostile.node("Pad", ["x", "p", "", "i"], ["y"])], [ints("p", n, n, n, n), pair]),
        "ScatterND": ([hostile.node("ScatterND", ["x", "i", "x"], ["y"])], [ints("i", n, n, dims=[1, 2])]),
        "Split": ([hostile.node("Split", ["x"], ["y", "z"], axis)], []),
    }


@pytest.mark.parametrize("n", EXTREMES)
@pytest.mark.parametrize("op", extreme_models(0))
def test_numbers_that_no_tensor_has_are_refused(tmp_path, op, n):
    nodes, weights = extreme_models(n)[op]
    path = tmp_path / "m.onnx"
    x = hostile.tensor("x", 1, [2, 3], bytes(24))
    path.write_bytes(hostile.model(hostile.graph(nodes, [], [hostile.info("y", 1, [])], [x, *weights])))
    with limits.limited(max_memory=limits.memory_in_use() + (64 << 20), max_work=10**6):
        for use in (run_onnx, lambda p: ingot._C.onnx_open(str(p)).run([])):
            try:
                use(path)
            except (*REFUSED, MemoryError) as error:
                assert str(error)


# ---- views that reach past their memory


class Past(ingot.nn.Module):
    """Reads six elements from the second one on, of memory that has fewer."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        if self.kind == "copy":
            return ingot.as_strided_copy(x, (2, 3), (3, 1), 1)
        if self.kind == "both":
            return ingot.as_strided(x + 1, (2, 3), (3, 1), 1) + ingot.as_strided(x, (2, 3), (1, 1), 1)
        return ingot.as_strided(x if self.kind == "input" else x + 1, (2, 3), (3, 1), 1) * 2


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("kind", ["input", "result", "copy", "both"])
def test_views_stay_inside_of_their_memory(tmp_path, kind, dynamic):
    """A plan gives views an address without making them again."""
    path = str(tmp_path / "m.pt2")
    shapes = ({0: ingot.export.Dim("n", min=2, max=64)},) if dynamic else None
    example = ingot.ones(9 if dynamic else 4)
    ingot.export.save(ingot.export.export(Past(kind), (example,), dynamic_shapes=shapes), path)
    run = ingot.open(path)
    for n in (9, 4, 9, 6) if dynamic else (4,):
        if n >= 7:
            assert run(ingot.ones(n)).shape == (2, 3)
            continue
        with pytest.raises(RuntimeError, match="setStorage: .* out of bounds"):
            run(ingot.ones(n))
