# SPDX-License-Identifier: Apache-2.0
"""Opens a model file of any kind, describes its inputs, runs it on ones and prints its outputs:

    python run_model.py model.pt2
"""
import sys

import ingot


def ones(dtype: str, shape: tuple[int | str, ...]) -> ingot.Tensor:
    """A tensor of ones for an input; 1 for each size that is dynamic."""
    return ingot.ones([size if isinstance(size, int) else 1 for size in shape], dtype=getattr(ingot, dtype))


def show(what: str, name: str, x: ingot.Tensor) -> None:
    print(f"{what} {name}: {str(x.dtype).removeprefix('torch.')} {list(x.shape)}")


def main(path: str) -> None:
    session = ingot.open(path)
    inputs = {port.name: ones(port.dtype, port.shape or ()) for port in session.inputs if port.dtype}
    for name, x in inputs.items():
        show("input", name, x)
    results = session(**inputs)
    for port, y in zip(session.outputs, results if isinstance(results, tuple) else (results,), strict=True):
        show("output", port.name, y)
        print("", *(f"{value:.6g}" for value in y.flatten()[:8].tolist()))


if len(sys.argv) != 2:
    sys.exit("usage: run_model.py FILE")
main(sys.argv[1])
