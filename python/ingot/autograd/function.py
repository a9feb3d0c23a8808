# SPDX-License-Identifier: Apache-2.0
"""Function: an operation whose forward and backward are both written in Python.

The engine keeps what forward saved and calls back with the gradients of the results; here is the bookkeeping between
positions of arguments (tensors or not) and the tensors that the engine knows.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ingot import _C
from ingot._C import Tensor

# Who answers a call of Function.apply instead of running forward: (class, arguments) -> result or NotImplemented.
_handler: contextvars.ContextVar[Callable | None] = contextvars.ContextVar("autograd_function", default=None)


@contextlib.contextmanager
def handler(fn: Callable | None) -> Iterator[None]:
    """While the block runs, `fn` answers calls of Function.apply."""
    token = _handler.set(fn)
    try:
        yield
    finally:
        _handler.reset(token)


class FunctionCtx:
    """What forward passes to backward: saved tensors, flags, and any attribute."""

    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self._to_save: tuple = ()
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        self._materialize = True
        self._node: Any = None  # the engine's side of this call, while backward runs

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        for value in tensors:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(value).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """For forward-mode gradients, which are not supported."""

    @property
    def saved_tensors(self) -> tuple:
        return tuple(self._to_save) if self._node is None else tuple(self._node.saved_tensors)

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self._materialize = value


class Function:
    """Subclass with static methods forward(ctx, *args) and backward(ctx, *grads), then call apply(*args).

    Or forward(*args) together with setup_context(ctx, inputs, output).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            f"invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version "
            "of PyTorch."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward "
            "mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on args and record the call in the history of the results."""
        if kwargs:
            raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments, found {sorted(kwargs)[0]!r}")
        answer = _handler.get()
        found = NotImplemented if answer is None else answer(cls, args)
        if found is not NotImplemented:
            return found
        if _C._is_tracing():
            from ingot.jit import _python_op

            return _python_op.traced(cls, args, _run)
        if _C.compile_is_recording() and _wants_history(args):
            return _C.compile_aside(_run, (cls, args), {}, True)[0]  # the history is that of real results
        return _run(cls, args)[0]


def _wants_history(args: tuple) -> bool:
    return _C.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in args)


def _run(cls: Any, args: tuple) -> tuple[Any, Any, bool]:
    """Runs forward and records the call in the history of the results: the results, those of forward itself, and
    whether arguments were changed."""
    ctx = FunctionCtx()
    recording = _C.is_grad_enabled()
    ctx.needs_input_grad = tuple(recording and isinstance(a, Tensor) and a.requires_grad for a in args)
    if cls.setup_context is Function.setup_context:
        result = _C._call_without_grad(cls.forward, ctx, *args)
    else:
        result = _C._call_without_grad(cls.forward, *args)
        _C._call_without_grad(cls.setup_context, ctx, args, result)
    single = not isinstance(result, tuple)
    outputs = [result] if single else list(result)
    slots = [i for i, o in enumerate(outputs) if isinstance(o, Tensor)]
    tensors = [a for a in args if isinstance(a, Tensor)]
    callback = _Backward(cls, ctx, args, slots, len(outputs))
    made, node = _C._make_function(
        f"{cls.__name__}Backward",
        callback,
        tensors,
        [outputs[i] for i in slots],
        ctx._to_save,
        ctx._dirty,
        ctx._non_differentiable,
        ctx._materialize,
    )
    if node is not None:  # the engine owns them from here on; otherwise they would be part of a cycle
        ctx._to_save = ()
    changed = bool(ctx._dirty)
    ctx._dirty = ctx._non_differentiable = ()
    for i, tensor in zip(slots, made):
        outputs[i] = tensor
    return outputs[0] if single else tuple(outputs), result, changed


class _Backward:
    """Called by the engine: gradients of tensor results in, gradients of tensor arguments out."""

    def __init__(self, cls: type, ctx: FunctionCtx, args: tuple, slots: list[int], results: int) -> None:
        self.cls, self.ctx, self.slots, self.results = cls, ctx, slots, results
        self.is_tensor = [isinstance(a, Tensor) for a in args]

    def __call__(self, node: Any, grads: tuple) -> tuple:
        given: list = [None] * self.results
        for slot, grad in zip(self.slots, grads):
            given[slot] = grad
        own_vjp = getattr(self.cls, "vjp", None)
        function = self.cls.backward if own_vjp is None else own_vjp
        self.ctx._node = node
        try:
            found = function(self.ctx, *given)
        finally:
            self.ctx._node = None
        return self._checked(found if isinstance(found, tuple) else (found,))

    def _checked(self, found: tuple) -> tuple:
        name, count = f"{self.cls.__name__}Backward", len(self.is_tensor)
        if len(found) < count or any(g is not None for g in found[count:]):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {count}, got {len(found)})"
            )
        for i, (grad, is_tensor) in enumerate(zip(found, self.is_tensor)):
            if grad is not None and not is_tensor:
                raise RuntimeError(
                    f"function {name} returned a gradient different from None at position {i + 1}, but the "
                    f"corresponding "
                    "forward input was not a Variable"
                )
        return tuple(grad for grad, is_tensor in zip(found, self.is_tensor) if is_tensor)


def once_differentiable(fn: Callable) -> Callable:
    """Decorator of a backward that is not itself differentiable: a second derivative is an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        outputs = _C._call_without_grad(fn, ctx, *grads)
        inputs = [g for g in grads if isinstance(g, Tensor) and g.requires_grad]
        if not _C.is_grad_enabled() or not inputs:
            return outputs

        def refuse(node: Any, more: tuple) -> Any:
            raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

        single = not isinstance(outputs, tuple)
        values = [outputs] if single else list(outputs)
        slots = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        made, _ = _C._make_function("ErrorBackward", refuse, inputs, [values[i].detach() for i in slots], (), (), ())
        for i, tensor in zip(slots, made):
            values[i] = tensor
        return values[0] if single else tuple(values)

    return wrapper


def identity_with_backward(tensors: list[Tensor], callback: Callable[[tuple], tuple]) -> list[Tensor]:
    """The same values; backward passes the gradients to callback and continues with its result."""
    outputs = _C._call_without_grad(lambda: [t.detach() for t in tensors])
    made, _ = _C._make_function(
        "BackwardHookFunctionBackward", lambda node, grads: callback(grads), tensors, outputs, (), (), ()
    )
    return list(made)
