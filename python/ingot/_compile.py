# SPDX-License-Identifier: Apache-2.0
"""torch.compile with a backend that is a function: captured once per kind of inputs, handed over as a GraphModule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ingot import _C, nn
from ingot._C import Tensor
from ingot.utils import _pytree as pytree

__all__ = ["compile"]


class _Compiled:
    """Graphs of one function, by the kind of their inputs."""

    def __init__(self, fn: Callable, backend: Callable | None) -> None:
        self.fn = fn
        self.backend = backend
        self.made: dict[Any, tuple[Callable, Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.backend is None or _C.capture_is_open():
            return self.fn(*args, **kwargs)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        key = (str(spec), tuple(_kind_of(leaf) for leaf in leaves))
        if key not in self.made:
            self.made[key] = self._make(leaves, spec)
        run, out_spec = self.made[key]
        outs = run(*(leaf for leaf in leaves if isinstance(leaf, Tensor)))
        return pytree.tree_unflatten(list(outs) if isinstance(outs, (tuple, list)) else [outs], out_spec)

    def _make(self, leaves: list[Any], spec: Any) -> tuple[Callable, Any]:
        from ingot.fx.experimental.proxy_tensor import make_fx

        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        out_spec: list[Any] = []

        def flat(*inputs: Tensor) -> tuple:
            rest = iter(inputs)
            full = [next(rest) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(full, spec)
            outs, structure = pytree.tree_flatten(self.fn(*args, **kwargs))
            out_spec.append(structure)
            return tuple(outs)

        module = make_fx(flat, pre_dispatch=True)(*tensors)
        return self.backend(module, tensors), out_spec[0]  # type: ignore[misc]: checked by the caller


def _kind_of(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return tuple(leaf.shape), leaf.dtype, str(leaf.device), leaf.requires_grad
    return leaf if isinstance(leaf, (int, float, bool, str, type(None))) else id(leaf)


def _find_backend(backend: Any) -> Callable | None:
    if callable(backend):
        return backend
    if backend in ("eager", "aot_eager", "inductor"):
        return None  # the engine runs the program itself
    raise RuntimeError(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")


def compile(  # noqa: A001
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict | None = None,
    disable: bool = False,
) -> Any:
    """A function that calls backend(graph_module, example_inputs) once per kind of inputs and runs what it gives."""
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, disable=disable)
    found = None if disable else _find_backend(backend)
    compiled = _Compiled(model, found)
    if isinstance(model, nn.Module):
        return _OptimizedModule(model, compiled)
    return functools.wraps(model)(lambda *args, **kwargs: compiled(*args, **kwargs))


class _OptimizedModule(nn.Module):
    def __init__(self, module: nn.Module, compiled: _Compiled) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", compiled)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)
