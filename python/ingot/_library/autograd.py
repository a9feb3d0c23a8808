# SPDX-License-Identifier: Apache-2.0
"""Gradients of custom operators: what register_autograd was given, called through one autograd.Function per rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot._C import Tensor
from ingot._library.utils import (
    fill_defaults,
    has_kwarg_only_args,
    has_kwarg_only_tensors,
    is_functional_schema,
    is_tensorlist_like_type,
)
from ingot._modes import no_grad
from ingot.utils import _pytree as pytree

__all__ = ["AutogradRule", "check_functional", "check_positional"]


def check_functional(op: Any, schema: Any) -> None:
    """RuntimeError: the operator writes arguments or returns views, so that it can have no formula."""
    if not is_functional_schema(schema):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {schema}. Please create a "
            "functional operator and register an autograd formula for that."
        )


def check_positional(schema: Any) -> None:
    """NotImplementedError: the operator has tensors that are given by keyword only."""
    if has_kwarg_only_tensors(schema):
        raise NotImplementedError(
            "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "
            f"{str(schema).partition('::')[2]}"
        )


class _Call:
    """One call on its way through autograd.Function, which takes flat arguments."""

    def __init__(self, rule: AutogradRule, spec: Any) -> None:
        self.rule = rule
        self.spec = spec
        self.args: tuple = ()
        self.out_spec: Any = None


def _is_leaf(value: Any) -> bool:
    """Only tuples, and lists of tensors, are parts of what a formula receives and returns."""
    if isinstance(value, list):
        return not all(x is None or isinstance(x, Tensor) for x in value)
    return not isinstance(value, tuple)


class AutogradRule:
    """An implementation that is called when a gradient is needed."""

    def __init__(self, overload: Any, backward: Callable, setup_context: Callable | None) -> None:
        from ingot.autograd import Function

        self.overload = overload
        self.backward = backward
        self.setup_context = setup_context
        self.name = "GeneratedBackwardFor_" + str(overload).replace(".", "_")
        methods = {"forward": staticmethod(_run_forward), "backward": staticmethod(_run_backward)}
        self.function = type(self.name, (Function,), methods)
        self.has_lists = any(is_tensorlist_like_type(a.type) for a in overload._schema.arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        call = _Call(self, spec)
        outs = self.function.apply(call, *leaves)
        return pytree.tree_unflatten(list(outs) if isinstance(outs, tuple) else [outs], call.out_spec)

    def check(self, args: tuple, answer: tuple) -> None:
        """RuntimeError: the answer of the formula does not fit the arguments. The last entry of both is the call."""
        if self.has_lists:
            given, wanted = (pytree.tree_structure((*x, None), _is_leaf) for x in (answer, args))
            if given != wanted:
                raise RuntimeError(
                    "Expected the return from backward to be of the same structure as the inputs. Got: "
                    f"{given} (return from backward), {wanted} (inputs)"
                )
        if len(answer) < len(args) or any(x is not None for x in answer[len(args) :]):
            raise RuntimeError(
                f"function {self.name}Backward returned an incorrect number of gradients (expected {len(args) + 1}, "
                f"got {len(answer) + 1})"
            )


def _run_forward(ctx: Any, call: _Call, *leaves: Any) -> Any:
    args, kwargs = pytree.tree_unflatten(list(leaves), call.spec)
    ctx._call = call
    needed = tuple(ctx.needs_input_grad)[1:]
    ctx.needs_input_grad = (*needed, False)  # setup_context sees the call itself as a last argument
    overload = call.rule.overload
    with no_grad():
        result = overload(*args, **kwargs)
    call.args, named = fill_defaults(overload._schema, args, kwargs)
    setup = call.rule.setup_context
    if setup is not None:
        extra = {"keyword_only_inputs": named} if has_kwarg_only_args(overload._schema) else {}
        setup(ctx=ctx, inputs=call.args, output=result, **extra)
    ctx.needs_input_grad = needed
    outs, call.out_spec = pytree.tree_flatten(result)
    return tuple(outs) if len(outs) != 1 else outs[0]


def _run_backward(ctx: Any, *grads: Any) -> tuple:
    call, rule = ctx._call, ctx._call.rule
    structured = pytree.tree_unflatten(list(grads), call.out_spec)
    many = len(rule.overload._schema.returns) > 1
    answer = rule.backward(ctx, *structured) if many else rule.backward(ctx, structured)
    answer = answer if isinstance(answer, tuple) else (answer,)
    rule.check(call.args, answer)
    flat: list[Any] = []
    for arg, grad in zip(call.args, answer, strict=False):
        n = len(pytree.tree_leaves(arg))
        flat.extend(grad if isinstance(grad, (list, tuple)) else [grad] * n)
    total = call.spec.num_leaves
    return (None, *flat[:total], *([None] * (total - len(flat))))
