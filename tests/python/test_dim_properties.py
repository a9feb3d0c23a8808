# SPDX-License-Identifier: Apache-2.0
"""Random small programs with random Dims: the suggested fixes, applied, export; the program then agrees with eager on
admissible sizes and refuses others, naming the dimension."""
import random
from collections.abc import Callable
from typing import Any

import pytest

import ingot
from ingot.export import Dim, export
from ingot.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

Step = Callable[..., Any]


class Program(ingot.nn.Module):
    def __init__(self, steps: list[Step]) -> None:
        super().__init__()
        self.steps = steps

    def forward(self, x: Any, y: Any, z: Any) -> Any:
        return tuple(step(x, y, z) for step in self.steps)


def random_program(rng: random.Random) -> tuple[Program, list[int]]:
    """Steps that hold for the sizes that are returned with them."""
    n = rng.choice([6, 8, 12, 18, 24])
    offset, factor, limit = rng.randint(0, 3), rng.choice([1, 2]), rng.randint(2, 30)
    part = rng.choice([k for k in (2, 3, 4, 6) if n % k == 0])
    sizes = [n, factor * n + offset, rng.choice([n, 5, 7])]
    related: list[Step] = [
        lambda x, y, z: ingot.cat([x] * factor) + y[offset:],
        lambda x, y, z: (ingot.cat([x] * factor) * y[offset:]).sum(),
    ]
    single: list[Step] = [
        lambda x, y, z: x.view(-1, part).sum(1),
        lambda x, y, z: x * 2 if x.shape[0] > limit else x - 1,
        lambda x, y, z: z.exp() if z.shape[0] <= 20 else z.sin(),
        lambda x, y, z: x.unsqueeze(1) * z,
        lambda x, y, z: y[1:].cos(),
        lambda x, y, z: (x + ingot.ones(x.shape[0])).sum(),
        lambda x, y, z: ingot.zeros(x.shape[0] * 2 + 1),
    ]
    if sizes[2] == n:
        related.append(lambda x, y, z: x @ z)
    steps = rng.sample(related, rng.randint(0, 1)) + rng.sample(single, rng.randint(1, 2))
    return Program(steps), sizes


def random_dim(rng: random.Random, name: str, size: int) -> Any:
    if rng.random() < 0.15:
        return None
    low = rng.choice([None, None, 2, max(2, size - 2)])
    high = rng.choice([None, None, size + 1, size * 4, 100])
    return Dim(name, min=low, max=high)


def refined(module: Any, args: tuple, shapes: Any) -> tuple[Any, Any]:
    """The program after the fixes of at most three messages, and the shapes."""
    for _ in range(4):
        try:
            return export(module, args, dynamic_shapes=shapes), shapes
        except ingot._dynamo.exc.UserError as error:
            assert "Suggested fixes:" in str(error), str(error)
            shapes = refine_dynamic_shapes_from_suggested_fixes(str(error), shapes)
    raise AssertionError(f"fixes do not help: {shapes}")


def roots_of(shapes: tuple) -> dict[str, Dim]:
    return {d.root.__name__: d.root for shape in shapes for d in shape if isinstance(d, Dim)}


def sizes_for(shapes: tuple, values: dict[str, int], example: list[int]) -> list[int]:
    out = []
    for (dim,), size in zip(shapes, example, strict=True):
        if isinstance(dim, Dim):
            out.append(dim._factor * values[dim.root.__name__] + dim._term)
        else:
            out.append(size if dim is None else dim)
    return out


def outputs(module: Any, sizes: list[int], seed: int) -> list[Any]:
    ingot.manual_seed(seed)
    return list(module(*(ingot.rand(size) for size in sizes)))


@pytest.mark.parametrize("seed", range(120))
def test_fixes_and_sizes(seed: int) -> None:
    rng = random.Random(seed)
    module, example = random_program(rng)
    shapes = tuple((random_dim(rng, f"d{name}", size),) for name, size in zip("xyz", example, strict=True))
    program, shapes = refined(module, tuple(ingot.rand(size) for size in example), shapes)
    run = program.module()
    roots = roots_of(shapes)
    for trial in range(10):
        values = {name: rng.randint(max(2, d.min), min(d.max, 60)) for name, d in roots.items()}
        sizes = sizes_for(shapes, values, example)
        if min(sizes) < 2:
            continue
        for got, want in zip(outputs(run, sizes, trial), outputs(module, sizes, trial), strict=True):
            assert ingot.allclose(got, want), (sizes, shapes)
    for position, (dim,) in enumerate(shapes):
        if isinstance(dim, Dim) and dim.root.max > 10**9:
            continue
        sizes = sizes_for(shapes, {name: max(2, d.min) for name, d in roots.items()}, example)
        sizes[position] = (dim.max if isinstance(dim, Dim) else sizes[position]) + 1
        with pytest.raises(RuntimeError, match=r"Expected input (at \*args\[\d\]|\w+)\.shape\[0\]"):
            outputs(run, sizes, 0)
