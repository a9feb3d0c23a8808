# SPDX-License-Identifier: Apache-2.0
"""Print how fast ONNX models run in Ingot, ONNX Runtime and OpenVINO, measured in turn in one run.

    python bench/runtime.py MODELS_FILE [--peers PYTHON] [--threads 1,2] [--only TEXT] [--dynamic] [--seconds 1] [--cpu]
                            [--files FOLDER]

MODELS_FILE has MODELS = {name: maker of (module, args)}. Each model is exported once, by Ingot; with --files to a
folder that is kept, where models that were exported before are not exported again. Every library has a
process of its own, because threads of one that keep polling take the cores from whoever runs next; PYTHON is one that
has the peers (by default this one), and a library that it lacks is left out. Times are medians of single runs in
milliseconds; `ratio` is Ingot's to that of the best peer, `error` its largest difference from the first peer, relative
to the largest output; `start` is from the start of the process to the first output; `MB` is the most memory that the
process ever had resident, Python included (Linux only). `compiled` is Ingot with the file that `ingot compile` writes.

With --cpu times are processor time of the whole process, which a loaded machine disturbs less; with more than one
thread they say how much work there is, not how long it takes.

With --dynamic the first size of every input, and the second one of integers, is dynamic; `new size` is what the first
run with a size takes beyond a later one, in microseconds, the median over several sizes.
"""

import argparse
import importlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 5
OURS = ("ingot", "compiled")
PEERS = ("onnxruntime", "openvino")
NEW_SIZES = range(2, 7)
COLUMNS = 8
Arrays = list[numpy.ndarray]

# ---- making files


def export(models: str, name: str, folder: str, dynamic: bool) -> None:
    """The model and its inputs, in the order of the inputs of the file."""
    importlib.import_module("ingot.as_torch")
    torch: Any = importlib.import_module("torch")
    sys.path.insert(0, str(HERE))
    model, args = importlib.import_module("onnx_export").load_models(models).MODELS[name]()
    leaves = importlib.import_module("torch.utils._pytree").tree_leaves(args)
    shapes = None
    if dynamic:
        if not all(isinstance(t, torch.Tensor) for t in args):
            raise SystemExit("inputs that are no tensors: their sizes stay as they are")
        auto = torch.export.Dim.AUTO
        shapes = tuple({0: auto} | ({1: auto} if t.ndim > 1 and not t.dtype.is_floating_point else {}) for t in args)
        args = tuple(torch.cat((t, t)) if t.shape[0] == 1 else t for t in args)
        leaves = list(args)
    program = torch.onnx.export(model.eval(), args, dynamo=True, verify=False, dynamic_shapes=shapes)
    program.save(f"{folder}/{name}.onnx")
    numpy.savez(f"{folder}/{name}.npz", *[t.numpy() for t in leaves])
    ingot: Any = importlib.import_module("ingot")
    ingot.open(f"{folder}/{name}.onnx").compile(f"{folder}/{name}.ingot", *[t.numpy() for t in leaves])


# ---- running them: each function gives one that runs on arrays in the order of the inputs


def open_ingot(path: str, threads: int) -> Callable[[Arrays], Arrays]:
    ingot: Any = importlib.import_module("ingot")
    ingot.set_num_threads(threads)
    session = ingot.open(path)

    def run(arrays: Arrays) -> Arrays:
        out = session(*arrays)
        return [numpy.asarray(v) for v in (out if isinstance(out, (tuple, list)) else [out])]

    return run


def open_onnxruntime(path: str, threads: int) -> Callable[[Arrays], Arrays]:
    ort: Any = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))


def open_openvino(path: str, threads: int) -> Callable[[Arrays], Arrays]:
    vino: Any = importlib.import_module("openvino")
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    request = vino.Core().compile_model(path, "CPU", hints).create_infer_request()

    def run(arrays: Arrays) -> Arrays:
        results = request.infer(arrays, share_inputs=True, share_outputs=True)
        return list(results.values())

    return run


def open_compiled(path: str, threads: int) -> Callable[[Arrays], Arrays]:
    return open_ingot(path.removesuffix(".onnx") + ".ingot", threads)


OPEN = {"ingot": open_ingot, "compiled": open_compiled, "onnxruntime": open_onnxruntime, "openvino": open_openvino}


Clock = Callable[[], float]


def time_of(run: Callable[[Arrays], Any], arrays: Arrays, clock: Clock = time.perf_counter) -> float:
    start = clock()
    run(arrays)
    return clock() - start


def median_time(run: Callable[[Arrays], Any], arrays: Arrays, seconds: float, clock: Clock) -> float:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        times.append(time_of(run, arrays, clock))
    return statistics.median(times)


def new_size_time(run: Callable[[Arrays], Any], arrays: Arrays) -> float:
    """Texts are cut short: where a run takes long, its noise hides what is measured."""
    extra = []
    for n in NEW_SIZES:
        rows = [a[:1, :COLUMNS] if a.ndim > 1 and a.dtype.kind == "i" else a[:1] for a in arrays]
        sized = [numpy.concatenate([row] * n) for row in rows]
        first = time_of(run, sized)
        extra.append(first - min(time_of(run, sized) for _ in range(3)))
    return statistics.median(extra)


def peak_memory() -> float:
    """Megabytes; 0 where the system does not tell. Not getrusage, which counts what was there before exec."""
    status = pathlib.Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return sum(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM:"))


def serve(provider: str, stem: str, threads: int) -> None:
    """Answers requests, a line of JSON each, after the first run."""
    with numpy.load(f"{stem}.npz") as data:
        arrays = [data[key] for key in data.files]
    run = OPEN[provider](f"{stem}.onnx", threads)
    first = run(arrays)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "save" in request:
            numpy.savez(request["save"], *first)
            print(json.dumps(0), flush=True)
        elif "memory" in request:
            print(json.dumps(peak_memory()), flush=True)
        elif "sizes" in request:
            print(json.dumps(new_size_time(run, arrays)), flush=True)
        else:
            clock = time.process_time if request["cpu"] else time.perf_counter
            print(json.dumps(median_time(run, arrays, request["seconds"], clock)), flush=True)


# ---- the table


class Server:
    def __init__(self, provider: str, python: str, stem: str, threads: int) -> None:
        self.provider = provider
        command = [python, __file__, "--serve", provider, stem, str(threads)]
        start = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.alive = self.process.stdout is not None and bool(self.process.stdout.readline())
        self.start = time.perf_counter() - start

    def ask(self, **request: Any) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

    def stop(self) -> None:
        self.process.communicate()


def difference(servers: list[Server], folder: str) -> float:
    servers = [s for s in servers if s.provider != "compiled"]
    for server in servers:
        server.ask(save=f"{folder}/{server.provider}.out.npz")
    with (
        numpy.load(f"{folder}/{servers[0].provider}.out.npz") as a,
        numpy.load(f"{folder}/{servers[1].provider}.out.npz") as b,
    ):
        return max(float(numpy.abs(a[k] - b[k]).max() / (numpy.abs(b[k]).max() + 1e-9)) for k in b.files)


def measure(options: argparse.Namespace, pythons: dict[str, str], folder: str, name: str, threads: int) -> None:
    started = [Server(provider, python, f"{folder}/{name}", threads) for provider, python in pythons.items()]
    servers = [s for s in started if s.alive]
    if not servers or servers[0].provider != "ingot":
        print(f"{name:<14} {threads}  does not run", flush=True)
        return
    times: dict[str, list[float]] = {s.provider: [] for s in servers}
    for _ in range(ROUNDS):
        for server in servers:
            times[server.provider].append(server.ask(seconds=options.seconds / ROUNDS, cpu=options.cpu))
    best = {provider: statistics.median(rounds) * 1e3 for provider, rounds in times.items()}
    cells = [f"{name:<14} {threads}"]
    cells += [f"{best[p]:12.3f}" if p in best else f"{'-':>12}" for p in pythons]
    peers = [t for p, t in best.items() if p not in OURS]
    cells += [f"{best['ingot'] / min(peers):7.2f} {difference(servers, folder):9.1e}"] if peers else [f"{'':17}"]
    cells += [f"{s.start * 1e3:8.0f}" if s.alive else f"{'-':>8}" for s in started]
    cells += [f"{s.ask(memory=True):8.0f}" if s.alive else f"{'-':>8}" for s in started]
    if options.dynamic:
        cells += [f"{s.ask(sizes=True) * 1e6:10.0f}" if s.alive else f"{'-':>10}" for s in started]
    print(" ".join(cells), flush=True)
    for server in servers:
        server.stop()


def has(python: str, module: str) -> bool:
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def make_files(options: argparse.Namespace, folder: str, name: str) -> bool:
    if pathlib.Path(f"{folder}/{name}.ingot").is_file():
        return True
    command = [sys.executable, __file__, "--export", options.models, name, folder]
    done = subprocess.run([*command, *(["--dynamic"] if options.dynamic else [])], capture_output=True, text=True)
    if done.returncode:
        print(f"{name:<14}    {(done.stderr.strip().splitlines() or ['died'])[-1][:100]}", flush=True)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?")
    parser.add_argument("--peers", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--files", metavar="FOLDER")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], options.serve[1], int(options.serve[2]))
        return
    if options.export:
        export(options.export[0], options.export[1], options.export[2], options.dynamic)
        return
    sys.path.insert(0, str(HERE))
    importlib.import_module("ingot.as_torch")
    names = importlib.import_module("onnx_export").load_models(options.models).MODELS
    pythons = dict.fromkeys(OURS, sys.executable)
    for peer in PEERS:
        if has(options.peers, peer):
            pythons[peer] = options.peers
        else:
            print(f"runtime: {peer} is not installed here; its column is left out")
    print(
        f"{'model, threads':<16}"
        + " ".join(f"{p:>12}" for p in pythons)
        + f" {'ratio':>7} {'error':>9}"
        + "".join(f" {'start':>8}" for _ in pythons)
        + "".join(f" {'MB':>8}" for _ in pythons)
        + ("  new size" if options.dynamic else "")
    )
    for name in (n for n in names if options.only in n):
        with tempfile.TemporaryDirectory() as folder:
            made = make_files(options, options.files or folder, name)
            for threads in map(int, options.threads.split(",")) if made else ():
                measure(options, pythons, options.files or folder, name, threads)


main()
