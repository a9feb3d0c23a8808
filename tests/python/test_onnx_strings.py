# SPDX-License-Identifier: Apache-2.0
"""Strings in and out of ONNX models: files made by NumPy for the command, arrays and lists for Python. onnxruntime
gives the same where it has the operator."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

import ingot

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
STRING, INT64, BOOL, FLOAT = TensorProto.STRING, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
WORDS = np.array([["alpha", "", "été"], ["a", "naïve", "😀 b"]])


def model(nodes: list[Any], inputs: dict[str, tuple], outputs: dict[str, tuple], ml: bool = False) -> Any:
    def info(ports: dict[str, tuple]) -> list[Any]:
        return [helper.make_tensor_value_info(name, elem, shape) for name, (elem, shape) in ports.items()]

    opsets = [helper.make_opsetid("", 20)] + [helper.make_opsetid("ai.onnx.ml", 3)] * ml
    graph = helper.make_graph(nodes, "g", info(inputs), info(outputs))
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(made)
    return made


def node(kind: str, inputs: str, outputs: str, **kw: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **kw)


S = (STRING, ["n", 3])
CASES = {
    "StringConcat": (model([node("StringConcat", "a b", "y")], {"a": S, "b": (STRING, [3])}, {"y": S}),
                     {"a": WORDS, "b": np.array(["1", "é", ""])}),
    "Equal of a row": (model([node("Equal", "a b", "y")], {"a": S, "b": (STRING, [3])}, {"y": (BOOL, ["n", 3])}),
                       {"a": WORDS, "b": np.array(["alpha", "naïve", "été"])}),
    "Concat": (model([node("Concat", "a b", "y", axis=1)], {"a": S, "b": S}, {"y": (STRING, ["n", 6])}),
               {"a": WORDS, "b": WORDS[::-1].copy()}),
    "moved": (model([node("Transpose", "a", "t"), node("Unsqueeze", "t one", "u"), node("Expand", "u e", "y")],
                    {"a": S, "one": (INT64, [1]), "e": (INT64, [3])}, {"y": (STRING, [3, 2, "n"])}),
              {"a": WORDS, "one": np.array([1]), "e": np.array([3, 2, 2])}),
    "Equal": (model([node("Equal", "a b", "y")], {"a": S, "b": S}, {"y": (BOOL, ["n", 3])}),
              {"a": WORDS, "b": np.where([[True, False, True]], WORDS, "other")}),
    "Where": (model([node("Where", "c a b", "y")], {"c": (BOOL, ["n", 3]), "a": S, "b": S}, {"y": S}),
              {"c": np.array([[True, False, True], [False, False, True]]), "a": WORDS, "b": WORDS[::-1].copy()}),
    "Gather": (model([node("Gather", "a i", "y", axis=1)], {"a": S, "i": (INT64, [2])}, {"y": (STRING, ["n", 2])}),
               {"a": WORDS, "i": np.array([2, 0])}),
    "Reshape": (model([node("Reshape", "a s", "y")], {"a": S, "s": (INT64, [3])}, {"y": (STRING, ["p", "q", "r"])}),
                {"a": WORDS, "s": np.array([3, 1, 2])}),
    "RegexFullMatch": (model([node("RegexFullMatch", "a", "y", pattern="a.*")], {"a": S}, {"y": (BOOL, ["n", 3])}),
                       {"a": WORDS}),
    "StringNormalizer": (model([node("StringNormalizer", "a", "y", case_change_action="UPPER", stopwords=["b"])],
                               {"a": (STRING, [3])}, {"y": (STRING, ["k"])}), {"a": np.array(["x", "b", "yz"])}),
    "LabelEncoder": (model([node("LabelEncoder", "a", "y", domain="ai.onnx.ml", keys_strings=["a", "alpha"],
                                 values_int64s=[3, 4], default_int64=-1)], {"a": S}, {"y": (INT64, ["n", 3])}, ml=True),
                     {"a": WORDS}),
    "Pad": (model([node("Pad", "a p v", "y")], {"a": S, "p": (INT64, [4]), "v": (STRING, [])},
                  {"y": (STRING, ["p", "q"])}), {"a": WORDS, "p": np.array([0, 1, 1, 2]), "v": np.array("-")}),
    "Resize": (model([node("Resize", "a r r s", "y", nearest_mode="floor",
                           coordinate_transformation_mode="asymmetric")],
                     {"a": S, "r": (FLOAT, [0]), "s": (INT64, [2])}, {"y": (STRING, ["p", "q"])}),
               {"a": WORDS, "r": np.zeros(0, np.float32), "s": np.array([4, 6])}),
    "OneHot": (model([node("OneHot", "i d v", "y")], {"i": (INT64, [3]), "d": (INT64, []), "v": (STRING, [2])},
                     {"y": (STRING, [3, "q"])}),
               {"i": np.array([2, 0, 1]), "d": np.array(4), "v": np.array(["no", "yes"])}),
    "Trilu": (model([node("Trilu", "a", "y")], {"a": S}, {"y": S}), {"a": WORDS}),
    "a text": (model([node("Identity", "a", "y")], {"a": (STRING, [])}, {"y": (STRING, [])}), {"a": np.array("only")}),
    "no texts": (model([node("Identity", "a", "y")], {"a": S}, {"y": S}), {"a": np.empty((0, 3), "U1")}),
}


# onnxruntime has no kernel for strings here, or needs a locale.
LITERAL = {
    "Pad": np.pad(WORDS.astype(object), ((0, 1), (1, 2)), constant_values="-"),
    "StringNormalizer": ["X", "YZ"],
    "Resize": np.repeat(np.repeat(WORDS, 2, 0), 2, 1),
    "Trilu": np.triu(np.ones(WORDS.shape, int)).astype(object) * WORDS.astype(object),
}


def wanted(made: Any, feeds: dict[str, Any]) -> Any:
    kind = made.graph.node[0].op_type
    if kind in LITERAL:
        return np.array(LITERAL[kind], dtype=object)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    objects = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()}
    return session.run(None, objects)[0]


@pytest.mark.parametrize("name", CASES)
def test_backend(name: str) -> None:
    backend = pytest.importorskip("ingot.onnx.backend")
    made, feeds = CASES[name]
    expected = wanted(made, feeds)
    forms = [feeds, {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()},
             {k: np.char.encode(v, "utf-8") if v.dtype.kind == "U" else v for k, v in feeds.items()}]
    if name != "no texts":
        forms.append({k: v.tolist() if v.dtype.kind == "U" else v for k, v in feeds.items()})
    for form in forms:
        (found,) = backend.prepare(made).run(form)
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist()


def test_engine_takes_lists() -> None:
    made, feeds = CASES["StringConcat"]
    engine = ingot._C.onnx_parse(made.SerializeToString(), "m")
    ((_, shape, texts),) = engine.run([feeds["a"].tolist(), ["1", b"2", "3"]])
    assert shape == (2, 3) and texts[:3] == [b"alpha1", b"2", "été3".encode()]
    ((_, _, texts),) = engine.run([feeds["a"], feeds["b"]])  # arrays of NumPy
    assert texts[0] == b"alpha1"
    for bad in ([["a", "b", "c"], ["a", "b"]], [["a", "b", 3]], ["a", ["b"]], [["a", "b", None]]):
        with pytest.raises(TypeError, match="expected a str or lists of str of equal lengths"):
            engine.run([bad, ["1", "2", "3"]])
    with pytest.raises(RuntimeError, match="input 'b': dimension 0: found 2, expected 3"):
        engine.run([feeds["a"], ["1", "2"]])


# ---- the command


def ingot_command(folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return subprocess.run([BUILD / "ingot", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60)


needs_command = pytest.mark.skipif(not (BUILD / "ingot").exists(), reason="the command is not built")


@needs_command
@pytest.mark.parametrize("form", ["U", "S", ">U"])
@pytest.mark.parametrize("name", CASES)
def test_command(name: str, form: str, tmp_path: pathlib.Path) -> None:
    made, feeds = CASES[name]
    expected = wanted(made, feeds)
    onnx.save(made, tmp_path / "m.onnx")

    def as_form(v: Any) -> Any:
        if v.dtype.kind != "U" or form == "U":
            return v
        return np.char.encode(v, "utf-8") if form == "S" else v.astype(v.dtype.newbyteorder(">"))

    np.savez(tmp_path / "in.npz", **{k: as_form(v) for k, v in feeds.items()})
    done = ingot_command(tmp_path, "run", "m.onnx", "--inputs", "in.npz", "--output", "out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as z:
        found = z["y"]
    assert found.dtype.kind == ("U" if expected.dtype == object else expected.dtype.kind)
    if name != "no texts":  # of an array of nothing only the sizes up to the first 0 are kept
        assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()
    done = ingot_command(tmp_path, "run", "m.onnx", "--inputs", "in.npz", "--check", "out.npz")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_command
def test_command_prints_texts(tmp_path: pathlib.Path) -> None:
    made, feeds = CASES["StringConcat"]
    onnx.save(made, tmp_path / "m.onnx")
    for key, value in feeds.items():
        np.save(tmp_path / f"{key}.npy", value)
    words = ("run", "m.onnx", "--input", "a=a.npy", "--input", "b=b.npy")
    done = ingot_command(tmp_path, *words)
    assert done.stdout.split() == "y string[2, 3] 'alpha1' 'é' 'été' 'a1' 'naïveé' '😀 b'".split()
    done = ingot_command(tmp_path, *words, "--json")
    assert json.loads(done.stdout)["outputs"] == [{"name": "y", "role": "user", "dtype": "string", "shape": [2, 3]}]
    done = ingot_command(tmp_path, *words, "--output", "y.npy")
    assert done.returncode == 0 and np.load(tmp_path / "y.npy")[0, 0] == "alpha1"
    np.save(tmp_path / "other.npy", np.load(tmp_path / "y.npy")[::-1])
    done = ingot_command(tmp_path, *words, "--check", "other.npy")
    assert done.returncode == 1 and "other texts" in done.stdout
    done = ingot_command(tmp_path, "info", "m.onnx")
    assert "string[n, 3]" in done.stdout
    done = ingot_command(tmp_path, "info", "a.npy")
    assert "string[2, 3]" in done.stdout
    done = ingot_command(tmp_path, "diff", "a.npy", "y.npy")
    assert done.returncode == 1 and "string[2, 3]" in done.stdout
    for name in ("w.safetensors", "w.pt"):
        done = ingot_command(tmp_path, *words, "--output", name)
        assert done.returncode != 0 and "array 'y' holds texts" in done.stderr
    done = ingot_command(tmp_path, "convert", "a.npy", "copy.npz")
    assert done.returncode == 0, done.stderr
    done = ingot_command(tmp_path, "convert", "m.onnx", "older.onnx")
    assert done.returncode == 0 and "not compared" in done.stderr


@needs_command
def test_command_refuses_what_does_not_fit(tmp_path: pathlib.Path) -> None:
    made, feeds = CASES["StringConcat"]
    onnx.save(made, tmp_path / "m.onnx")
    np.savez(tmp_path / "numbers.npz", a=np.zeros((2, 3), np.float32), b=feeds["b"])
    np.savez(tmp_path / "sizes.npz", a=feeds["a"][:, :2], b=feeds["b"])
    np.savez(tmp_path / "objects.npz", a=feeds["a"].astype(object), b=feeds["b"])
    np.savez(tmp_path / "half.npz", a=feeds["a"])
    for file, why in (("numbers", "input 'a' is string[n, 3], the array holds numbers"),
                      ("sizes", "dim 1: found size 2, expected 3"), ("objects", "Python objects"),
                      ("half", "input 'b' (string[3]) was not given; use --inputs FILE.npz or --input b=FILE.npy")):
        done = ingot_command(tmp_path, "run", "m.onnx", "--inputs", f"{file}.npz")
        assert done.returncode not in (0, 1) and why in done.stderr, done.stderr
    done = ingot_command(tmp_path, "run", "m.onnx", "--random")
    assert done.returncode == 5 and "was not given" in done.stderr
    onnx.save(CASES["Gather"][0], tmp_path / "g.onnx")
    np.savez(tmp_path / "swapped.npz", a=feeds["a"], i=np.array(["1", "2"]))
    done = ingot_command(tmp_path, "run", "g.onnx", "--inputs", "swapped.npz")
    assert "input 'i' is int64[2], the array holds texts" in done.stderr


def test_files_of_texts_from_python(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "a.npz", words=WORDS, x=np.ones(2, np.float32))
    found = ingot.load_file(str(tmp_path / "a.npz"))
    assert found["words"] == WORDS.tolist() and found["x"].tolist() == [1, 1]
