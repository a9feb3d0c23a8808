# SPDX-License-Identifier: Apache-2.0
"""torch.utils.checkpoint: intermediate results are computed again in the backward pass instead of being kept."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ingot
from ingot import _C
from ingot._C import Tensor
from ingot.autograd import Function
from ingot.utils import _pytree as pytree

__all__ = ["checkpoint", "checkpoint_sequential"]


@contextlib.contextmanager
def _random_state(state: Tensor | None) -> Iterator[None]:
    """Random operators draw what they drew with this state; the current one goes on afterwards."""
    if state is None:
        yield
        return
    now = ingot.get_rng_state()
    ingot.set_rng_state(state)
    try:
        yield
    finally:
        ingot.set_rng_state(now)


class _Call:
    """A call with its tensors taken out: run(tensors) makes it again."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict, preserve: bool) -> None:
        self.function = function
        self.leaves, self.spec = pytree.tree_flatten((args, kwargs))
        self.at = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.tensors = [self.leaves[i] for i in self.at]
        self.state = ingot.get_rng_state() if preserve else None
        self.autocast = _C.autocast_get("cpu")
        self.out_spec: Any = None
        self.outs: list[Any] = []

    def run(self, tensors: list[Tensor]) -> list[Any]:
        leaves = list(self.leaves)
        for i, t in zip(self.at, tensors, strict=True):
            leaves[i] = t
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        outs, self.out_spec = pytree.tree_flatten(self.function(*args, **kwargs))
        return outs


class _Checkpoint(Function):
    """The inputs are: the call, a tensor that requires a gradient (so that the parameters get theirs), its tensors."""

    @staticmethod
    def forward(ctx: Any, call: _Call, anchor: Tensor | None, *tensors: Tensor) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        call.outs = call.run(list(tensors))
        ctx.of_outs = [isinstance(o, Tensor) for o in call.outs]
        return tuple(o for o in call.outs if isinstance(o, Tensor))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        call = ctx.call
        inputs = [t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
        on, dtype = call.autocast[:2]
        with ingot.enable_grad(), _random_state(call.state), ingot.autocast("cpu", dtype=dtype, enabled=bool(on)):
            outs = call.run(inputs)
        made = [o for o in outs if isinstance(o, Tensor)]
        pairs = [(o, g) for o, g in zip(made, grads, strict=True) if g is not None and o.requires_grad]
        if pairs:
            ingot.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(t.grad for t in inputs))


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None, context_fn: Callable | None = None,
               determinism_check: str = "default", debug: bool = False, preserve_rng_state: bool = True,
               **kwargs: Any) -> Any:  # fmt: skip
    """function(*args, **kwargs), whose intermediate results are not kept for the backward pass."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. In version 2.5 we will "
            "raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details "
            "on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not None or debug:
        raise NotImplementedError("checkpoint: context_fn and debug are not supported")
    if not ingot.is_grad_enabled():
        return function(*args, **kwargs)
    call = _Call(function, args, kwargs, preserve_rng_state)
    anchor = None if use_reentrant else ingot.zeros(0, requires_grad=True)
    tensors = iter(_Checkpoint.apply(call, anchor, *call.tensors))
    outs = [next(tensors) if isinstance(o, Tensor) else o for o in call.outs]
    call.outs = []
    return pytree.tree_unflatten(outs, call.out_spec)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:  # fmt: skip
    """Runs the functions one after the other, in segments of which all but the last are checkpoints."""
    if isinstance(functions, ingot.nn.Sequential):
        functions = list(functions.children())

    def of(start: int, end: int) -> Callable:
        def forward(x: Any) -> Any:
            for f in functions[start : end + 1]:
                x = f(x)
            return x

        return forward

    size = len(functions) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(of(start, end), input, use_reentrant=use_reentrant, **kwargs)
    return of(end + 1, len(functions) - 1)(input)
