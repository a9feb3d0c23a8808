#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make tests/pt2/data: small programs saved by the real PyTorch, with inputs and outputs.

Needs PyTorch 2.13. Static shapes. Paths of this machine are taken out of the stack traces. Without
arguments all of them, else those named.
"""

import pathlib
import sys

import numpy
import torch
from torch import nn
from torch._higher_order_ops import effects
from torch.nn import functional

OUT = pathlib.Path(__file__).resolve().parents[1] / "tests/pt2/data"
HERE = str(pathlib.Path(torch.__file__).parent)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(functional.relu(self.fc1(x)))


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.average = nn.AdaptiveAvgPool2d(2)
        self.drop = nn.Dropout()
        self.head = nn.Linear(32, 10)
        self.register_buffer("ramp", torch.arange(10.0), persistent=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.average(self.pool(torch.relu(self.norm(self.conv(x)))))
        y = self.head(self.drop(torch.flatten(x, 1)))
        a, b = torch.cat([y, y * 2 + self.ramp], 1).softmax(-1).chunk(2, 1)
        return functional.gelu(a - b), b.mean(1), y.transpose(0, 1)


class Mixed(nn.Module):
    """Shared weights, a buffer that is written, constants, other dtypes, arguments that are no tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(3, 3)
        self.right = nn.Linear(3, 3)
        self.right.weight = self.left.weight
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor, n: int, *, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        self.count.add_(1)
        y = self.left(x) + self.right(x) * n + self.count
        y = torch.where(mask, y, torch.tensor([1.0, 2.0, float("inf")]))
        values, indices = y.max(1)
        ones = torch.ones(2, dtype=torch.float16)
        return {"y": y, "index": indices, "best": torch.stack([values, values * 2]), "ones": ones, "x": x}


class Attention(nn.Module):
    """Rows of the batch are interleaved in memory, and so are those of the result, which the view after it needs."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [rows, batch, columns]
        q, k, v = (t.contiguous().view(5, 6, 4).transpose(0, 1).view(3, 2, 5, 4) for t in self.proj(x).chunk(3, -1))
        return functional.scaled_dot_product_attention(q, k, v).permute(2, 0, 1, 3).view(15, 8)


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.fc(x)
        return y.float() + x


torch.library.define("golden::bump", "(Tensor(a!) x, Tensor y) -> Tensor")
torch.library.define("golden::note", "(Tensor x, int[] sizes=[1, 2], *, float scale=1.0) -> (Tensor, Tensor)")


@torch.library.impl("golden::bump", "CompositeExplicitAutograd")
def bump(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(y)
    return y * 2


@torch.library.register_fake("golden::bump")
def bump_fake(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(y)


@torch.library.impl("golden::note", "CompositeExplicitAutograd")
def note(x: torch.Tensor, sizes: list[int] = (1, 2), *, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    return x * scale, x + sum(sizes)


@torch.library.register_fake("golden::note")
def note_fake(x: torch.Tensor, sizes: list[int] = (1, 2), *, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), torch.empty_like(x)


class Functional(nn.Module):
    """An operator that writes to a whole tensor, to a view of one, to a slice."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        a = torch.ops.golden.bump(y, x)
        b = torch.ops.golden.bump(y[0], x[1])
        c = torch.ops.golden.bump(y[1:], x[:1])
        return y, a, b, c


class Effects(nn.Module):
    """Operators whose order counts: tokens go through them."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, b = torch.ops.golden.note(x, [3, 4], scale=0.5)
        c, _ = torch.ops.golden.note(a + b)
        return b, c


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, *, y: dict[str, torch.Tensor]) -> dict[str, object]:
        return {"sum": self.fc(x) + y["key"], "number": 3}


class Calls(nn.Module):
    """Modules whose signatures are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.second = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x), y={"key": x})["sum"]


def save(
    name: str, module: nn.Module, args: tuple, kwargs: dict | None = None, lower: bool = False, keep: tuple = ()
) -> None:
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    torch.manual_seed(0)
    module = module.eval()
    program = torch.export.export(module, args, kwargs or {}, preserve_module_call_signature=keep)
    if lower:
        program = program.run_decompositions()
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = node.meta["stack_trace"].replace(HERE, "torch").replace(__file__, "models.py")
    torch.export.save(program, OUT / f"{name}.pt2")  # before a run changes the buffers
    with torch.no_grad():
        result = module(*args, **(kwargs or {}))
    leaves = torch.utils._pytree.tree_leaves(result)
    inputs = [leaf for leaf in torch.utils._pytree.tree_leaves((args, kwargs or {})) if isinstance(leaf, torch.Tensor)]
    numpy.savez(OUT / f"{name}.in.npz", *[leaf.numpy() for leaf in inputs])
    numpy.savez(OUT / f"{name}.out.npz", *[leaf.numpy() for leaf in leaves])


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    save("mlp", Mlp(), (torch.randn(3, 4),))
    save("cnn", Cnn(), (torch.randn(2, 3, 8, 8),))
    save("mixed", Mixed(), (torch.randn(2, 3), 3), {"mask": torch.tensor([[True, False, True], [False, True, False]])})
    save("attention", Attention(), (torch.randn(5, 3, 8),))
    save("autocast", Autocast(), (torch.randn(2, 4),))
    save("functional", Functional(), (torch.randn(2, 3),), lower=True)
    save("calls", Calls(), (torch.randn(2, 4),), keep=("first", "second"))
    effects._register_effectful_op("golden::note", effects._EffectType.ORDERED)
    save("effects", Effects(), (torch.randn(2, 3),), lower=True)


main()
