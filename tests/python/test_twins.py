# SPDX-License-Identifier: Apache-2.0
"""Models in C (examples/export_twins.c) and their counterparts here go through one pipeline: graphs and signatures are
the same text at every level."""

import os
import pathlib
import subprocess

import pytest

import ingot as torch
from ingot import nn
from ingot.export._trace import _export

BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 1, 3, 3))
        self.register_buffer("calls", torch.ones((), dtype=torch.int64))
        self.register_buffer("decay", torch.ones(2), persistent=False)
        self.rate = torch.ones(2)

    def forward(self, image):
        self.calls.add_(1)
        y = torch.conv2d(image, self.weight)
        self.decay.mul_(self.rate)
        return y.relu_(), self.decay * self.calls


class Rows(nn.Module):
    def forward(self, x, y):
        both = torch.cat([x, y])
        return both.reshape(both.shape[0], 2, 2), y.sum([0]).expand(x.shape[0], 4)


class Choice(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        def yes(x):
            return x.sin() * self.scale

        def no(x):
            return x.cos()

        return torch.cond(x.sum() > 0, yes, no, [x]) + x


N, M = torch.export.Dim("n", min=2, max=64), torch.export.Dim("m")
MODELS = {
    "mlp": (Mlp, (torch.ones(3, 4),), None),
    "counted": (Counted, (torch.ones(1, 1, 8, 8),), None),
    "rows": (Rows, (torch.ones(3, 4), torch.ones(5, 4)), {"x": {0: N}, "y": {0: M}}),
    "choice": (Choice, (torch.ones(3, 4),), None),
}
LEVELS = ("inference", "training", "dispatched", "decomposed")


def program(name, level):
    make, args, shapes = MODELS[name]
    options = {"dynamic_shapes": shapes, "strict": False}
    if level == "training":
        return torch.export.export_for_training(make(), args, **options)
    if level == "dispatched":
        return _export(make(), args, **options)
    ep = torch.export.export(make(), args, **options)
    return ep.run_decompositions() if level == "decomposed" else ep


def shown(name, level):
    """What the C program prints of it."""
    ep = program(name, level)
    signature = ep.graph_signature
    specs = [*signature.input_specs, *signature.output_specs]
    lines = [f"{s.kind.name} {s.arg.name} {s.target or '-'}" for s in specs]
    return "\n".join([f"== {name}, {level}", str(ep.graph), *lines])


@pytest.fixture(scope="module")
def printed():
    done = subprocess.run([BUILD / "examples/example_export_twins"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parts = [f"== {part.strip()}" for part in done.stdout.split("== ")[1:]]
    return {part.split("\n")[0]: part for part in parts}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MODELS)
def test_the_graph_is_the_one_that_c_gets(printed, name, level):
    assert shown(name, level).strip() == printed[f"== {name}, {level}"]
