# SPDX-License-Identifier: Apache-2.0
"""One provider of `torch` that answers requests for measurements: a line of JSON in, a line of JSON out.

    python bench/worker.py ingot|torch [MODELS_FILE]

bench/run.py starts one per provider and asks them in turn, so that both see the same machine.
"""

import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

PROVIDER = sys.argv[1]
if PROVIDER == "ingot":
    importlib.import_module("ingot.as_torch")
torch: Any = importlib.import_module("torch")
F: Any = torch.nn.functional


def pointwise(n: int) -> Callable[[], Any]:
    x, y, out = torch.ones(n), torch.ones(n), torch.ones(n)
    return lambda: torch.add(x, y, out=out)


def matmul(*sizes: int) -> Callable[[], Any]:
    *batch, m, k, n = sizes
    a, b = torch.randn(*batch, m, k), torch.randn(*batch, k, n)
    return lambda: a @ b


def conv(i: int, o: int, size: int, kernel: int, stride: int = 1, groups: int = 1) -> Callable[[], Any]:
    x, w = torch.randn(1, i, size, size), torch.randn(o, i // groups, kernel, kernel)
    return lambda: F.conv2d(x, w, None, stride, kernel // 2, 1, groups)


def add4() -> Callable[[], Any]:
    x = torch.ones(4)
    return lambda: x + x


def unary(name: str, *sizes: int) -> Callable[[], Any]:
    x = torch.randn(*sizes)
    call = {
        "sum": lambda: x.sum(),
        "softmax": lambda: F.softmax(x, -1),
        "layer_norm": lambda: F.layer_norm(x, sizes[-1:]),
        "gelu": lambda: F.gelu(x),
    }
    return call[name]


def _quantized(*sizes: int) -> Any:
    """Half of the range of 8 bits, which PyTorch's kernels sum without saturation."""
    return torch.quantize_per_tensor(torch.rand(*sizes) * 2 - 1, 0.0158, 63, torch.quint8)


def _weight(*sizes: int) -> Any:
    n = sizes[0]
    scales = torch.full((n,), 0.01)
    return torch.quantize_per_channel(
        torch.rand(*sizes) - 0.5, scales, torch.zeros(n, dtype=torch.long), 0, torch.qint8
    )


def quantized_linear(m: int, k: int, n: int, dynamic: bool = False) -> Callable[[], Any]:
    ops = torch.ops.quantized
    packed = ops.linear_prepack(_weight(n, k), torch.rand(n))
    if dynamic:
        numbers = torch.rand(m, k)
        return lambda: ops.linear_dynamic(numbers, packed, True)
    x = _quantized(m, k)
    return lambda: ops.linear(x, packed, 0.1, 60)


def quantized_conv(i: int, o: int, size: int, kernel: int, stride: int = 1, groups: int = 1) -> Callable[[], Any]:
    ops = torch.ops.quantized
    pad = [kernel // 2] * 2
    weight = _weight(o, i // groups, kernel, kernel)
    packed = ops.conv2d_prepack(weight, torch.rand(o), [stride] * 2, pad, [1, 1], groups)
    x = _quantized(1, i, size, size).contiguous(memory_format=torch.channels_last)
    return lambda: ops.conv2d(x, packed, 0.1, 60)


def quantized_call(name: str, *sizes: int) -> Callable[[], Any]:
    ops = torch.ops.quantized
    functional = torch.nn.functional
    x, y = _quantized(*sizes), _quantized(*sizes)
    if len(sizes) == 4:
        x, y = (t.contiguous(memory_format=torch.channels_last) for t in (x, y))
    plain = torch.rand(*sizes)
    return {
        "add": lambda: ops.add(x, y, 0.03, 60), "add_relu": lambda: ops.add_relu(x, y, 0.03, 60),
        "mul": lambda: ops.mul(x, y, 0.03, 60), "cat": lambda: ops.cat([x, y], 1, 0.03, 60),
        "relu": lambda: torch.relu(x), "sigmoid": lambda: torch.sigmoid(x),
        "hardswish": lambda: ops.hardswish(x, 0.03, 60),
        "max_pool2d": lambda: functional.max_pool2d(x, 3, 2, 1),
        "avg_pool2d": lambda: functional.adaptive_avg_pool2d(x, 1), "dequantize": lambda: x.dequantize(),
        "quantize": lambda: torch.quantize_per_tensor(plain, 0.01, 60, torch.quint8),
    }[name]  # fmt: skip


def quantized_lstm(size: int, steps: int) -> Callable[[], Any]:
    layers = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.LSTM(size, size)).eval())
    x = torch.rand(steps, 1, size)
    return lambda: layers[0](x)


def training_step(layers: int, width: int = 128, heads: int = 4) -> Callable[[], Any]:
    """Forward and backward of a transformer: through AOT autograd here, eager in PyTorch."""
    nn: Any = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            parts = self.qkv(self.first(x)).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            q, k, v = parts.unbind(0)
            mixed = torch.softmax(q @ k.transpose(-1, -2) / (width // heads) ** 0.5, -1) @ v
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(F.gelu(self.up(self.second(x))))

    model = nn.Sequential(*[Block() for _ in range(layers)])
    run = torch.compile(model, backend="aot_eager") if PROVIDER == "ingot" else model
    x = torch.randn(8, 64, width)

    def step() -> None:
        out = run(x)
        (out * out).mean().backward()
        model.zero_grad()

    return step


def adam(*shapes: tuple[int, ...]) -> Callable[[], Any]:
    """A step over parameters that have gradients, by the fused kernel."""
    params = [torch.randn(*shape).requires_grad_() for shape in shapes]
    for param in params:
        param.grad = torch.randn(*param.shape)
    return torch.optim.Adam(params, fused=True).step


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    "add, 4 elements": add4,
    "add, 16 MB": lambda: pointwise(1 << 22),
    "sum, 16 MB": lambda: unary("sum", 1 << 22),
    "softmax 1536x128": lambda: unary("softmax", 1536, 128),
    "layer_norm 128x768": lambda: unary("layer_norm", 128, 768),
    "gelu 1M": lambda: unary("gelu", 1 << 20),
    "adam, 12 x 1024x1024": lambda: adam(*[(1024, 1024)] * 12),
    "adam, 100 x 64x64 and 64": lambda: adam(*[(64, 64), (64,)] * 100),
    "matmul 64x64x64": lambda: matmul(64, 64, 64),
    "matmul 128x768x768": lambda: matmul(128, 768, 768),
    "matmul 128x3072x768": lambda: matmul(128, 3072, 768),
    "matmul 512x512x512": lambda: matmul(512, 512, 512),
    "matmul 2048^3": lambda: matmul(2048, 2048, 2048),
    "matmul 1x4096x4096": lambda: matmul(1, 4096, 4096),
    "matmul 12 x 128x64x128": lambda: matmul(12, 128, 64, 128),
    "conv 3x3 64ch 56x56": lambda: conv(64, 64, 56, 3),
    "conv 3x3 256ch 14x14": lambda: conv(256, 256, 14, 3),
    "conv 1x1 256->64 56x56": lambda: conv(256, 64, 56, 1),
    "conv 1x1 1024->256 14x14": lambda: conv(1024, 256, 14, 1),
    "conv 7x7 stride 2 stem": lambda: conv(3, 64, 224, 7, 2),
    "conv depthwise 96ch 56x56": lambda: conv(96, 96, 56, 3, 1, 96),
    "conv depthwise 384ch 14x14": lambda: conv(384, 384, 14, 3, 1, 384),
    "quantized linear 1x1024x1024": lambda: quantized_linear(1, 1024, 1024),
    "quantized linear 32x512x512": lambda: quantized_linear(32, 512, 512),
    "quantized linear 128x768x768": lambda: quantized_linear(128, 768, 768),
    "quantized linear dynamic 128x768x768": lambda: quantized_linear(128, 768, 768, dynamic=True),
    "quantized conv 3x3 64ch 56x56": lambda: quantized_conv(64, 64, 56, 3),
    "quantized conv 3x3 256ch 14x14": lambda: quantized_conv(256, 256, 14, 3),
    "quantized conv 1x1 256->64 56x56": lambda: quantized_conv(256, 64, 56, 1),
    "quantized conv 7x7 stride 2 stem": lambda: quantized_conv(3, 64, 224, 7, 2),
    "quantized conv depthwise 96ch 56x56": lambda: quantized_conv(96, 96, 56, 3, 1, 96),
    "quantized conv depthwise 384ch 14x14": lambda: quantized_conv(384, 384, 14, 3, 1, 384),
    "quantized conv 3x3 8 groups of 32 14x14": lambda: quantized_conv(256, 256, 14, 3, 1, 8),
    **{
        f"quantized {name} 64ch 56x56": lambda name=name: quantized_call(name, 1, 64, 56, 56)
        for name in (
            "add",
            "add_relu",
            "mul",
            "cat",
            "relu",
            "sigmoid",
            "hardswish",
            "max_pool2d",
            "avg_pool2d",
            "dequantize",
            "quantize",
        )
    },
    "quantized LSTM dynamic 256, 16 steps": lambda: quantized_lstm(256, 16),
    "training step, transformer of 4 layers": lambda: training_step(4),
}


def best(call: Callable[[], Any], budget: float) -> float:
    """The best time of one call, in seconds, within a budget."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(1e-3 / once))
    result, end = float("inf"), time.perf_counter() + budget
    while time.perf_counter() < end or result == float("inf"):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        result = min(result, (time.perf_counter() - start) / inner)
    return result


class Models:
    """The benchmark models; weights and inputs go through a file, so that both providers compute the same."""

    def __init__(self, path: str) -> None:
        spec = importlib.util.spec_from_file_location("bench_models", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.makers = module.MODELS
        self.current: tuple[str, Any, Any] = ("", None, None)

    def get(self, name: str) -> tuple[Any, Any]:
        if self.current[0] != name:
            self.current = (name, None, None)  # frees the last one first
            self.current = (name, *self.makers[name]())
        return self.current[1], self.current[2]

    def exchange(self, name: str, path: str, write: bool) -> None:
        model, args = self.get(name)
        state = model.state_dict()
        if write:
            tensors = {f"state.{k}": v.detach().numpy() for k, v in state.items()}
            tensors |= {f"args.{i}": a.detach().numpy() for i, a in enumerate(leaves(args))}
            numpy.savez(path, **tensors)
            return
        with numpy.load(path) as data:
            model.load_state_dict({k: torch.from_numpy(data[f"state.{k}"].copy()) for k in state})
            for i, a in enumerate(leaves(args)):
                a.copy_(torch.from_numpy(data[f"args.{i}"]))

    def output(self, name: str, path: str) -> None:
        model, args = self.get(name)
        with torch.no_grad():
            numpy.savez(path, *[o.detach().numpy() for o in leaves(model(*args))])

    def call(self, name: str, backward: bool) -> Callable[[], Any]:
        model, args = self.get(name)
        model.requires_grad_(backward)

        def forward() -> Any:
            with torch.no_grad():
                return model(*args)

        def train() -> None:
            leaves(model(*args))[0].float().sum().backward()

        return train if backward else forward


def leaves(value: Any) -> list[Any]:
    """The tensors of nested tuples, lists, dicts and objects with fields, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in leaves(v)] if isinstance(value, (tuple, list)) else []


def answer(request: dict[str, Any], models: Models | None) -> Any:
    torch.set_num_threads(request.get("threads", 1))
    kind = request["kind"]
    if kind == "cases":
        return list(CASES)
    if kind == "models":
        return list(models.makers) if models else []
    if kind == "case":
        return best(CASES[request["name"]](), request["budget"])
    assert models
    if kind == "exchange":
        return models.exchange(request["name"], request["path"], request["write"])
    if kind == "output":
        return models.output(request["name"], request["path"])
    return best(models.call(request["name"], request["backward"]), request["budget"])


def main() -> None:
    models = Models(sys.argv[2]) if len(sys.argv) > 2 else None
    for line in sys.stdin:
        try:
            reply = {"ok": answer(json.loads(line), models)}
        except Exception as error:  # the other cases go on
            reply = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        print(json.dumps(reply), flush=True)


main()
