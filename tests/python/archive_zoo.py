# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: UP006, UP035, UP045 -- the forms of typing that TorchScript has always had
"""Archives of many kinds, written by one library and run by another.

    python archive_zoo.py write FOLDER [--ingot]    every case as FOLDER/NAME.pt (.ptl), with inputs and results
    python archive_zoo.py run FOLDER [--ingot]      run those of a folder and compare; a line of JSON per case

Without --ingot the library is the real PyTorch of this Python. Inputs are the same numbers in both libraries; results
are kept as a .npz of their tensors, in order, and a text of everything else.
"""

import argparse
import enum
import importlib
import json
import pathlib
import sys
import traceback
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy

warnings.simplefilter("ignore")
if "--ingot" in sys.argv:
    importlib.import_module("ingot.as_torch")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

CASES: Dict[str, Any] = {}


def case(maker: Any) -> Any:
    CASES[maker.__name__] = maker
    return maker


def numbers(*sizes: int, dtype: Any = torch.float32, scale: float = 1.0) -> Tensor:
    """The same in every library: a sine of the index."""
    count = int(numpy.prod(sizes)) if sizes else 1
    at = numpy.sin(numpy.arange(count, dtype=numpy.float64) * 1.7 + len(sizes)).reshape(sizes) * scale
    return torch.tensor(at.tolist(), dtype=torch.float64).to(dtype)


def fill(module: nn.Module) -> nn.Module:
    """Deterministic weights."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(numbers(*parameter.shape, scale=0.3).to(parameter.dtype))
        for name, buffer in module.named_buffers():
            if buffer.is_floating_point():
                buffer.copy_(numbers(*buffer.shape, scale=0.1).to(buffer.dtype) + (1.0 if "var" in name else 0.0))
    return module


# ---- modules


class Pair(NamedTuple):
    left: Tensor
    right: Optional[Tensor]


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Attributes(nn.Module):
    names: Dict[str, int]
    sizes: List[int]
    pair: Tuple[int, str]
    maybe: Optional[float]
    nested: Dict[str, List[Tensor]]
    table: Dict[int, Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.names = {"one": 1, "two": 2}
        self.sizes = [2, 3]
        self.pair = (4, "four")
        self.maybe = None
        self.nested = {"a": [torch.ones(2), torch.zeros(3)], "b": []}
        self.table = {1: torch.arange(3), -5: torch.full((2,), 0.5)}
        self.flag = True
        self.scale = 0.25
        self.label = 'naïve "quoted"\n'

    def forward(self, x: Tensor) -> Tuple[Tensor, str, int]:
        total = x * self.scale
        for key, value in self.names.items():
            total = total + value * len(key)
        for size in self.sizes:
            total = total * size
        maybe = self.maybe
        if maybe is not None:
            total = total + maybe
        if self.flag:
            total = total + self.nested["a"][0].sum() + self.table[-5].sum()
        return total, self.label + self.pair[1], len(self.nested["b"]) + self.pair[0]


class Named(nn.Module):
    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Pair:
        return Pair(x + 1, y)


class Colors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.color = Color.GREEN

    def forward(self, x: Tensor) -> Tensor:
        if self.color == Color.GREEN:
            return x * self.color.value
        return x


class Counter(nn.Module):
    history: List[int]

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("skipped", torch.ones(3), persistent=False)
        self.history = []

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.history.append(int(self.count.item()))
        return x + self.count + self.skipped.sum() + len(self.history)

    @torch.jit.export
    def reset(self) -> None:
        self.count.zero_()


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.named = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        self.rest = nn.Sequential(nn.Linear(4, 2), nn.Sequential(nn.LayerNorm(2), nn.Identity()))
        self.shared = self.layers[0]
        self.free = nn.ParameterList([nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(2))])

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for key, layer in self.named.items():
            x = layer(x) if key != "none" else x
        return self.rest(self.shared(x))


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Through(nn.Module):
    step: Step

    def __init__(self) -> None:
        super().__init__()
        self.step = Double()

    def forward(self, x: Tensor) -> Tensor:
        return self.step.forward(x) + 1


class Flow(nn.Module):
    def helper(self, x: Tensor, n: int) -> Tensor:
        while n > 0:
            n -= 1
            if n == 2:
                continue
            if n == 7:
                break
            x = x + n
        return x

    def forward(self, x: Tensor, n: int, text: str) -> Tuple[Tensor, List[str], Dict[str, float]]:
        parts = text.split(",")
        found: Dict[str, float] = {}
        for part in parts:
            found[part.strip().upper()] = float(len(part)) / 3
        if n < 0:
            return x, parts, found
        squares = [i * i for i in range(n)]
        for a, b in zip(squares, squares[1:]):
            x = x - a * b
        return self.helper(x, n), [f"{p}:{n}" for p in parts] if n > 100 else parts, found


class Typed(nn.Module):
    """All dtypes, views of one storage, strides, an empty tensor, a number without dimensions."""

    def __init__(self) -> None:
        super().__init__()
        base = numbers(4, 6)
        self.register_buffer("base", base)
        self.register_buffer("view", base[1:3, ::2])
        self.register_buffer("turned", base.t())
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("half_", numbers(3, dtype=torch.float16))
        self.register_buffer("brain", numbers(3, dtype=torch.bfloat16))
        self.register_buffer("double_", numbers(3, dtype=torch.float64))
        self.register_buffer("bytes_", torch.tensor([1, 250], dtype=torch.uint8))
        self.register_buffer("chars", torch.tensor([1, -120], dtype=torch.int8))
        self.register_buffer("shorts", torch.tensor([1, -12000], dtype=torch.int16))
        self.register_buffer("ints", torch.tensor([1, -120000], dtype=torch.int32))
        self.register_buffer("bools", torch.tensor([True, False]))
        self.register_buffer("single", torch.complex(numbers(3), numbers(3) * 2))
        self.register_buffer(
            "complexes", torch.complex(numbers(3, dtype=torch.float64), numbers(3, dtype=torch.float64))
        )

    def forward(self, x: Tensor) -> List[Tensor]:
        self.view.add_(1)
        total = self.base.sum() + self.turned.sum() + self.empty.sum() + self.scalar
        return [
            x * total,
            self.half_ + 1,
            self.brain + 1,
            self.double_ + 1,
            self.bytes_ + 1,
            self.chars + 1,
            self.shorts,
            self.ints,
            self.bools,
            torch.view_as_real(self.single * 2),
            torch.view_as_real(self.complexes),
        ]


class Float8(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", numbers(8).to(torch.float8_e4m3fn))
        self.register_buffer("b", numbers(8).to(torch.float8_e5m2))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.a.to(torch.float32) * self.b.to(torch.float32)


class State(nn.Module):
    """A class with a state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", numbers(3))
        self.times = 3

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, int, bool]:
        return self.weight, self.times, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, int, bool]) -> None:
        self.weight = state[0] + 1
        self.times = state[1] * 2
        self.training = state[2]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.times + self.weight


@torch.jit.script
class Box:
    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high
        self.items = torch.jit.annotate(List[Tensor], [])

    def inside(self, n: int) -> bool:
        return n >= self.low and n < self.high

    def add(self, x: Tensor) -> int:
        self.items.append(x)
        return len(self.items)


class Objects(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, int, bool]:
        box = Box(1, 5)
        count = box.add(x) + box.add(x * 2)
        return box.items[1] + box.items[0], count, box.inside(3) and not box.inside(5)


class Constants(nn.Module):
    __constants__ = ["width", "names"]
    half: torch.jit.Final[float]

    def __init__(self) -> None:
        super().__init__()
        self.width = 3
        self.names = ("a", "b")
        self.half = 0.5
        self.shape = (2, 3)

    def forward(self, x: Tensor) -> Tensor:
        kept = torch.tensor([[1.5, 2.5], [3.5, 4.5]])
        for name in self.names:
            x = x + len(name)
        return x * self.width * self.half + kept.sum() + self.shape[1]


class Raises(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        assert n >= 0, "n is negative"
        if n > 10:
            raise ValueError(f"too large: {n}")
        return x + n


class Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=False)
        self.last = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.drop = nn.Dropout(0.5)
        self.adaptive = nn.AdaptiveAvgPool2d((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(F.hardswish(self.norm(self.conv(x))))
        x = self.last(self.up(self.pool(x)))
        return self.adaptive(F.pad(x, [1, 1, 0, 0], mode="reflect"))


class Recurrent(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        options = {"num_layers": 2, "bidirectional": True, "batch_first": True}
        self.net = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind](4, 3, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)[0]


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 3)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        h = torch.zeros(x.size(1), 3)
        c = torch.zeros(x.size(1), 3)
        for t in range(x.size(0)):
            h, c = self.cell(x[t], (h, c))
        return h, c


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.GRU(4, 3, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        result, _ = self.net(packed)
        return nn.utils.rnn.pad_packed_sequence(result, batch_first=True)[0]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.attention(x, x, x)
        return self.layer(y) + F.scaled_dot_product_attention(x, x, x)


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def before(self, given: Tuple[Tensor]) -> Tuple[Tensor]:
    return (given[0] * 2,)


def after(self, given: Tuple[Tensor], result: Tensor) -> Tensor:
    return result + given[0].sum()


class Tupled(nn.Module):
    def forward(self, x: Tensor, pair: Tuple[Tensor, List[Tensor]]) -> Dict[str, Tuple[Tensor, Tensor]]:
        return {"a": (x + pair[0], pair[1][0]), "b": (pair[1][1], x)}


class Traced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.second = nn.Sequential(nn.Linear(6, 6), nn.GELU())
        self.register_buffer("table", numbers(5, 6))

    def forward(self, x: Any, index: Any) -> Any:
        y = self.second(self.first(x).relu())
        y = y.view(y.shape[0], -1) + self.table[index]
        return (y[:, 1:3], {"k": 0} and y.chunk(2, dim=1)), torch.einsum("ij,kj->ik", y, y)


class Futures(nn.Module):
    def work(self, x: Tensor, n: int) -> Tensor:
        return x * n

    def forward(self, x: Tensor) -> Tensor:
        waiting = [torch.jit.fork(self.work, x, i) for i in range(3)]
        total = torch.zeros_like(x)
        for one in waiting:
            total = total + torch.jit.wait(one)
        return total


class Quantizable(nn.Module):
    def __init__(self, conv: bool) -> None:
        super().__init__()
        ao = importlib.import_module("torch.ao.quantization")
        self.quant = ao.QuantStub()
        self.net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU()) if conv else nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.last = nn.Conv2d(4, 2, 1) if conv else nn.Linear(8, 3)
        self.add = importlib.import_module("torch.ao.nn.quantized").FloatFunctional()
        self.dequant = ao.DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.last(self.net(self.quant(x)))
        return self.dequant(self.add.add(x, x))


class Upgraded(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor]:
        return torch.div(x, 2, rounding_mode="floor"), torch.linspace(0, n, steps=5), torch.full((2,), n)


# ---- cases: (module that is saved, inputs); a third part: how it is saved


def scripted(module: nn.Module) -> Any:
    return torch.jit.script(module)


def quantized(conv: bool) -> Any:
    ao = importlib.import_module("torch.ao.quantization")
    module = fill(Quantizable(conv)).eval()
    module.qconfig = ao.get_default_qconfig("fbgemm")
    ao.fuse_modules(module, [["net.0", "net.1"]], inplace=True)
    ready = ao.prepare(module)
    x = numbers(2, 2, 6, 6) if conv else numbers(3, 4)
    ready(x)
    ready(x * 1.5)
    return ao.convert(ready), x


def dynamic(module: nn.Module, kinds: Any) -> Any:
    ao = importlib.import_module("torch.ao.quantization")
    return ao.quantize_dynamic(fill(module).eval(), kinds, dtype=torch.qint8)


X = (3, 4)
CASES.update(
    {
        "attributes": lambda: (scripted(Attributes()), (numbers(2),)),
        "named": lambda: (scripted(Named()), (numbers(2), numbers(3))),
        "named_none": lambda: (scripted(Named()), (numbers(2), None)),
        "colors": lambda: (scripted(Colors()), (numbers(2),)),
        "counter": lambda: (scripted(Counter()), (numbers(2),)),
        "lists": lambda: (scripted(fill(Lists())), (numbers(*X),)),
        "interface": lambda: (scripted(Through()), (numbers(*X),)),
        "flow": lambda: (scripted(Flow()), (numbers(2), 9, "a, bc,def")),
        "typed": lambda: (scripted(Typed()), (numbers(2),)),
        "float8": lambda: (scripted(Float8()), (numbers(8),)),
        "state": lambda: (scripted(State()), (numbers(3),)),
        "objects": lambda: (scripted(Objects()), (numbers(3),)),
        "constants": lambda: (scripted(Constants()), (numbers(3),)),
        "raises": lambda: (scripted(Raises()), (numbers(3), 4)),
        "raised": lambda: (scripted(Raises()), (numbers(3), 40)),
        "vision": lambda: (scripted(fill(Vision()).eval()), (numbers(1, 2, 8, 8),)),
        "vision_frozen": lambda: (torch.jit.freeze(scripted(fill(Vision()).eval())), (numbers(1, 2, 8, 8),)),
        "vision_traced": lambda: (
            torch.jit.trace(fill(Vision()).eval(), (numbers(1, 2, 8, 8),)),
            (numbers(2, 2, 8, 8),),
        ),
        "lstm": lambda: (scripted(fill(Recurrent("lstm"))), (numbers(2, 5, 4),)),
        "gru": lambda: (scripted(fill(Recurrent("gru"))), (numbers(2, 5, 4),)),
        "rnn_traced": lambda: (torch.jit.trace(fill(Recurrent("rnn")), (numbers(2, 5, 4),)), (numbers(2, 5, 4),)),
        "lstm_frozen": lambda: (torch.jit.freeze(scripted(fill(Recurrent("lstm")).eval())), (numbers(2, 5, 4),)),
        "cells": lambda: (scripted(fill(Cells())), (numbers(5, 2, 4),)),
        "packed": lambda: (scripted(fill(Packed())), (numbers(2, 5, 4), torch.tensor([5, 3]))),
        "attention": lambda: (scripted(fill(Attention()).eval()), (numbers(2, 5, 8),)),
        "attention_traced": lambda: (
            torch.jit.trace(fill(Attention()).eval(), (numbers(2, 5, 8),), check_trace=False),
            (numbers(2, 5, 8),),
        ),
        "tupled": lambda: (scripted(Tupled()), (numbers(2), (numbers(2), [numbers(1), numbers(3)]))),
        "traced": lambda: (
            torch.jit.trace(fill(Traced()), (numbers(*X), torch.tensor([0, 4, 2]))),
            (numbers(2, 4), torch.tensor([1, 1])),
        ),
        "traced_function": lambda: (
            torch.jit.trace(
                lambda x, y: (x @ y, [x.sum(), y.mean(dim=0)]), (numbers(2, 3), numbers(3, 4)), strict=False
            ),
            (numbers(5, 3), numbers(3, 4)),
        ),
        "function": lambda: (torch.jit.script(plain_function), (numbers(2, 3), 2)),
        "futures": lambda: (scripted(Futures()), (numbers(3),)),
        "upgraded": lambda: (scripted(Upgraded()), (numbers(4) * 10, 3)),
        "quantized_linear": lambda: (lambda m, x: (scripted(m), (x,)))(*quantized(False)),
        "quantized_conv": lambda: (lambda m, x: (scripted(m), (x,)))(*quantized(True)),
        "quantized_traced": lambda: (lambda m, x: (torch.jit.trace(m, x), (x,)))(*quantized(True)),
        "quantized_frozen": lambda: (lambda m, x: (torch.jit.freeze(scripted(m)), (x,)))(*quantized(False)),
        "dynamic_linear": lambda: (
            scripted(dynamic(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), {nn.Linear})),
            (numbers(*X),),
        ),
        "dynamic_lstm": lambda: (scripted(dynamic(Recurrent("lstm"), {nn.LSTM})), (numbers(2, 5, 4),)),
        "half": lambda: (scripted(fill(nn.Linear(4, 2)).bfloat16()), (numbers(*X).bfloat16(),)),
        "double": lambda: (scripted(fill(nn.Linear(4, 2)).double()), (numbers(*X, dtype=torch.float64),)),
        "embedding": lambda: (
            scripted(fill(nn.EmbeddingBag(10, 3, mode="mean"))),
            (torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])),
        ),
        "mobile_vision": lambda: (
            torch.jit.optimize_for_inference(scripted(fill(Vision()).eval())),
            (numbers(1, 2, 8, 8),),
        ),
    }
)
MOBILE = [
    "attributes", "named", "colors", "counter", "lists", "flow", "typed", "state", "constants", "raises",
    "raised", "vision", "vision_frozen", "lstm", "cells", "tupled", "traced", "quantized_linear", "quantized_conv",
    "dynamic_linear", "dynamic_lstm", "attention", "upgraded", "function_module", "embedding", "interface",
]  # fmt: skip


def plain_function(x: Tensor, n: int) -> List[Tensor]:
    return [x[i] * n for i in range(x.size(0))]


def hooked() -> Any:
    module = fill(Hooked())
    module.inner.register_forward_pre_hook(before)
    module.register_forward_hook(after)
    return scripted(module), (numbers(*X),)


CASES["hooked"] = hooked


# ---- results


def flatten(value: Any, tensors: List[Any]) -> str:
    """The text of a value, with its tensors taken out in order."""
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).split(".")[-1]
        plain = value.detach()
        plain = plain.float() if plain.dtype in (torch.bfloat16, torch.float16) else plain
        tensors.append(plain.contiguous().numpy())
        return f"{kind}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(flatten(one, tensors) for one in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {flatten(one, tensors)}" for key, one in value.items()) + "}"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def results_of(module: Any, inputs: Any) -> Tuple[str, List[Any]]:
    """Of two calls, because a module may have a state."""
    tensors: List[Any] = []
    texts = []
    for _ in range(2):
        try:
            texts.append(flatten(module(*inputs), tensors))
        except Exception as error:
            texts.append("raises " + str(error).strip().splitlines()[-1])
    return " | ".join(texts), tensors


def write(folder: pathlib.Path) -> None:
    for name, maker in CASES.items():
        try:
            module, inputs = maker()
            module.save(str(folder / f"{name}.pt"), _extra_files={"note.txt": "kept"})
            if name in MOBILE and hasattr(module, "_save_for_lite_interpreter"):
                module._save_for_lite_interpreter(str(folder / f"{name}.ptl"))
            again = torch.jit.load(str(folder / f"{name}.pt"))
            text, tensors = results_of(again, inputs)
            numpy.savez(folder / f"{name}.npz", **{f"t{i}": one for i, one in enumerate(tensors)})
            (folder / f"{name}.json").write_text(json.dumps({"text": text}))
        except Exception as error:
            traceback.print_exc(limit=-3)
            print(json.dumps({"case": name, "unwritten": str(error)[:300]}), flush=True)


def same(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(numpy.allclose(a, b, rtol=2e-3, atol=2e-4, equal_nan=True))


def run(folder: pathlib.Path) -> None:
    for path in sorted([*folder.glob("*.pt"), *folder.glob("*.ptl")]):
        name = path.stem
        wanted = folder / f"{name}.json"
        if not wanted.exists():
            continue
        try:
            extra = {"note.txt": ""}
            module = torch.jit.load(str(path), map_location="cpu", _extra_files=extra)
            inputs = INPUTS[name]() if name in INPUTS else CASES[name]()[1]
            text, tensors = results_of(module, inputs)
            with numpy.load(folder / f"{name}.npz") as kept:
                equal = [same(one, kept[f"t{i}"]) for i, one in enumerate(tensors)]
                equal.append(len(kept.files) == len(tensors))
            want = json.loads(wanted.read_text())["text"]
            note = extra["note.txt"] if path.suffix == ".pt" else "kept"
            ok = text == want and all(equal) and note in ("kept", b"kept")
            print(
                json.dumps(
                    {"case": path.name, "ok": ok, **({} if ok else {"text": text, "want": want, "equal": equal})}
                ),
                flush=True,
            )
        except Exception as error:
            print(json.dumps({"case": path.name, "ok": False, "error": str(error)[-700:]}), flush=True)


# Inputs of cases that are costly, or not possible, to make where they only run.
INPUTS: Dict[str, Any] = {
    "packed": lambda: (numbers(2, 5, 4), torch.tensor([5, 3])),
    "quantized_linear": lambda: (numbers(3, 4),),
    "quantized_conv": lambda: (numbers(2, 2, 6, 6),),
    "quantized_traced": lambda: (numbers(2, 2, 6, 6),),
    "quantized_frozen": lambda: (numbers(3, 4),),
    "dynamic_linear": lambda: (numbers(*X),),
    "dynamic_lstm": lambda: (numbers(2, 5, 4),),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ingot", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    (write if args.what == "write" else run)(args.folder)


if __name__ == "__main__":
    main()
