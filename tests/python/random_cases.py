# SPDX-License-Identifier: Apache-2.0
"""Draws of random numbers from a seed, as digests: `random_cases.py FILE` writes those of the torch it runs with.

golden_random_2_5.json and golden_random_2_13.json were written under these releases; test_random_parity.py compares
Ingot's. After every case another draw is made, so that the digests also say how much of the generator's sequence the
case consumed.
"""

import hashlib
import json
import sys

import torch

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
SIZES = (1, 3, 15, 16, 17, 33, 1000)
IN_PLACE = {
    "uniform_": (-2, 5), "normal_": (2, 5), "exponential_": (1.5,), "cauchy_": (1.0, 2.0), "log_normal_": (1.0, 2.0),
    "geometric_": (0.3,), "bernoulli_": (0.3,), "random_": (),
}  # fmt: skip
INITS = (
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "trunc_normal_", "uniform_", "normal_",
)  # fmt: skip
LAYERS = {
    "linear": lambda nn: nn.Linear(13, 7), "conv": lambda nn: nn.Conv2d(3, 8, 3), "lstm": lambda nn: nn.LSTM(5, 7, 2),
    "transposed": lambda nn: nn.ConvTranspose2d(3, 8, 3), "embedding": lambda nn: nn.Embedding(100, 5, padding_idx=0),
    "attention": lambda nn: nn.MultiheadAttention(16, 4), "encoder": lambda nn: nn.TransformerEncoderLayer(16, 4, 32),
    "bilinear": lambda nn: nn.Bilinear(3, 4, 5), "gru": lambda nn: nn.GRU(5, 7, bidirectional=True),
}  # fmt: skip


def cases():
    """Pairs (name, function)."""
    functional = torch.nn.functional
    for n in SIZES:
        for name in FLOATS:
            dtype = getattr(torch, name)
            yield f"rand {n} {name}", lambda n=n, d=dtype: torch.rand(n, dtype=d)
            yield f"randn {n} {name}", lambda n=n, d=dtype: torch.randn(n, dtype=d)
            yield f"randint {n} {name}", lambda n=n, d=dtype: torch.randint(3, 90, (n,), dtype=d)
            yield f"bernoulli {n} {name}", lambda n=n, d=dtype: torch.bernoulli(torch.full((n,), 0.3, dtype=d))
            yield f"dropout {n} {name}", lambda n=n, d=dtype: functional.dropout(torch.ones(n, dtype=d), 0.3)
            yield f"normal {n} {name}", lambda n=n, d=dtype: torch.normal(torch.ones(n, dtype=d), 2.0)
            for method, args in IN_PLACE.items():
                yield (
                    f"{method} {n} {name}",
                    lambda n=n, d=dtype, m=method, a=args: getattr(torch.empty(n, dtype=d), m)(*a),
                )
        for name in INTEGERS:
            dtype = getattr(torch, name)
            high = 2 if name == "bool" else 100
            yield f"randint {n} {name}", lambda n=n, d=dtype, h=high: torch.randint(0, h, (n,), dtype=d)
            yield f"random_ {n} {name}", lambda n=n, d=dtype: torch.empty(n, dtype=d).random_()
        yield f"randperm {n}", lambda n=n: torch.randperm(n)
        yield f"randint far {n}", lambda n=n: torch.randint(-(2**40), 2**50, (n,))
        yield f"complex {n}", lambda n=n: torch.view_as_real(torch.randn(n, dtype=torch.complex64))
        yield f"multinomial {n}", lambda n=n: torch.multinomial(torch.arange(1.0, n + 1), min(n, 5))
        yield f"multinomial one {n}", lambda n=n: torch.multinomial(torch.arange(1.0, 2 * n + 1).view(2, n), 1)
        yield f"multinomial again {n}", lambda n=n: torch.multinomial(torch.arange(1.0, n + 1), 5, True)
    yield "strides", lambda: torch.empty(40, 10)[:, ::2].normal_()
    yield "transposed", lambda: torch.empty(8, 10).t().uniform_()
    yield "pairs", lambda: torch.cat([torch.randn(3), torch.randn(1), torch.randn(20), torch.rand(2), torch.randn(1)])
    for shape in ((3, 4), (20, 30), (8, 3, 3, 3)):
        for init in INITS:
            yield f"init {init} {shape}", lambda s=shape, i=init: getattr(torch.nn.init, i)(torch.empty(*s))
    for name, make in LAYERS.items():
        yield f"layer {name}", lambda m=make: torch.cat([p.flatten() for p in m(torch.nn).parameters()])


def digests():
    """Per case the digest of its numbers and of the next draw."""
    found = {}
    for name, draw in cases():
        torch.manual_seed(1234)
        values = [draw().detach(), torch.rand(3)]
        values = [v.float() if v.dtype == torch.bfloat16 else v for v in values]
        found[name] = [hashlib.md5(v.contiguous().numpy().tobytes()).hexdigest()[:10] for v in values]
    return found


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump(digests(), file, indent=0)
