# SPDX-License-Identifier: Apache-2.0
"""The tour: two small models, captured from Python, and one from C, each taken through the whole stack.

    make demo

Every step says what it does and how far its results differ from the eager run. Any disagreement or failure
makes the tour fail. The real PyTorch and ONNX Runtime take part where they are installed.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy

import ingot
from ingot import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
# Of an installed package beside its Python, otherwise of the build.
INSTALLED = pathlib.Path(sys.executable).parent / "ingot"
COMMAND = INSTALLED if INSTALLED.exists() else BUILD / "ingot"
TOLERANCE = 1e-5


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        return self.fc2(nn.functional.relu(self.fc1(x)))


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x: ingot.Tensor) -> ingot.Tensor:
        x = self.pool(ingot.relu(self.norm(self.conv(x))))
        return self.head(ingot.flatten(x, 1))


def step(text: str) -> None:
    print(f"\n-- {text}")


def compare(who: str, got: numpy.ndarray, expected: numpy.ndarray) -> None:
    difference = float(numpy.abs(got - expected).max())
    print(f"   {who}: largest difference to the eager run {difference:.1e}")
    if got.shape != expected.shape or not difference <= TOLERANCE:
        sys.exit(f"demo: {who} disagrees")


def run(*command: object) -> None:
    words = [str(word) for word in command]
    shown = [pathlib.Path(w).name if w.startswith("/") else w for w in words]
    print("   $ " + " ".join("..." if " " in w else w for w in shown))
    done = subprocess.run(words, capture_output=True, text=True)
    print("".join(f"   {line}\n" for line in done.stdout.splitlines()), end="")
    if done.returncode != 0:
        sys.exit(f"demo: {words[0]} failed:\n{done.stderr}")


def installed(*modules: str) -> bool:
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        print(f"   {' and '.join(missing)} not installed here: left out")
    return not missing


def with_torch(path: pathlib.Path, x: numpy.ndarray, y: numpy.ndarray) -> None:
    if installed("torch"):
        code = (
            "import sys, numpy, torch; p = torch.export.load(sys.argv[1]); "
            "x = torch.from_numpy(numpy.load(sys.argv[2])['x']); "
            "numpy.savez(sys.argv[3], p.module()(x).detach().numpy())"
        )
        out = path.with_suffix(".torch.npz")
        run(sys.executable, "-c", code, path, path.with_name("x.npz"), out)
        compare("PyTorch", numpy.load(out)["arr_0"], y)


def with_onnxruntime(path: pathlib.Path, x: numpy.ndarray, y: numpy.ndarray) -> None:
    if installed("onnx", "onnxruntime"):
        import onnx
        import onnxruntime

        onnx.checker.check_model(str(path), full_check=True)
        print("   onnx.checker: accepted")
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        compare("ONNX Runtime", session.run(None, {session.get_inputs()[0].name: x})[0], y)


def tour(make: Callable[[], nn.Module], x: ingot.Tensor, folder: pathlib.Path) -> None:
    ingot.manual_seed(0)
    model = make().eval()
    name = make.__name__.lower()
    print(f"\n==== {make.__name__}")
    with ingot.no_grad():
        y = model(x).numpy()

    step("capture it: the graph of ATen operators, as code")
    program = ingot.export.export(model, (x,))
    print("".join(f"   {line}\n" for line in program.graph_module.code.strip().splitlines()), end="")
    compare("the captured program", program.module()(x).detach().numpy(), y)

    step("save it as .pt2, and run that by the command")
    path = folder / f"{name}.pt2"
    ingot.export.save(program, path)
    numpy.savez(folder / "x.npz", x=x.numpy())
    run(COMMAND, "run", path, "--inputs", folder / "x.npz", "--output", folder / "y.npz")
    result = numpy.load(folder / "y.npz")
    compare("the command", result[result.files[0]], y)

    step("load the .pt2 into the real PyTorch")
    with_torch(path, x.numpy(), y)

    step("write it as ONNX, and run that by ONNX Runtime")
    onnx_path = path.with_suffix(".onnx")
    run(COMMAND, "convert", path, onnx_path)
    with_onnxruntime(onnx_path, x.numpy(), y)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ingot.manual_seed(1)
        tour(MLP, ingot.randn(3, 4), folder)
        tour(CNN, ingot.randn(2, 3, 8, 8), folder)
    example = BUILD / "examples/example_export_mlp"
    if example.exists():
        print("\n==== the same from C: examples/export_mlp.c")
        run(example)
    print("\ndemo: all numbers agree")


main()
