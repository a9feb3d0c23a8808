# SPDX-License-Identifier: Apache-2.0
"""torch.library.custom_op: an operator made of an annotated function."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ingot import _C
from ingot._C import Tensor
from ingot._library import autograd, fake_impl
from ingot._library.infer_schema import infer_schema
from ingot._library.kernels import device_key, implement
from ingot._library.simple_registry import singleton
from ingot._library.utils import is_mutable_schema, parse_namespace
from ingot._modes import no_grad
from ingot.utils import _pytree as pytree

__all__ = ["OPDEFS", "CustomOpDef", "custom_op"]

OPDEFS: dict[str, CustomOpDef] = {}  # by name; a later definition replaces an earlier one


def _check_no_alias(name: str, fn: Callable, args: tuple, kwargs: dict, result: Any) -> None:
    seen = {_C.storage_key(t) for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
    for t in pytree.tree_leaves(result):
        if not isinstance(t, Tensor):
            continue
        if _C.storage_key(t) in seen:
            raise RuntimeError(
                f"{name} (with implementation in {inspect.getmodule(fn)}): The output of this custom operator (1) must "
                "not also be an input to this custom operator and (2) may not alias any inputs to this custom operator "
                "or other returns. The most common way to trigger this error is if we have y = custom_op(x) and y and "
                "x are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return "
                "x.clone()) or refactor the custom operator to not return y."
            )
        seen.add(_C.storage_key(t))


class NoFakeImplError(RuntimeError):
    """An operator is asked for results without elements, and nobody said how they are made."""


class CustomOpDef:
    """What custom_op makes of a function: an operator that is called like the function."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable, tags: Sequence[Any] | None = None) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._qualname = f"{namespace}::{name}"
        self._init_fn = fn
        self._has_autograd = False
        self._kernels: dict[str | None, Callable] = {}
        self._disabled: set[str | None] = set()
        earlier = OPDEFS.pop(self._qualname, None)
        if earlier is not None:
            earlier._undefine()
        self._opoverload = _C.library_define(f"{self._qualname}{schema}", self._tags(tags))
        OPDEFS[self._qualname] = self
        _C.library_impl(self._opoverload, "autograd", self._no_formula)
        _C.library_impl(self._opoverload, "absent", self._no_fake)

    @staticmethod
    def _tags(tags: Sequence[Any] | None) -> tuple:
        """Custom operators work under capture, and want their operands laid out as in eager calls unless they say
        otherwise."""
        layout = {_C.Tag.needs_fixed_stride_order, _C.Tag.flexible_layout}
        given = tuple(tags or ())
        return (_C.Tag.pt2_compliant_tag, *given, *(() if layout & set(given) else (_C.Tag.needs_fixed_stride_order,)))

    def _undefine(self) -> None:
        singleton.forget(self._opoverload)
        _C.library_undefine(self._opoverload)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _no_fake(self, *args: Any, **kwargs: Any) -> Any:
        raise NoFakeImplError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def _no_formula(self, *args: Any, **kwargs: Any) -> Any:
        def refuse(ctx: Any, *grads: Any) -> None:
            raise RuntimeError(
                f"Trying to backward through {self._opoverload} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )

        if is_mutable_schema(self._opoverload._schema):
            with no_grad():
                return self._opoverload(*args, **kwargs)
        return autograd.AutogradRule(self._opoverload, refuse, None)(*args, **kwargs)

    def _checked(self, fn: Callable) -> Callable:
        def run(*args: Any, **kwargs: Any) -> Any:
            result = fn(*args, **kwargs)
            _check_no_alias(self._name, fn, args, kwargs, result)
            return result

        return run

    def _switched(self, key: str | None, fn: Callable) -> Callable:
        """The kernel, or the function itself while the kernel is switched off."""
        if fn is self._init_fn:
            return fn

        def run(*args: Any, **kwargs: Any) -> Any:
            return (self._init_fn if key in self._disabled else fn)(*args, **kwargs)

        return run

    def register_kernel(self, device_types: Any, fn: Callable | None = None, /) -> Any:
        """The implementation for tensors on some devices; None: on all."""
        many = (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
        keys = {name: device_key(name) for name in many}

        def wrap(f: Callable) -> Callable:
            for name, key in keys.items():
                self._kernels[name] = f
                implement(self._opoverload, key, self._checked(self._switched(name, f)), fake=False)
            return f

        return wrap if fn is None else wrap(fn)

    def register_fake(self, fn: Callable, /) -> Callable:
        """The operator's results for fake tensors."""
        checked = self._checked(fn)
        _C.library_impl(self._opoverload, "fake", fake_impl.with_ctx(self._opoverload, checked))
        return fn

    register_abstract = impl_abstract = register_fake

    def register_vmap(self, func: Callable | None = None, /) -> Any:
        """See torch.library.register_vmap."""

        def register(f: Callable) -> Callable:
            singleton.find(self._opoverload).vmap = f
            return f

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable | None = None, /) -> Any:
        """What a class of tensors or modes does instead of __torch_dispatch__ for this operator."""

        def register(f: Callable) -> Callable:
            _C.dispatch_rule(self._opoverload, torch_dispatch_class, f)
            return f

        return register if fn is None else register(fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """While the block runs, the kernel of a device is in force or not; without it, the function itself runs."""
        if device_type not in self._kernels:
            logging.getLogger(__name__).warning(
                "Attempted to set_kernel_enabled(%s, %s) on %s, but there was no kernel registered for this device "
                "type.", device_type, enabled, self._qualname,
            )  # fmt: skip
            yield
            return
        before = device_type in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if before else self._disabled.discard)(device_type)

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """See torch.library.register_autograd."""
        autograd.check_functional(self, self._opoverload._schema)
        autograd.check_positional(self._opoverload._schema)
        rule = autograd.AutogradRule(self._opoverload, backward, setup_context)
        _C.library_impl(self._opoverload, "autograd", rule)


def _check_schema(schema: str, mutates_args: Any, op: CustomOpDef) -> None:
    """ValueError: the schema that was given writes other arguments than mutates_args says."""
    arguments = op._opoverload._schema.arguments
    written = {a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write}
    if mutates_args == "unknown" or set(mutates_args) == written:
        return
    op._undefine()
    raise ValueError(
        f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema suggests "
        f"that the op mutates {written}which is different from what was provided to us in `mutates_args`. Please make "
        "these consistent."
    )


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Sequence[Any] | None = None,
) -> Any:
    """Makes an operator "lib::name" of an annotated function."""

    def wrap(f: Callable) -> CustomOpDef:
        text = infer_schema(f, mutates_args=mutates_args) if schema is None else schema
        namespace, short = parse_namespace(name)
        op = CustomOpDef(namespace, short, text, f, tags)
        if schema is not None:
            _check_schema(schema, mutates_args, op)
        op.register_kernel(device_types, f)
        if schema is None and not op._opoverload._schema.returns:
            op.register_fake(lambda *args, **kwargs: None)
        return op

    return wrap if fn is None else wrap(fn)
