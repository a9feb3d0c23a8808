# SPDX-License-Identifier: Apache-2.0
"""torch.compile with a backend that is a function: every call is captured, and the backend is called once per graph.

What a function reads besides its arguments (modes, attributes, weights, globals) is not visible from outside, so no
call reuses an earlier result unchecked: the function is captured again, and the backend's result is reused only if
the capture gave the same graph over the same constants.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import ingot
from ingot import _C, nn
from ingot._C import Tensor
from ingot.utils import _pytree as pytree

__all__ = ["compile"]

_MOST = 64  # graphs kept per function; the least recently used one is dropped first


class _Constant(NamedTuple):
    value: Any
    read_only: bool  # the graph reads its elements and does nothing else with it


class _Made(NamedTuple):
    run: Callable
    out_spec: Any
    constants: list[_Constant]


class _Compiled:
    """The backend's results for one function, by captured graph."""

    def __init__(self, fn: Callable, backend: Callable | None) -> None:
        self.fn = fn
        self.backend = backend
        self.made: OrderedDict[Any, list[_Made]] = OrderedDict()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.backend is None or _C.capture_is_open():
            return self.fn(*args, **kwargs)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        made = self._find(leaves, spec, tensors)
        outs = made.run(*tensors)
        return pytree.tree_unflatten(list(outs) if isinstance(outs, (tuple, list)) else [outs], made.out_spec)

    def _find(self, leaves: list[Any], spec: Any, tensors: list[Tensor]) -> _Made:
        module, out_spec = self._capture(leaves, spec, tensors)
        shape, constants = _describe(module)
        state = (ingot.is_grad_enabled(), ingot.is_inference_mode_enabled(), ingot.get_default_dtype())
        key = (state, str(out_spec), tuple(_kind_of(t) for t in tensors), shape)
        known = self.made.setdefault(key, [])
        self.made.move_to_end(key)
        for made in known:
            if all(_is_same(a, b) for a, b in zip(made.constants, constants)):
                return made
        run = self.backend(module, tensors)  # type: ignore[misc]: checked by the caller
        known.append(_Made(run, out_spec, constants))
        self._forget()
        return known[-1]

    def _forget(self) -> None:
        while sum(map(len, self.made.values())) > _MOST:
            oldest = next(iter(self.made))
            self.made[oldest].pop(0)
            if not self.made[oldest]:
                del self.made[oldest]

    def _capture(self, leaves: list[Any], spec: Any, tensors: list[Tensor]) -> tuple[Any, Any]:
        from ingot.fx.experimental.proxy_tensor import make_fx

        out_spec: list[Any] = []

        def flat(*inputs: Tensor) -> tuple:
            rest = iter(inputs)
            full = [next(rest) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(full, spec)
            outs, structure = pytree.tree_flatten(self.fn(*args, **kwargs))
            out_spec.append(structure)
            return tuple(outs)

        return make_fx(flat, pre_dispatch=True)(*tensors), out_spec[0]


def _kind_of(t: Tensor) -> Any:
    return tuple(t.shape), t.stride(), t.dtype, str(t.device), t.requires_grad


class _Same:
    """Equal only to this object, which it keeps alive: a number like id() could be reused."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


_PLAIN = (bool, int, float, complex, str, type(None), _C.dtype, _C.device, _C.layout, _C.memory_format)


def _frozen(value: Any) -> Any:
    """Arguments of a node as a key: equal keys mean equal arguments."""
    if isinstance(value, ingot.fx.Node):
        return "%", value.name
    if isinstance(value, (tuple, list)):
        return type(value), tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return dict, tuple((_frozen(k), _frozen(v)) for k, v in value.items())
    if isinstance(value, slice):
        return slice, _frozen(value.start), _frozen(value.stop), _frozen(value.step)
    if type(value) in _PLAIN:
        return type(value), repr(value)  # 0.0 and -0.0, 1 and True are not the same
    return _Same(value)


def _reads_only(user: Any, node: Any) -> bool:
    """No result of the call shares memory with the node, and the call does not mutate it."""
    schema = getattr(user.target, "_schema", None)
    if user.op != "call_function" or schema is None:
        return False
    given = dict(zip((a.name for a in schema.arguments), user.args)) | user.kwargs
    return all(
        a.alias_info is None or not any(leaf is node for leaf in pytree.tree_leaves(given.get(a.name)))
        for a in schema.arguments
    )


def _describe(module: Any) -> tuple[Any, list[_Constant]]:
    """The graph without its constants, and these: tensors in order, sub-graphs as part of the graph."""
    nodes: list[Any] = []
    constants: list[_Constant] = []
    for node in module.graph.nodes:
        target = node.target if isinstance(node.target, str) else _Same(node.target)
        nodes.append((node.op, node.name, target, _frozen(node.args), _frozen(node.kwargs)))
        if node.op != "get_attr":
            continue
        value = functools.reduce(getattr, node.target.split("."), module)
        if isinstance(value, ingot.fx.GraphModule):
            shape, inner = _describe(value)
            nodes.append(shape)
            constants.extend(inner)
        else:
            constants.append(_Constant(value, all(_reads_only(user, node) for user in node.users)))
    return tuple(nodes), constants


def _is_same(a: _Constant, b: _Constant) -> bool:
    """The same object, or indistinguishable elements: a constant that the function makes is another tensor in
    each capture."""
    if a.value is b.value:
        return True
    x, y = a.value, b.value
    if not (isinstance(x, Tensor) and isinstance(y, Tensor) and a.read_only and b.read_only):
        return False
    if x.requires_grad or y.requires_grad or _kind_of(x) != _kind_of(y):
        return False
    return x.device.type == "cpu" and _bytes_of(x) == _bytes_of(y)


def _bytes_of(t: Tensor) -> bytes:
    return t.detach().contiguous().reshape(-1).view(ingot.uint8).numpy().tobytes()


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
    """A function that calls backend(graph_module, example_inputs) once per graph and runs its result."""
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, disable=disable)
    found = None if disable else _find_backend(backend)
    compiled = _Compiled(model, found)
    if isinstance(model, nn.Module):
        return _OptimizedModule(model, compiled)
    return functools.wraps(model)(lambda *args, **kwargs: compiled(*args, **kwargs))


class _OptimizedModule(nn.Module):
    """The module, with its call compiled. Attributes are those of the module."""

    def __init__(self, module: nn.Module, compiled: _Compiled) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", compiled)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_orig_mod" not in self.__dict__["_modules"]:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)
