# SPDX-License-Identifier: Apache-2.0
"""Products of Jacobians and Hessians with vectors, and the whole matrices, of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ingot
from ingot._C import Tensor


def _tuple(value: Any, what: str, name: str) -> tuple[bool, tuple]:
    if isinstance(value, Tensor):
        return False, (value,)
    if isinstance(value, tuple) and all(isinstance(v, Tensor) for v in value):
        return True, value
    raise TypeError(
        f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but found {type(value)}."
    )


def _inputs(values: tuple, create_graph: bool) -> tuple:
    """Fresh leaves, or with create_graph views that keep the history."""
    if create_graph:
        return tuple(v.view_as(v) if v.requires_grad else v.detach().requires_grad_() for v in values)
    return tuple(v.detach().requires_grad_() for v in values)


def _run(name: str, func: Callable, inputs: Any, create_graph: bool) -> tuple:
    several, values = _tuple(inputs, "inputs", name)
    values = _inputs(values, create_graph)
    several_out, outputs = _tuple(func(*values), "outputs of the user-provided function", name)
    return several, values, several_out, outputs


def _grads(outputs: tuple, inputs: tuple, seeds: tuple, create_graph: bool, strict: bool, name: str) -> tuple:
    used = [(o, s) for o, s in zip(outputs, seeds) if o.requires_grad]
    if not used:
        if strict:
            raise RuntimeError(
                f"The outputs of the user-provided function given to {name} are independent of the inputs."
            )
        return tuple(ingot.zeros_like(i) for i in inputs)
    outs, given = zip(*used)
    found = ingot.autograd.grad(outs, inputs, given, create_graph=create_graph, retain_graph=True, allow_unused=True)
    if strict and any(g is None for g in found):
        at = [i for i, g in enumerate(found) if g is None][0]
        raise RuntimeError(
            f"The output of the user-provided function is independent of input {at}. This is not allowed in strict "
            f"mode."
        )
    return tuple(ingot.zeros_like(i) if g is None else g for i, g in zip(inputs, found))


def _vectors(name: str, v: Any, like: tuple) -> tuple:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the user-provided function of {name} has one element."
            )
        return (ingot.ones_like(like[0]),)
    _, vectors = _tuple(v, "v", name)
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for i, (vector, x) in enumerate(zip(vectors, like)):
        if vector.shape != x.shape:
            raise RuntimeError(f"Entry {i} in v has invalid size: should be {x.shape} but got {vector.shape}.")
    return vectors


def _finish(values: tuple, several: bool, create_graph: bool) -> Any:
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if several else values[0]


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v times the Jacobian)."""
    with ingot.enable_grad():
        several, values, several_out, outputs = _run("vjp", func, inputs, create_graph)
        found = _grads(outputs, values, _vectors("vjp", v, outputs), create_graph, strict, "vjp")
    return _finish(outputs, several_out, create_graph), _finish(found, several, create_graph)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), the Jacobian times v), by differentiating a product with a vector of zeros."""
    with ingot.enable_grad():
        _, values, several_out, outputs = _run("jvp", func, inputs, create_graph)
        vectors = _vectors("jvp", v, values)
        seeds = tuple(ingot.zeros_like(o).requires_grad_() for o in outputs)
        back = _grads(outputs, values, seeds, True, strict, "jvp")
        found = _grads(back, seeds, vectors, create_graph, False, "jvp")
    return _finish(outputs, several_out, create_graph), _finish(found, several_out, create_graph)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Jacobians: [output][input], each of shape (*output, *input); plain where func has one output or input."""
    with ingot.enable_grad():
        several, values, several_out, outputs = _run("jacobian", func, inputs, create_graph)
        result = []
        for out in outputs:
            rows: list[list[Tensor]] = [[] for _ in values]
            for j in range(out.numel()):
                element = out.reshape(-1)[j]
                found = _grads((element,), values, (ingot.ones_like(element),), create_graph, strict, "jacobian")
                for column, grad in zip(rows, found):
                    column.append(grad)
            shapes = [(*out.shape, *x.shape) for x in values]
            parts = [ingot.stack(r).reshape(s) if r else ingot.zeros(s) for r, s in zip(rows, shapes)]
            result.append(_finish(tuple(parts), several, create_graph))
    return tuple(result) if several_out else result[0]


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Second derivatives of a function with one element: [input][input]."""
    several, _ = _tuple(inputs, "inputs", "hessian")

    def gradient(*values: Tensor) -> Any:
        _, values, _, outputs = _run("hessian", func, values, True)
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        found = _grads(outputs, values, (ingot.ones_like(outputs[0]),), True, strict, "hessian")
        return found if several else found[0]

    return jacobian(gradient, inputs, create_graph=create_graph, strict=strict)


def _gradient_of(name: str, func: Callable, inputs: Any) -> tuple:
    several, values, _, outputs = _run(name, func, inputs, True)
    if len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return several, values, outputs, _grads(outputs, values, (ingot.ones_like(outputs[0]),), True, False, name)


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v times the Hessian)."""
    with ingot.enable_grad():
        several, values, outputs, first = _gradient_of("vhp", func, inputs)
        found = _grads(first, values, _vectors("vhp", v, values), create_graph, strict, "vhp")
    return _finish(outputs, False, create_graph), _finish(found, several, create_graph)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), the Hessian times v): the Hessian is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)
