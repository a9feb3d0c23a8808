# SPDX-License-Identifier: Apache-2.0
"""Every operator that the ONNX writer translates, at every opset from 7 on: the samples of its record as models, given
to onnx.checker and to onnxruntime, whose results must be those of Ingot. tests/onnx/samples_tool.c writes the models.

What cannot be written is refused with a reason and listed in onnx_samples_refused.txt; what onnxruntime lacks or does
differently stands in onnx_samples_runtime.txt, with the reason. Both lists are exact: an entry that is no longer true
fails, too. INGOT_UPDATE=1 writes them anew.

Two models with the same graph whose operators are of the same versions are one model, however many opsets it is written
for; that makes 1,400 samples at 22 opsets a matter of seconds."""
from __future__ import annotations

import collections
import functools
import io
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import subprocess
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", HERE.parents[1] / "build/release"))
TOOL = BUILD / "tests/onnx_samples_tool"
UPDATE = bool(os.environ.get("INGOT_UPDATE"))
REFUSED = HERE / "onnx_samples_refused.txt"
RUNTIME = HERE / "onnx_samples_runtime.txt"
UNSUPPORTED = 10  # ig_status of what is sound but cannot be expressed
TOLERANCE = {"float16": 5e-3, "bfloat16": 3e-2}
WORKERS = 2

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="the tool is not built"),
    pytest.mark.skipif("INGOT_SANITIZED" in os.environ, reason="onnxruntime is not sanitized"),
]


# ---- the lists: "operator/sample opsets: what", opsets as "7-12,14"; behind it " -- " and why, where that needs words


def spans(opsets: set[int]) -> str:
    parts: list[list[int]] = []
    for n in sorted(opsets):
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def members(text: str) -> set[int]:
    return {n for part in text.split(",") for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}


Entries = dict[tuple[str, int], str]  # ("aten.add.Tensor/0", 9) -> what


def read_list(path: pathlib.Path) -> tuple[Entries, dict[tuple[str, str], str]]:
    """The entries, and why, by sample and what."""
    entries: Entries = {}
    reasons = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        place, _, text = line.partition(": ")
        sample, _, opsets = place.partition(" ")
        what, _, why = text.partition(" -- ")
        entries.update({(sample, n): what for n in members(opsets)})
        reasons[sample, what] = why
    return entries, reasons


def write_list(path: pathlib.Path, entries: Entries) -> None:
    _, reasons = read_list(path)
    groups = collections.defaultdict(set)
    for (sample, opset), what in entries.items():
        groups[sample, what].add(opset)
    lines = [line for line in path.read_text().splitlines() if line.startswith("#")]
    for (sample, what), opsets in sorted(groups.items()):
        why = reasons.get((sample, what))
        lines.append(f"{sample} {spans(opsets)}: {what}{' -- ' + why if why else ''}")
    path.write_text("\n".join(lines) + "\n")


def check_list(path: pathlib.Path, found: Entries) -> None:
    if UPDATE:
        write_list(path, found)
    known, _ = read_list(path)
    new = {key: found[key] for key in found.keys() - known.keys()}
    gone = sorted(known.keys() - found.keys())
    other = {key: (found[key], known[key]) for key in found.keys() & known.keys() if found[key] != known[key]}
    assert not new, f"not in {path.name}: {new}"
    assert not gone, f"in {path.name}, but no longer so: {gone}"
    assert not other, f"{path.name}, something else (found, listed): {other}"


# ---- the models


@functools.lru_cache(maxsize=1)
def archive(*dtypes: str) -> dict[str, dict[str, bytes]]:
    """"aten.add.Tensor/0" -> its files; "aten.add.Tensor/0:float16", with these dtypes instead of float32."""
    path = BUILD / f"onnx_samples.{os.getpid()}.zip"
    subprocess.run([TOOL, path, *dtypes], check=True, timeout=600)
    groups: dict[str, dict[str, bytes]] = collections.defaultdict(dict)
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            sample, _, file = name.rpartition("/")
            groups[sample][file] = z.read(name)
    path.unlink()
    return groups


def opsets_of(files: dict[str, bytes], suffix: str) -> list[int]:
    return sorted(int(name[: -len(suffix)]) for name in files if name.endswith(suffix))


def reason_of(text: str) -> str:
    """The refusal without what differs between opsets: counts and names of nodes."""
    lines = [re.sub(r"^model: opset \d+: ", "", line) for line in text.splitlines()]
    lines = [line for line in lines if not re.match(r"(model: )?\d+ (nodes|calls) cannot be ", line)]
    lines = [re.sub(r" ?\(opset \d+\)", "", re.sub(r"^node '[^']*' ", "", line)) for line in lines]
    return "; ".join(dict.fromkeys(re.sub(r"'[^']*'", "an operand", line) for line in lines))


def test_every_operator_has_samples() -> None:
    """All operators but those whose record says that they have no result for fake operands."""
    operators = {sample.partition("/")[0] for sample in archive()}
    written = {sample.partition("/")[0] for sample, files in archive().items() if {"text", "waived"} & files.keys()}
    assert not sorted(operators - written)


def test_what_is_not_written_is_refused_in_words() -> None:
    found: Entries = {}
    for sample, files in archive().items():
        for opset in opsets_of(files, ".refused"):
            status, _, text = files[f"{opset}.refused"].decode().partition(" ")
            assert int(status) == UNSUPPORTED, f"{sample}, opset {opset}: {text}"
            found[sample, opset] = reason_of(text)
    check_list(REFUSED, found)


# ---- running


def arrays(files: dict[str, bytes], letter: str) -> list[Any]:
    found = []
    for i in range(len(files)):
        if f"{letter}{i}.npy" in files:
            array = np.load(io.BytesIO(files[f"{letter}{i}.npy"]))
            if array.dtype.kind == "c":  # pairs of real numbers
                array = np.stack([array.real, array.imag], -1)
            found.append(array)
        elif f"{letter}{i}.bfloat16.npy" in files:  # as what is of the same value and NumPy has
            bits = np.load(io.BytesIO(files[f"{letter}{i}.bfloat16.npy"])).astype(np.uint32) << 16
            found.append(bits.view(np.float32))
        else:
            return found
    return found


def cast_bfloat16(model: Any) -> None:
    """Inputs and outputs of bfloat16 become float32, since onnxruntime gives NumPy no others."""
    for kind, ports in (("in", model.graph.input), ("out", model.graph.output)):
        for port in ports:
            if port.type.tensor_type.elem_type != onnx.TensorProto.BFLOAT16:
                continue
            port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
            plain, inner = port.name, port.name + ".bfloat16"
            for node in model.graph.node:
                names = node.input if kind == "in" else node.output
                names[:] = [inner if n == plain else n for n in names]
                if kind == "out":
                    node.input[:] = [inner if n == plain else n for n in node.input]
            to = onnx.TensorProto.BFLOAT16 if kind == "in" else onnx.TensorProto.FLOAT
            ends = [plain, inner] if kind == "in" else [inner, plain]
            cast = onnx.helper.make_node("Cast", ends[:1], ends[1:], to=to)
            model.graph.node.insert(0 if kind == "in" else len(model.graph.node), cast)
    del model.graph.value_info[:]


def versions(model: Any, opset: int) -> tuple[Any, ...]:
    """The operators of a model and their versions."""

    def kinds(nodes: Any) -> Iterator[tuple[str, int]]:
        for node in nodes:
            yield node.op_type, onnx.defs.get_schema(node.op_type, opset, node.domain).since_version
            for attr in node.attribute:
                yield from kinds(attr.g.node)

    return tuple(sorted(set(kinds(model.graph.node))))


@functools.lru_cache(maxsize=1)
def settings() -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def run(model: Any, inputs: list[Any]) -> tuple[list[Any], str]:
    """Results of onnxruntime; if it does not know the version of the standard, of the onnx package's reference."""
    feeds = {port.name: array for port, array in zip(model.graph.input, inputs, strict=True)}
    try:
        session = runtime.InferenceSession(model.SerializeToString(), settings(), providers=["CPUExecutionProvider"])
        return session.run(None, feeds), ""
    except Exception as error:
        text = str(error)
    if "Unsupported model IR version" in text or "ValidateOpsetForDomain" in text:
        from onnx.reference import ReferenceEvaluator

        try:
            with np.errstate(all="ignore"):
                return ReferenceEvaluator(model).run(None, feeds), ""
        except Exception as error:
            return [], f"the reference of onnx raises {type(error).__name__}"
    missing = re.search(r"NOT_IMPLEMENTED.*?(\w+)\((\d+)\)", text)
    if missing:
        return [], f"onnxruntime has no {missing[1]}-{missing[2]} of these types"
    return [], re.sub(r"\s+", " ", re.sub(r"^.*Status Message: (\w+\.\w+:\d+ )?", "", text))[:120]


def difference(found: list[Any], wanted: list[Any], values: bool) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for a, b in zip(found, wanted, strict=True):
        a = np.asarray(a)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        tolerance = TOLERANCE.get(str(b.dtype), 1e-4)
        if values and not np.allclose(a.astype(np.float64), b.astype(np.float64), 10 * tolerance, tolerance, True):
            return "other values"
    return ""


def check_sample(files: dict[str, bytes]) -> dict[int, str]:
    """By opset: what is wrong, "" where nothing is."""
    inputs, wanted = arrays(files, "x"), arrays(files, "y")
    done: dict[Any, str] = {}
    result = {}
    for opset in opsets_of(files, ".onnx"):
        model = onnx.load_model_from_string(files[f"{opset}.onnx"])
        key = (model.graph.SerializeToString(), versions(model, opset))
        if key not in done:
            try:
                onnx.checker.check_model(model, full_check=True)
            except Exception as error:
                done[key] = "onnx.checker: " + " ".join(str(error).split())[:160]
            else:
                cast_bfloat16(model)
                found, why = run(model, inputs)
                done[key] = why or difference(found, wanted, "random" not in files)
        result[opset] = done[key]
    return result


def worker(tasks: Any, answers: Any) -> None:
    for sample, files in iter(tasks.recv, None):
        answers.send((sample, check_sample(files)))


class Workers:
    """Processes, because onnxruntime may die of a model."""

    def __init__(self) -> None:
        self.method = multiprocessing.get_context("spawn")
        self.started: list[Any] = [None] * WORKERS

    def start(self) -> Any:
        tasks, answers = self.method.Pipe(), self.method.Pipe()
        process = self.method.Process(target=worker, args=(tasks[1], answers[1]), daemon=True)
        process.start()
        answers[1].close()
        return process, tasks[0], answers[0]

    def run(self, jobs: list[tuple[str, dict[str, bytes]]]) -> Iterator[tuple[str, dict[int, str]]]:
        waiting = jobs[::-1]
        busy: dict[int, tuple[str, dict[str, bytes]]] = {}
        while waiting or busy:
            for i in range(WORKERS):
                if i not in busy and waiting:
                    self.started[i] = self.started[i] or self.start()
                    busy[i] = waiting.pop()
                    self.started[i][1].send(busy[i])
            ready = multiprocessing.connection.wait([self.started[i][2] for i in busy])
            for i in [i for i in busy if self.started[i][2] in ready]:
                sample, files = busy.pop(i)
                try:
                    yield self.started[i][2].recv()
                except EOFError:
                    self.started[i] = None
                    yield sample, dict.fromkeys(opsets_of(files, ".onnx"), "onnxruntime crashes")
        for process, tasks, _ in filter(None, self.started):
            tasks.send(None)
            process.join()


def test_onnxruntime_gives_the_same() -> None:
    jobs = [(sample, files) for sample, files in archive().items() if opsets_of(files, ".onnx")]
    results = {(sample, opset): why for sample, found in Workers().run(jobs) for opset, why in found.items()}
    assert len(results) > 20000
    check_list(RUNTIME, {key: why for key, why in results.items() if why})


# What onnxruntime lacks for other dtypes than float32.
LACKS = (
    "onnxruntime has no ",
    "CPU execution provider: MLFloat16 data type is not supported ",
    "GRU operator does not support double yet",
    "LSTM operator does not support double yet",
)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_floats(dtype: str) -> None:
    """What differs from Ingot with another dtype differs with float32."""
    jobs = [(sample, files) for sample, files in archive(dtype).items() if opsets_of(files, ".onnx")]
    assert len(jobs) > 1300
    known, _ = read_list(RUNTIME)
    wrong = {
        (sample, opset): why
        for sample, found in Workers().run(jobs)
        for opset, why in found.items()
        if why and not why.startswith(LACKS) and known.get((sample.partition(":")[0], opset)) != why
    }
    assert not wrong


def test_bfloat16_is_written_by_the_standard() -> None:
    """onnxruntime has few kernels for it, so only the checker is asked; draws of random numbers need opset 22."""
    wrong = {}
    for sample, files in archive("bfloat16").items():
        if "random" in files:
            continue
        for opset in opsets_of(files, ".onnx"):
            if opset > 15:
                try:
                    onnx.checker.check_model(files[f"{opset}.onnx"], full_check=True)
                except Exception as error:
                    wrong[sample, opset] = str(error)[:200]
    assert not wrong


def test_what_differs_has_a_reason() -> None:
    _, reasons = read_list(RUNTIME)
    assert reasons
    assert not [key for key, why in reasons.items() if not why and not key[1].startswith("onnxruntime has no ")]
