# SPDX-License-Identifier: Apache-2.0
"""gradcheck: gradients against central differences, gradgradcheck: the same for second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ingot
from ingot._C import Tensor


class GradcheckError(RuntimeError):
    """A gradient and its numerical value differ."""


def _tuple(value: Any) -> tuple:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _differentiable(values: Iterable[Any]) -> list[Tensor]:
    return [v for v in values if isinstance(v, Tensor) and v.requires_grad]


def _numerical(func: Callable, args: tuple, wanted: list[Tensor], outputs: int, eps: float) -> list[list[Tensor]]:
    """[input][output]: a matrix of (elements of the input, elements of the output)."""
    result = []
    for x in wanted:
        flat = x.detach().reshape(-1)
        if flat.numel() and flat.data_ptr() != x.data_ptr():
            raise ValueError("gradcheck expects all tensor inputs to be dense and contiguous")
        columns: list[list[Tensor]] = [[] for _ in range(outputs)]
        for i in range(flat.numel()):
            value = flat[i].item()
            ends = []
            for shift in (eps, -eps):
                flat[i] = value + shift
                ends.append([o.detach().clone() for o in _tensors(func(*args))])
            flat[i] = value
            for k, (high, low) in enumerate(zip(*ends)):
                columns[k].append(((high - low) / (2 * eps)).reshape(-1))
        result.append([ingot.stack(rows) if rows else ingot.zeros((0, 0)) for rows in columns])
    return result


def _tensors(out: Any) -> list[Tensor]:
    return [o for o in _tuple(out) if isinstance(o, Tensor) and o.is_floating_point()]


def _analytical(outputs: list[Tensor], wanted: list[Tensor]) -> list[list[Tensor]]:
    result = [[x.new_zeros((x.numel(), o.numel())) for o in outputs] for x in wanted]
    for k, out in enumerate(outputs):
        for j in range(out.numel()):
            seed = ingot.zeros_like(out).reshape(-1)
            seed[j] = 1
            grads = ingot.autograd.grad(out, wanted, seed.reshape(out.shape), retain_graph=True, allow_unused=True)
            for i, grad in enumerate(grads):
                if grad is not None:
                    if grad.shape != wanted[i].shape:
                        raise GradcheckError(f"gradient {i} has the size {grad.shape}, its input {wanted[i].shape}")
                    result[i][k][:, j] = grad.reshape(-1)
    return result


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    **unused: Any,
) -> bool:
    """Compare the gradients of func with central differences; inputs that require grad should be float64."""
    args = _tuple(inputs)
    wanted = _differentiable(args)
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    if any(x.is_complex() for x in wanted):
        raise NotImplementedError("gradcheck: complex inputs are not supported")
    try:
        outputs = [o for o in _tensors(func(*args)) if o.requires_grad]
        if not outputs:
            raise GradcheckError("gradcheck: no output of func depends on an input that requires grad")
        exact, again = _analytical(outputs, wanted), _analytical(outputs, wanted)
        numeric = _numerical(func, args, wanted, len(outputs), eps)
        for i, (rows, others, numbers) in enumerate(zip(exact, again, numeric)):
            for k, (analytical, other, numerical) in enumerate(zip(rows, others, numbers)):
                _compare(i, k, analytical, other, numerical, (rtol, atol, nondet_tol))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(i: int, k: int, analytical: Tensor, again: Tensor, numerical: Tensor, tolerances: tuple) -> None:
    rtol, atol, nondet_tol = tolerances
    if numerical.numel() == 0:
        return
    if bool(((analytical - again).abs() > nondet_tol).any()):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            f"different values (output {k}, input {i})."
        )
    difference = (analytical - numerical).abs()
    if not bool((difference <= atol + rtol * numerical.abs()).all()):
        raise GradcheckError(
            f"Jacobian mismatch for output {k} with respect to input {i},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n"
        )


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    **options: Any,
) -> bool:
    """gradcheck of the gradients of func."""
    args = _tuple(inputs)
    outputs = [o for o in _tensors(func(*args)) if o.requires_grad]
    if grad_outputs is None:
        seeds = tuple(ingot.randn_like(o.detach()).requires_grad_() for o in outputs)
    else:
        seeds = _tuple(grad_outputs)
    count = len(seeds)

    def gradients(*values: Any) -> tuple:
        given, grads = values[:-count], values[-count:]
        outs = [o for o in _tensors(func(*given)) if o.requires_grad]
        found = ingot.autograd.grad(outs, _differentiable(given), grads, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, (*args, *seeds), eps=eps, atol=atol, rtol=rtol, **options)
