# SPDX-License-Identifier: Apache-2.0
"""Transforms of functions, and what the real PyTorch gives for them.

Run with an installed PyTorch, this file prints golden_func.json: `python func_cases.py > golden_func.json`.
test_func.py runs the same cases with Ingot.
"""

import json

# Expressions over torch, F (torch.func), x, m, w, and a function of each kind.
CASES = [
    "F.grad(f)(x)",
    "F.grad(F.grad(lambda t: (t**4).sum()))(x[0])",
    "F.grad(g, argnums=1)(x, w)",
    "F.grad(g, argnums=(0, 1))(x, w)",
    "F.grad(lambda t: (f(t), t * 2), has_aux=True)(x)",
    "F.grad_and_value(f)(x)",
    "F.grad_and_value(lambda t: (f(t), {'a': t}), has_aux=True)(x)",
    "F.grad(lambda d: (d['a'] * d['b']).sum())({'a': x, 'b': x * 2})",
    "F.grad(lambda t: 3 * (t[0] * t[1]).sum())([x, x + 1])",
    "F.vjp(h, x)[0]",
    "F.vjp(h, x)[1](torch.ones(3))",
    "F.vjp(lambda a, b: (a * b, a + b), x, w)[1]((x, w))",
    "F.vjp(lambda a: {'y': a.sin()}, x)[1]({'y': x})",
    "F.jvp(h, (x,), (torch.ones(3),))",
    "F.jvp(lambda a, b: (a * b, a.sum()), (x, w), (w, x))",
    "F.jvp(lambda t: (t * 2, t), (x,), (x,), has_aux=True)",
    "F.jacrev(h)(x)",
    "F.jacfwd(h)(x)",
    "F.jacrev(lambda a, b: a[:, None] * b, argnums=(0, 1))(x, w)",
    "F.jacfwd(lambda a, b: (a * b, a.sum()), argnums=1)(x, w)",
    "F.jacrev(lambda t: (t**2, t.sum()), has_aux=True)(x)",
    "F.hessian(f)(x)",
    "F.hessian(g, argnums=(0, 1))(x, w)",
    "F.jacrev(F.jacrev(h))(x)",
    "F.jacfwd(F.jacfwd(h))(x)",
    "F.linearize(h, x)[1](w)",
    "torch.vmap(torch.dot)(m, m)",
    "torch.vmap(torch.dot, in_dims=(0, None))(m, x)",
    "torch.vmap(lambda a: a.sum(), in_dims=1)(m)",
    "torch.vmap(lambda a: a * 2, out_dims=1)(m)",
    "torch.vmap(lambda a, b: (a + b, a.sum()), in_dims=(0, 1), out_dims=(1, 0))(m, m.t())",
    "torch.vmap(torch.vmap(torch.mul))(m, m)",
    "torch.vmap(torch.vmap(torch.mul, in_dims=(0, None)), in_dims=(None, 0))(x, w)",
    "torch.vmap(lambda d: d['a'] + d['b'], in_dims=({'a': 0, 'b': None},))({'a': m, 'b': x})",
    "torch.vmap(F.grad(f))(m)",
    "F.grad(lambda t: torch.vmap(f)(t).sum())(m)",
    "torch.vmap(F.jacrev(h))(m)",
    "torch.vmap(f, chunk_size=2)(m)",
    "torch.vmap(F.hessian(f))(m)",
    "torch.vmap(lambda a: torch.rand(2) * 0 + 1, randomness='different')(m)",
    # Operators inside vmap: rules for one dim more, and slices where there is none.
    "torch.vmap(lambda a: a.unsqueeze(0) * a.unsqueeze(-1))(m)",
    "torch.vmap(lambda a: a.softmax(-1))(m)",
    "torch.vmap(lambda a: torch.log_softmax(a, 0), in_dims=1)(m)",
    "torch.vmap(lambda a: a.cumsum(0) + a.flip(0))(m)",
    "torch.vmap(lambda a: a.sort(descending=True))(m)",
    "torch.vmap(lambda a: a.topk(2))(m)",
    "torch.vmap(lambda a: a.argmax())(m)",
    "torch.vmap(lambda a: (a.max(), a.min(0), a.mean(), a.var(), a.std(0)))(m)",
    "torch.vmap(lambda a: (a.prod(), a.norm(), a.logsumexp(0)))(m)",
    "torch.vmap(lambda a: a.reshape(3, 1).expand(3, 2).t())(m)",
    "torch.vmap(lambda a: a.repeat(2, 2))(m)",
    "torch.vmap(lambda a: torch.stack([a, x]).sum(0))(m)",
    "torch.vmap(lambda a: torch.cat([a, x, a]))(m)",
    "torch.vmap(lambda a: a[1:] - a[:-1])(m)",
    "torch.vmap(lambda a: a[torch.tensor([2, 0])])(m)",
    "torch.vmap(lambda i: x[i])(torch.tensor([[2, 0], [1, 1]]))",
    "torch.vmap(lambda a, i: a.gather(0, i))(m, torch.tensor([[2, 0], [1, 1], [0, 0], [2, 2]]))",
    "torch.vmap(lambda a: a.unbind(0))(m)",
    "torch.vmap(lambda a: a.split(2))(m)",
    "torch.vmap(lambda a: a.diag())(m)",
    "torch.vmap(lambda a: torch.outer(a, x).tril())(m)",
    "torch.vmap(lambda a: torch.where(a > 0.5, a, x))(m)",
    "torch.vmap(lambda a: a.masked_fill(a > 0.5, 0))(m)",
    "torch.vmap(lambda a: torch.nn.functional.linear(a, mm, x))(m)",
    "torch.vmap(lambda a: mm @ a)(m)",
    "torch.vmap(lambda a: a @ mm)(m)",
    "torch.vmap(lambda a, b: a @ b)(mm.expand(4, 3, 3), m)",
    "torch.vmap(lambda b: torch.addmm(b, mm, mm, beta=2, alpha=3))(m)",
    "torch.vmap(lambda w: torch.nn.functional.linear(m, w))(torch.stack([mm, mm * 2]))",
    "torch.vmap(lambda a: torch.nn.functional.layer_norm(a, (3,), x, w))(m)",
    "torch.vmap(lambda a: torch.nn.functional.pad(a, (1, 2)))(m)",
    "torch.vmap(lambda a: torch.nn.functional.gelu(a) + torch.nn.functional.relu(a))(m)",
    "torch.vmap(lambda a: torch.nn.functional.conv2d(a.reshape(1, 1, 1, 3), mm.reshape(1, 1, 3, 3), padding=1))(m)",
    "torch.vmap(lambda a: torch.nn.functional.max_pool2d(a.reshape(1, 1, 3), 1, 1))(m)",
    "torch.vmap(lambda i: torch.nn.functional.embedding(i, mm))(torch.tensor([[2, 0], [1, 1]]))",
    "torch.vmap(lambda a: torch.linalg.inv(torch.outer(a, a) + torch.eye(3, dtype=torch.float64)))(m)",
    "torch.vmap(lambda a: a.new_zeros(2) + a.sum())(m)",
    "torch.vmap(lambda a: torch.zeros_like(a).index_add(0, torch.tensor([0, 2]), a[:2]))(m)",
    "torch.vmap(lambda a: (a * 8).to(torch.int64).sum())(m)",
    "torch.vmap(lambda a: x * 2)(m)",
    "torch.vmap(lambda a: (a, x), out_dims=(0, None))(m)",
    "torch.vmap(lambda a: a.clone().add_(1).mul_(a))(m)",
    "torch.vmap(lambda a, s: a * s)(m, torch.arange(4))",
    "torch.vmap(lambda a: a.sum(), in_dims=-1)(m)",
    "torch.vmap(lambda a: a * 2, out_dims=-1)(m)",
    "torch.vmap(lambda a: a * 2, in_dims=1, out_dims=1, chunk_size=2)(m)",
    "torch.vmap(torch.vmap(lambda a, b: a @ b, in_dims=(None, 0)), in_dims=(0, None))(mm, m)",
    "torch.vmap(torch.vmap(torch.vmap(lambda a: a.sin())))(m.reshape(2, 2, 3))",
    "torch.vmap(lambda a: F.jvp(h, (a,), (x,))[1])(m)",
    "torch.vmap(lambda a: F.vjp(h, a)[1](x)[0])(m)",
    "torch.vmap(F.grad(lambda a, v: ((v @ mm - a) ** 2).sum(), argnums=1), in_dims=(0, None))(m, x)",
    "F.jacrev(lambda t: torch.vmap(f)(t))(m)",
    "F.grad(lambda t: torch.vmap(F.grad(f))(t).sum())(m)",
    "torch.vmap(F.grad(lambda a: torch.nn.functional.cross_entropy(a[None], torch.tensor([1]))))(m)",
]
REFUSED = [
    "F.grad(h)(x)",
    "F.grad(lambda t: 3.0)(x)",
    "F.grad(f)(3.0)",
    "F.grad(f, argnums=2)(x)",
    "F.grad(g, argnums=(0, 0))(x, w)",
    "F.grad(g, argnums=())(x, w)",
    "F.grad(f, has_aux=True)(x)",
    "F.vjp(lambda t: t.long(), x)",
    "F.vjp(lambda t: 3, x)",
    "F.vjp(h, x)[1]((x, x))",
    "F.jvp(h, x, x)",
    "F.jvp(h, (x,), (x, x))",
    "F.jacrev(h, chunk_size=0)",
    "torch.vmap(f, randomness='sometimes')(m)",
    "torch.vmap(f, in_dims=None)(m)",
    "torch.vmap(f, in_dims=3)(m)",
    "torch.vmap(f, in_dims=(0, 0))(m)",
    "torch.vmap(torch.mul)(m, x)",
    "torch.vmap(lambda: 1)()",
    "torch.vmap(lambda a: 3.0)(m)",
    "torch.vmap(lambda a: torch.rand(2))(m)",
    "torch.vmap(f, chunk_size=0)(m)",
    "torch.vmap(lambda a, b: a)(m, 3)",
    "F.stack_module_state([])",
    "torch.vmap(lambda a: a.sum().item())(m)",
    "torch.vmap(lambda a: a if a.sum() > 0 else -a)(m)",
    "torch.vmap(lambda a: a, out_dims=None)(m)",
    "torch.vmap(lambda a: a, out_dims=(0, 0))(m)",
    "torch.vmap(lambda a: a.nonzero())(m)",
    "torch.vmap(lambda a, i: a[i])(m, torch.tensor([2, 0, 1, 1]))",
    "torch.vmap(lambda a: x.add_(a))(m)",
]


def names(torch):
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    return {
        "torch": torch,
        "F": torch.func,
        "x": x,
        "w": torch.tensor([1.5, 0.25, -0.75], dtype=torch.float64),
        "m": torch.arange(12.0, dtype=torch.float64).reshape(4, 3) / 7,
        "mm": torch.arange(9.0, dtype=torch.float64).reshape(3, 3) / 5 - 0.7,
        "f": lambda t: (t.sin() * t.exp()).sum(),
        "g": lambda a, b: (a**2 * b.cos() + a * b).sum(),
        "h": lambda t: t**3 + t.sum() * t,
    }


def flat(torch, value):
    if isinstance(value, torch.Tensor):
        return {"shape": list(value.shape), "values": value.detach().reshape(-1).tolist(), "grad": value.requires_grad}
    if isinstance(value, dict):
        return {k: flat(torch, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [flat(torch, v) for v in value]
    return value


def run(torch, source):
    return flat(torch, eval(source, names(torch)))


def refuse(torch, source):
    try:
        eval(source, names(torch))
    except Exception as error:  # noqa: BLE001
        return [type(error).__name__, str(error)]
    return None


def main():
    import torch

    golden = {"cases": {s: run(torch, s) for s in CASES}, "refused": {s: refuse(torch, s) for s in REFUSED}}
    print(json.dumps(golden, indent=0, separators=(",", ":")))


if __name__ == "__main__":
    main()
