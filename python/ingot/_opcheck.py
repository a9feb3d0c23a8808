# SPDX-License-Identifier: Apache-2.0
"""The checks of torch.library.opcheck."""
from __future__ import annotations

import copy
from typing import Any

import ingot
from ingot._C import Tensor
from ingot._library.utils import is_builtin
from ingot.utils import _pytree as pytree

__all__ = [
    "test_aot_dispatch_dynamic",
    "test_aot_dispatch_static",
    "test_autograd_registration",
    "test_faketensor",
    "test_schema",
]


def _copied(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    def copy_of(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return copy.copy(value)
        return value.detach().clone().requires_grad_(value.requires_grad)

    return pytree.tree_map(copy_of, (args, kwargs))


def _close(a: Any, b: Any, rtol: float | None, atol: float | None) -> None:
    pairs = zip(pytree.tree_leaves(a), pytree.tree_leaves(b), strict=True)
    for x, y in pairs:
        if isinstance(x, Tensor):
            ingot.testing.assert_close(x, y, rtol=rtol, atol=atol, equal_nan=True)


def _shares(a: Tensor, b: Tensor) -> bool:
    return a.numel() > 0 and b.numel() > 0 and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def test_schema(op: Any, args: tuple, kwargs: dict[str, Any], rtol: Any, atol: Any) -> None:
    """The operator writes the arguments that its schema says, and its results share memory with no other ones."""
    own_args, own_kwargs = _copied(args, kwargs)
    with ingot.no_grad():
        results = pytree.tree_leaves(op(*own_args, **own_kwargs))
    arguments = op._schema.arguments
    given = dict(zip([a.name for a in arguments], own_args, strict=False)) | own_kwargs
    before = dict(zip([a.name for a in arguments], args, strict=False)) | kwargs
    for argument in arguments:
        now, then = (pytree.tree_leaves(x.get(argument.name)) for x in (given, before))
        for a, b in zip(now, then, strict=True):
            if not isinstance(a, Tensor):
                continue
            if argument.alias_info is None and any(isinstance(o, Tensor) and _shares(o, a) for o in results):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
            written = not ingot.equal(a, b) and not (a.isnan() == b.isnan()).all().item()
            written = written or not bool(ingot.isclose(a, b, rtol=0, atol=0, equal_nan=True).all())
            if written and not (argument.alias_info is not None and argument.alias_info.is_write):
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")


def test_autograd_registration(op: Any, args: tuple, kwargs: dict[str, Any], rtol: Any, atol: Any) -> None:
    """If an input requires a gradient, the operator has a formula, is composite, or its results have no gradient."""
    leaves = pytree.tree_leaves((args, kwargs))
    if not any(isinstance(x, Tensor) and x.requires_grad for x in leaves):
        return
    if is_builtin(op) or any(ingot._C.library_has(op, kind) for kind in ("autograd", "composite")):
        return
    own_args, own_kwargs = _copied(args, kwargs)
    results = pytree.tree_leaves(op(*own_args, **own_kwargs))
    if not any(isinstance(out, Tensor) and out.is_floating_point() for out in results):
        return
    raise AssertionError(
        f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have an "
        "autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have "
        "incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead to silently incorrect "
        "results. If your operator consists of regular PyTorch operations, consider not using an operator at all or "
        "registering your operator as CompositeImplicitAutograd. If you have an autograd.Function registered to a "
        "backend (CPU/CUDA) key, the correct location for it is the Autograd key."
    )


def test_faketensor(op: Any, args: tuple, kwargs: dict[str, Any], rtol: Any, atol: Any) -> None:
    """The fake kernel gives results like those of the kernel."""
    from ingot._subclasses.fake_tensor import FakeTensorMode

    with ingot.no_grad():
        own_args, own_kwargs = _copied(args, kwargs)
        real = op(*own_args, **own_kwargs)
        mode = FakeTensorMode()

        def fake_of(value: Any) -> Any:
            return mode.from_tensor(value) if isinstance(value, Tensor) else value

        fake_args, fake_kwargs = pytree.tree_map(fake_of, (args, kwargs))
        with mode:
            fake = op(*fake_args, **fake_kwargs)
    shared = [_outputs_share(values, a) for values, a in ((fake, (fake_args, fake_kwargs)),
                                                          (real, (own_args, own_kwargs)))]  # fmt: skip
    pairs = list(zip(pytree.tree_leaves(real), pytree.tree_leaves(fake), strict=True))
    for a, b in pairs:
        if not isinstance(a, Tensor):
            continue
        difference = _metadata_difference(a, b)
        if difference:
            raise RuntimeError(
                f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched tensor "
                f"metadata: {difference}"
            )


    if shared[0] != shared[1]:
        raise AssertionError(
            f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatch in "
            f"outputs_alias_inputs check {shared[0]} != {shared[1]}"
        )


def _outputs_share(results: Any, operands: Any) -> bool:
    """Whether a result uses the memory of an operand."""
    keys = {ingot._C.storage_key(t) for t in pytree.tree_leaves(operands) if isinstance(t, Tensor)}
    return any(isinstance(t, Tensor) and ingot._C.storage_key(t) in keys for t in pytree.tree_leaves(results))


def _metadata_difference(a: Tensor, b: Tensor) -> str | None:
    """How a result differs from that of the fake kernel; sizes that depend on data are not known there."""
    known = a.ndim == b.ndim and all(not isinstance(y, int) or x == y for x, y in zip(a.shape, b.shape, strict=True))
    if not known:
        return f"Shapes {a.shape} and {b.shape} are not equal!"
    for what, x, y in (("Dtypes", a.dtype, b.dtype), ("Devices", a.device, b.device)):
        if x != y:
            return f"{what} {x} and {y} are not equal!"
    return None


def test_aot_dispatch_static(op: Any, args: tuple, kwargs: dict[str, Any], rtol: Any, atol: Any) -> None:
    """A captured program computes what the operator computes."""
    _check_captured(op, args, kwargs, rtol, atol, "fake")


def test_aot_dispatch_dynamic(op: Any, args: tuple, kwargs: dict[str, Any], rtol: Any, atol: Any) -> None:
    """A captured program with symbolic sizes computes what the operator computes."""
    _check_captured(op, args, kwargs, rtol, atol, "symbolic")


def _check_gradients(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Where an operand requires a gradient, the operator has one."""
    leaves = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor) and t.requires_grad]
    if not leaves:
        return
    # Operands that are written must not be leaves.
    again = pytree.tree_map(lambda t: t.clone() if isinstance(t, Tensor) and t.requires_grad else t, (args, kwargs))
    results = pytree.tree_leaves(op(*again[0], **again[1]))
    known = [t.sum() for t in results if isinstance(t, Tensor) and t.requires_grad and t.is_floating_point()]
    if known:
        ingot.autograd.grad(known, leaves, allow_unused=True)


def _check_captured(op: Any, args: tuple, kwargs: dict[str, Any], rtol: Any, atol: Any, mode: str) -> None:
    from ingot.fx.experimental.proxy_tensor import make_fx

    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]

    def call(*tensors: Tensor) -> Any:
        own = list(leaves)
        for i, t in zip(places, tensors, strict=True):
            own[i] = t
        a, k = pytree.tree_unflatten(own, spec)
        return op(*a, **k)

    _check_gradients(op, *_copied(args, kwargs))
    with ingot.no_grad():
        own_args, own_kwargs = _copied(args, kwargs)
        want = op(*own_args, **own_kwargs)
        fresh = [x for x in pytree.tree_leaves(_copied(args, kwargs)) if isinstance(x, Tensor)]
        program = make_fx(call, tracing_mode=mode)(*fresh)
        again = [x for x in pytree.tree_leaves(_copied(args, kwargs)) if isinstance(x, Tensor)]
        _close(program(*again), want, rtol, atol)
