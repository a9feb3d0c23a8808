# SPDX-License-Identifier: Apache-2.0
"""Files of tensors and plain data: what goes in comes out, over every format; the real PyTorch and the real
safetensors read what Ingot writes and the other way round (skipped, visibly, where they are not installed); what must
be refused is refused with a helpful message."""

import argparse
import importlib
import io
import os
import pathlib
import pickle
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import numpy
import pytest

import ingot
from ingot import nn
from ingot.serialization import FileError, ScriptArchive

hypothesis = pytest.importorskip("hypothesis")
st = importlib.import_module("hypothesis.strategies")

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/arrays/data"
GOLDENS = pathlib.Path(os.environ.get("INGOT_GOLDENS", ROOT.parent / "shared/goldens"))

DTYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 "
    "float8_e4m3fn float8_e5m2"
).split()


def real(name: str) -> Any:
    """The real thing, even where `torch` could be Ingot."""
    module = pytest.importorskip(name)
    if "ingot" in (module.__file__ or ""):
        pytest.skip("torch is Ingot here")
    return module


def again(value: Any) -> Any:
    f = io.BytesIO()
    ingot.save(value, f)
    f.seek(0)
    return ingot.load(f)


def raw(t: Any) -> bytes:
    """The elements as bytes, whichever library has them."""
    flat = t.detach().contiguous().reshape(-1)
    if flat.numel() == 0:
        return b""
    kind = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
    library = importlib.import_module(type(flat).__module__.partition(".")[0])
    if str(flat.dtype) == "torch.complex128":
        flat = library.view_as_real(flat)
    return flat.view(getattr(library, kind[flat.element_size()])).numpy().tobytes()


def same(a: Any, b: Any) -> bool:
    """Equal in type, value and, for tensors, bits; of either library."""
    if hasattr(a, "untyped_storage") and hasattr(b, "untyped_storage"):
        return (
            str(a.dtype) == str(b.dtype)
            and tuple(a.shape) == tuple(b.shape)
            and type(a).__name__ == type(b).__name__
            and a.requires_grad == b.requires_grad
            and raw(a) == raw(b)
        )
    if type(a).__name__ != type(b).__name__:
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and a != a:
        return b != b
    return a == b if isinstance(a, (int, float, str, bytes, bytearray, set, complex, type(None))) else str(a) == str(b)


# ---- round trips


def make_tensor(t: Any, dtype: str, shape: list[int], seed: int) -> Any:
    n = int(numpy.prod(shape))
    values = t.tensor([(seed * 7 + i * 3) % 5 for i in range(n)] or [0])[:n]
    return values.to(getattr(t, dtype)).reshape(shape)


SHAPES = st.lists(st.integers(0, 3), max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 80), 1 << 80)
    | st.floats()
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.binary(max_size=8)
    | st.binary(max_size=4).map(bytearray)
)
KEYS = st.text(st.characters(codec="utf-8"), max_size=5) | st.integers(-5, 5)


def values(t: Any) -> Any:
    tensors = st.builds(
        lambda dtype, shape, seed: make_tensor(t, dtype, shape, seed),
        st.sampled_from(DTYPES),
        SHAPES,
        st.integers(0, 9),
    )
    others = st.sampled_from([t.float32, t.bfloat16, t.device("cpu"), t.device("cuda", 1), t.Size([2, 0]), t.strided])
    return st.recursive(
        SCALARS | tensors | others | st.sets(st.integers(0, 9), max_size=3),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=5).map(tuple)
            | st.dictionaries(KEYS, inner, max_size=4)
            | st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict)
            | st.text("abc", max_size=5).map(Counter)
        ),
        max_leaves=12,
    )


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(values(ingot))
def test_what_is_saved_is_loaded(value: Any) -> None:
    back = again(value)
    assert same(value, back)
    first, second = io.BytesIO(), io.BytesIO()
    ingot.save(value, first)
    ingot.save(back, second)
    assert pickle_of(first) == pickle_of(second)


def pickle_of(f: io.BytesIO) -> bytes:
    archive = zipfile.ZipFile(io.BytesIO(f.getvalue()))
    return archive.read(next(n for n in archive.namelist() if n.endswith("/data.pkl")))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype: str, tmp_path: pathlib.Path) -> None:
    for shape in ([], [0], [3], [2, 0, 3], [2, 3, 4]):
        t = make_tensor(ingot, dtype, shape, 1)
        ingot.save(t, tmp_path / "t.pt")
        assert same(t, ingot.load(tmp_path / "t.pt"))
        if dtype != "complex128":
            ingot.save_file({"t": t}, tmp_path / "t.safetensors")
            assert same(t, ingot.load_file(tmp_path / "t.safetensors")["t"])


def test_views_stay_views() -> None:
    x = ingot.arange(12.0).reshape(3, 4)
    back = again({"x": x, "rows": x[1:], "turned": x.t(), "one": x[0, 1], "none": x[3:]})
    assert back["turned"].stride() == (1, 4) and back["one"].shape == ()
    back["x"][1, 1] = 77
    assert back["rows"][0, 1] == 77 and back["turned"][1, 1] == 77
    assert back["none"].shape == (0, 4)


def test_the_same_values_give_the_same_bytes() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    ingot.save([{"b", "a", 3}, {"x": 1}, ingot.ones(3)], first)
    ingot.save([{3, "a", "b"}, {"x": 1}, ingot.ones(3)], second)
    assert first.getvalue() == second.getvalue()


def test_one_object_stays_one_object() -> None:
    inner = [1]
    t = ingot.ones(2)
    back = again([inner, inner, t, t])
    assert back[0] is back[1] and back[2] is back[3]


def test_parameters_attributes_and_metadata() -> None:
    p = nn.Parameter(ingot.ones(2), requires_grad=False)
    t = ingot.zeros(2)
    t.note = {"a": 1}
    back = again([p, t, nn.Parameter(ingot.ones(1))])
    assert type(back[0]) is nn.Parameter and not back[0].requires_grad and back[2].requires_grad
    assert back[1].note == {"a": 1}
    state = again(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict())
    assert type(state) is OrderedDict and state._metadata["1"] == {"version": 2}


def test_meta_tensors_and_map_location(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.pt"
    ingot.save({"m": ingot.empty(2, 3, device="meta"), "x": ingot.ones(2)}, path)
    assert ingot.load(path)["m"].device.type == "meta"
    assert ingot.load(path, map_location="meta")["x"].device.type == "meta"
    for where in ("cpu", ingot.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert ingot.load(path, map_location=where)["x"].device.type == "cpu"
    with pytest.raises(RuntimeError, match=r"map_location=torch.device\('cpu'\)"):
        ingot.load(path, map_location="cuda")


# ---- mapping


def is_page_of(t: Any, path: pathlib.Path) -> bool:
    at = t.data_ptr()
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        first, _, last = line.split()[0].partition("-")
        if int(first, 16) <= at < int(last, 16):
            return line.endswith(str(path))
    return False


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc/self/maps")
def test_map_location_is_called_once_per_storage(tmp_path: pathlib.Path) -> None:
    x = ingot.arange(6.0)
    path = tmp_path / "x.pt"
    ingot.save({"a": x, "b": x[2:], "c": ingot.ones(3)}, path)
    seen = []

    def where(storage: Any, location: str) -> Any:
        seen.append((storage.nbytes(), location))
        return storage.cpu() if len(seen) == 1 else None

    found = ingot.load(path, map_location=where)
    assert seen == [(24, "cpu"), (12, "cpu")]
    assert found["b"].tolist() == [2, 3, 4, 5] and found["a"].data_ptr() + 8 == found["b"].data_ptr()
    other = ingot.full((6,), 7.0)
    found = ingot.load(path, map_location=lambda s, _: other.untyped_storage() if s.nbytes() == 24 else s)
    assert found["a"].tolist() == [7.0] * 6 and found["a"].data_ptr() == other.data_ptr()
    assert found["c"].tolist() == [1, 1, 1]
    with pytest.raises(FileError, match="storage '0' has 24 bytes, and was given another place with 8"):
        ingot.load(path, map_location=lambda s, _: ingot.zeros(2).untyped_storage())
    with pytest.raises(TypeError, match="map_location must return a storage or None, not str"):
        ingot.load(path, map_location=lambda s, _: "cuda:0")
    with pytest.raises(KeyError, match="oops"):
        ingot.load(path, map_location=lambda s, _: {}["oops"])
    legacy = DATA / "legacy.pt"
    if legacy.exists():
        seen.clear()
        ingot.load(legacy, map_location=where)
        assert seen and all(location == "cpu" for _, location in seen)


@pytest.mark.parametrize("ending", ["pt", "safetensors", "npz"])
def test_weights_of_a_path_are_its_pages(ending: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"x.{ending}"
    ingot.save_file({"w": ingot.arange(1000.0)}, path)
    before = path.read_bytes()
    w = ingot.load_state_dict(path)["w"]
    assert is_page_of(w, path)
    w += 1
    assert path.read_bytes() == before
    assert ingot.load_state_dict(path)["w"][5] == 5
    ingot.save_file({"w": ingot.zeros(3)}, path)  # a new file under the old name: the pages stay
    assert w[5] == 6
    path.unlink()
    assert w[999] == 1000


def test_mmap_argument() -> None:
    assert ingot.load(DATA / "dtypes.2.13.pt", mmap=True)["w_half"].dtype == ingot.float16
    with pytest.raises(ValueError, match="f must be a file path"):
        ingot.load(io.BytesIO(b"x"), mmap=True)


# ---- refusals


def refusal(source: Any, **options: Any) -> str:
    with pytest.raises(FileError) as caught:
        ingot.load(source, **options)
    return str(caught.value)


class Evil:
    def __reduce__(self) -> tuple:
        return os.system, ("echo this must never run > /tmp/ingot-was-fooled",)


def archive(**members: bytes) -> io.BytesIO:
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        for name, data in members.items():
            z.writestr("archive/" + name.replace("__", "."), data)
    f.seek(0)
    return f


def test_code_is_refused_and_not_run() -> None:
    for weights_only in (None, True, False):
        f = archive(data__pkl=pickle.dumps(Evil(), 2), version=b"3\n")
        text = refusal(f, weights_only=weights_only)
        assert "Weights only load failed" in text
        assert "global 'posix.system' is not in the closed set" in text
        assert ("never runs code" in text) == (weights_only is False)
    assert not os.path.exists("/tmp/ingot-was-fooled")


def test_whole_modules_are_refused_with_a_way_out() -> None:
    text = refusal(archive(data__pkl=b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81."))
    assert "torch.nn.modules.linear.Linear" in text and "save its state_dict() instead" in text


def test_file_objects_are_read_from_where_they_are() -> None:
    f = io.BytesIO()
    f.write(b"before")
    ingot.save([1, ingot.ones(2)], f)
    f.seek(6)
    assert ingot.load(f)[0] == 1 and f.read() == b""
    f.write(b"more")  # the buffer is free again


def test_other_files_are_named(tmp_path: pathlib.Path) -> None:
    assert "TorchScript archive" in refusal(DATA / "counter.ts.pt")
    assert "torch.jit.load" in refusal(DATA / "counter.ts.pt")
    assert "torch.export.load" in refusal(ROOT / "tests/pt2/data/mlp.pt2")
    assert "NumPy arrays" in refusal(ROOT / "tests/pt2/data/mlp.in.npz")
    assert "PYTORCH1" in refusal(io.BytesIO(b"PYTORCH1" + bytes(100)))
    assert "neither a zip archive" in refusal(io.BytesIO(b"hello"))
    ingot.save_file({"a": ingot.ones(1)}, tmp_path / "a.safetensors")
    assert "safetensors" in refusal(tmp_path / "a.safetensors")
    for error in (pickle.UnpicklingError, RuntimeError, ValueError):
        with pytest.raises(error):
            ingot.load(io.BytesIO(b"hello"))
    with pytest.raises(FileNotFoundError):
        ingot.load(tmp_path / "none.pt")
    with pytest.raises(IsADirectoryError):
        ingot.load(tmp_path)
    with pytest.raises(EOFError):
        ingot.load(io.BytesIO(b""))
    with pytest.raises(AttributeError, match="read"):
        ingot.load(3)


def test_what_cannot_be_saved_is_named(tmp_path: pathlib.Path) -> None:
    class Sub(ingot.Tensor):
        pass

    loop: list = []
    loop.append(loop)
    deep: list = []
    for _ in range(2000):
        deep = [deep]
    for value, error, text in (
        (object(), TypeError, "cannot save an object of type object"),
        (nn.Linear(1, 1), TypeError, "cannot save an object of type Linear"),
        (ingot.ones(1).as_subclass(Sub), TypeError, "cannot save an object of type Sub"),
        (frozenset({1}), TypeError, "cannot save an object of type frozenset"),
        (loop, ValueError, "contains itself"),
        (deep, ValueError, "nested deeper"),
        ("\ud800", UnicodeEncodeError, "surrogates"),
        ({"a": ingot.ones(4), "b": 1j, "c": {(1, 2): lambda: 0}}, TypeError, "function"),
    ):
        with pytest.raises(error, match=text):
            ingot.save(value, tmp_path / "x.pt")
        assert not list(tmp_path.iterdir())
    x = ingot.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        ingot.save([x, x.view(ingot.int32)], tmp_path / "x.pt")


def test_classes_of_the_users_are_allowed_by_name() -> None:
    value = argparse.Namespace(a=1, b=[2, 3])
    f = archive(data__pkl=pickle.dumps({"args": value}, 2))
    assert "argparse.Namespace" in refusal(f)
    f.seek(0)
    assert ingot.serialization.get_unsafe_globals_in_checkpoint(f) == ["argparse.Namespace"]
    f.seek(0)
    with ingot.serialization.safe_globals([argparse.Namespace]):
        assert ingot.load(f)["args"] == value
    assert ingot.serialization.get_safe_globals() == []
    ingot.serialization.add_safe_globals([argparse.Namespace])
    assert ingot.serialization.get_safe_globals() == [argparse.Namespace]
    f.seek(0)
    assert ingot.load(f)["args"].b == [2, 3]
    ingot.serialization.clear_safe_globals()
    f.seek(0)
    assert "argparse.Namespace" in refusal(f)


# ---- modules


@pytest.mark.parametrize("ending", ["pt", "pth", "safetensors", "npz"])
def test_modules_take_weights_out_of_every_format(ending: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"m.{ending}"
    a, b = (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)) for _ in range(2))
    if ending == "pt":
        ingot.save(a.state_dict(), path)
    else:
        ingot.save_file(a.state_dict(), path)
    assert b.load_state_dict(ingot.load_state_dict(path)).missing_keys == []
    x = ingot.randn(4, 2)
    assert ingot.equal(a.eval()(x), b.eval()(x))


# ---- safetensors and NumPy


def test_safetensors_functions(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.safetensors"
    tensors = {"b": ingot.ones(2, 3).t(), "a": ingot.arange(3), "s": ingot.tensor(2.5)}
    ingot.safetensors.save_file(tensors, path, {"format": "pt"})
    assert path.read_bytes() == ingot.safetensors.save(tensors, {"format": "pt"})
    with ingot.safetensors.safe_open(path, framework="pt", device="cpu") as f:
        assert set(f.keys()) == set(tensors) and f.metadata() == {"format": "pt"}
        assert same(f.get_tensor("b"), tensors["b"].contiguous()) and f.get_slice("a")[1] == 1
        with pytest.raises(FileError, match="does not contain tensor z"):
            f.get_tensor("z")
    assert all(same(t.contiguous(), ingot.safetensors.load_file(path)[n]) for n, t in tensors.items())
    assert ingot.safetensors.load(path.read_bytes())["s"] == 2.5
    model = nn.Linear(2, 2)
    ingot.safetensors.save_model(model, path)
    assert ingot.safetensors.load_model(nn.Linear(2, 2), path) == ([], [])
    with pytest.raises(NotImplementedError, match="safetensors has no complex128"):
        ingot.safetensors.save({"z": ingot.ones(1, dtype=ingot.complex128)})
    with pytest.raises(TypeError, match="metadata must be texts"):
        ingot.safetensors.save({}, {"a": 1})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileError, match=r"ends at \d+ of \d+ bytes"):
        ingot.safetensors.load_file(path)


def test_the_real_safetensors_agrees(tmp_path: pathlib.Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    rng = numpy.random.RandomState(0)
    arrays = {
        f"{name}.{i}": numpy.asarray(rng.rand(*shape) * 5).astype(name)
        for name in "bool uint8 int8 int16 uint16 float16 int32 uint32 float32 float64 int64 uint64".split()
        for i, shape in enumerate(((), (3,), (2, 0), (2, 3)))
    }
    tensors = {name: ingot.from_numpy(a) for name, a in arrays.items()}
    assert ingot.safetensors.save(tensors) == theirs.save(arrays)
    theirs.save_file(arrays, tmp_path / "x.safetensors", {"k": "v"})
    back = ingot.safetensors.load_file(tmp_path / "x.safetensors")
    assert all(numpy.array_equal(back[n].numpy(), a) for n, a in arrays.items())


def test_numpy_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.npz"
    a = numpy.arange(12, dtype="float32").reshape(3, 4)
    arrays = {
        "plain": a,
        "fortran": numpy.asfortranarray(a),
        "big": a.astype(">f4"),
        "z": a.astype("complex64"),
        "X": a[0],
    }
    for save in (numpy.savez, numpy.savez_compressed):
        save(path, x=a[1], **arrays)
        back = ingot.load_file(path)
        assert len(back) == 6 and all(numpy.array_equal(back[n].numpy(), v) for n, v in arrays.items())
    numpy.save(tmp_path / "one.npy", a)
    assert numpy.array_equal(ingot.load_file(tmp_path / "one.npy")["arr_0"].numpy(), a)
    ingot.save_file({"x": ingot.from_numpy(a).t()}, tmp_path / "one.npy")
    assert numpy.array_equal(numpy.load(tmp_path / "one.npy"), a.T)
    with pytest.raises(ValueError, match=r"a .npy file holds one array, found 2; write .npz"):
        ingot.save_file({"x": ingot.ones(1), "y": ingot.ones(1)}, tmp_path / "one.npy")
    numpy.save(tmp_path / "odd.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError):
        ingot.load_file(tmp_path / "odd.npy")
    t = {"b": ingot.tensor([1.0, -2.5]).bfloat16(), "f": ingot.ones(2, dtype=ingot.float8_e5m2), "x": ingot.ones(2)}
    with pytest.raises(NotImplementedError, match="'b': NumPy has no bfloat16"):
        ingot.save_file(t, path)
    ingot.save_file(t, path, bits=True)
    bits = numpy.load(path)
    assert bits["b"].dtype == "uint16" and bits["f"].dtype == "uint8" and bits["x"].dtype == "float32"
    assert same(ingot.load_file(path)["b"].view(ingot.bfloat16), t["b"])


# ---- TorchScript


def test_torchscript_archives_are_inspected() -> None:
    a = ScriptArchive(DATA / "counter.ts.pt")
    state = ingot.load(DATA / "counter.state.pt")
    assert a.version >= 3 and a.bytecode_version == 0 and a.members["data.pkl"] > 0
    assert a.modules == [("", "__torch__.Counter", False)]
    assert "def forward(self" in a.code["__torch__.py"]
    assert [(name, role) for name, role, _ in a.weights] == [("count", "buffer"), ("total", "buffer")]
    assert all(same(t, state[name]) for name, t in a.state_dict().items())
    assert len(a.constants) == 1 and a.constants[0].numel() == 1
    assert ScriptArchive(DATA / "mlp.ptl").bytecode_version >= 3
    with pytest.raises(FileError, match="not a TorchScript archive"):
        ScriptArchive(DATA / "counter.state.pt")


def test_torchscript_storages_of_newer_element_types() -> None:
    state = ScriptArchive(DATA / "narrow.ts.pt").state_dict()
    assert {name: t.dtype for name, t in state.items()} == {
        "a": ingot.float8_e4m3fn, "b": ingot.float8_e5m2, "u": ingot.uint16,
    }  # fmt: skip
    assert state["a"].to(ingot.float32).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert state["b"].to(ingot.float32).tolist() == [0, 1, 2, 3] and state["u"].tolist() == [0, 1, 2]


def test_torchscript_attributes_of_every_kind() -> None:
    """A scripted module with lists, dictionaries, tuples, an enum, a device, a shared submodule."""
    a = ScriptArchive(DATA / "rich.ts.pt")
    assert [(name, role) for name, role, _ in a.weights] == [
        ("w", "parameter"), ("plain", "attribute"), ("subs.0.b", "buffer"), ("subs.0.nb", "buffer"),
        ("subs.1.b", "buffer"), ("subs.1.nb", "buffer"), ("same.b", "buffer"), ("same.nb", "buffer"),
        ("lin.weight", "parameter"),
    ]  # fmt: skip
    assert "plain" not in a.state_dict() and a.members["extra/note.txt"] == 5
    assert ("same", "__torch__.Sub", True) in a.modules
    state = a.state_dict()
    assert state["same.b"].untyped_storage().data_ptr() == state["subs.0.b"].untyped_storage().data_ptr()


# ---- the real PyTorch


def test_pytorch_reads_what_ingot_writes() -> None:
    torch = real("torch")

    @hypothesis.settings(max_examples=100, deadline=None)
    @hypothesis.given(values(ingot))
    def check(value: Any) -> None:
        f = io.BytesIO()
        ingot.save(value, f)
        f.seek(0)
        assert same(value, torch.load(f, weights_only=True))

    check()


def test_ingot_reads_what_pytorch_writes() -> None:
    torch = real("torch")

    @hypothesis.settings(max_examples=100, deadline=None)
    @hypothesis.given(values(torch), st.booleans())
    def check(value: Any, zipped: bool) -> None:
        f = io.BytesIO()
        torch.save(value, f, _use_new_zipfile_serialization=zipped)
        f.seek(0)
        back = ingot.load(f)
        assert same(value, back)

    check()


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pytorch(protocol: int, zipped: bool) -> None:
    torch = real("torch")
    value = {
        "plain": [
            1,
            2.5,
            None,
            True,
            "x" * 300,
            b"by",
            bytearray(b"q"),
            {1, 2},
            (1, 2, 3, 4),
            OrderedDict(z=1),
            1j,
            Counter("aab"),
        ],
        "tensors": [torch.arange(5.0), torch.ones(2, dtype=torch.uint16), torch.nn.Parameter(torch.ones(1))],
        "others": [torch.Size([1]), torch.float32, torch.device("cuda", 0)],
    }
    f = io.BytesIO()
    torch.save(value, f, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    f.seek(0)
    assert same(value, ingot.load(f))


def test_pending_conjugations_are_done() -> None:
    torch = real("torch")
    z = torch.tensor([[1 + 2j, 3 - 4j], [0.5j, -1]])
    value = [
        z.conj(),
        z.t().conj(),
        z.clone().conj().imag,
        torch._neg_view(z),
        torch._neg_view(z.conj()),
        z[0, 0].conj(),
    ]
    f = io.BytesIO()
    torch.save(value, f)
    f.seek(0)
    for mine, theirs in zip(ingot.load(f), value, strict=True):
        assert numpy.array_equal(mine.numpy(), theirs.resolve_conj().resolve_neg().numpy())


def test_pickles_are_those_of_pytorch() -> None:
    torch = real("torch")
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.LSTM(4, 5))
    optimizer = torch.optim.Adam(module.parameters())
    for p in module.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    theirs, ours = io.BytesIO(), io.BytesIO()
    torch.save([module.state_dict(), optimizer.state_dict(), list(module.parameters()), list(range(3000))], theirs)
    ingot.save(ingot.load(io.BytesIO(theirs.getvalue())), ours)
    assert pickle_of(ours) == pickle_of(theirs)


def test_pytorch_loads_state_into_a_module(tmp_path: pathlib.Path) -> None:
    torch = real("torch")
    mine, theirs = nn.Linear(3, 2), torch.nn.Linear(3, 2)
    ingot.save(mine.state_dict(), tmp_path / "m.pt")
    theirs.load_state_dict(torch.load(tmp_path / "m.pt", weights_only=True, mmap=True))
    assert same(mine.weight, theirs.weight)


# ---- files of every release


@pytest.mark.skipif(not GOLDENS.is_dir(), reason="the folder of golden files is not here")
def test_files_of_every_release() -> None:
    count = 0
    for path in sorted(GOLDENS.glob("*/*.state.pt")):
        state = ingot.load(path)
        stem = str(path)[: -len(".state.pt")]
        count += 1
        if os.path.exists(stem + ".state.legacy.pt"):
            assert same(state, ingot.load(stem + ".state.legacy.pt"))
        for other in (stem + ".ts.pt", stem + ".ptl"):
            if os.path.exists(other):
                weights = ScriptArchive(other).state_dict()
                assert set(weights) == set(state)
                assert all(raw(weights[n]) == raw(t) and weights[n].dtype == t.dtype for n, t in state.items())
    assert count > 100
