# SPDX-License-Identifier: Apache-2.0
"""torch.nn.utils.prune: masked parameters. module.weight = module.weight_orig * module.weight_mask."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import ingot
from ingot._C import Tensor
from ingot.nn.modules.module import Module

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """A hook that masks a parameter before every forward. Subclasses compute the mask."""

    _tensor_name: str
    PRUNING_TYPE = "unstructured"

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the elements that stay, a part of the default mask."""

    def apply_mask(self, module: Module) -> Tensor:
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune `name`; if it is pruned already, the methods are combined."""
        old = [
            (k, hook)
            for k, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(old) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}.")
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if old:
            key, hook = old[0]
            del module._forward_pre_hooks[key]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter                     {name} of {module}"
            )
        if not old:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default = ingot.ones_like(original)
        else:
            default = getattr(module, name + "_mask").detach().clone(memory_format=ingot.contiguous_format)
        try:
            scores = importance_scores if importance_scores is not None else original
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=default))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not old:
                whole = getattr(module, name + "_orig")
                module.register_parameter(name, whole)
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """The tensor with its pruned elements set to zero."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = importance_scores if importance_scores is not None else t
        mask = default_mask if default_mask is not None else ingot.ones_like(t)
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """The masked parameter becomes a parameter."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other, on the elements that the earlier ones left."""

    def __init__(self, *args: Any) -> None:
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        self._pruning_methods: tuple = tuple(methods)
        if self._pruning_methods:
            self._tensor_name = self._pruning_methods[0]._tensor_name

    def add_pruning_method(self, method: Any) -> None:
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on "
                f"the parameter named '{self._tensor_name}' to PruningContainer {self}."
                f" Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            part: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim if method.dim >= 0 else method.dim + t.dim()
            keep = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
            part = tuple(keep if d == dim else slice(None) for d in range(t.dim()))
        elif method.PRUNING_TYPE == "global":
            part = tuple(slice(None) for _ in range(t.dim()))
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        combined = mask.clone()
        combined[part] = method.compute_mask(t[part], default_mask=mask[part]).to(dtype=mask.dtype)
        return combined


def _count(amount: Any, size: int) -> int:
    """How many elements an amount (a number or a fraction) is."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * size)  # type: ignore[return-value]


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _check_size(count: int, size: int) -> None:
    if count > size:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")


class Identity(BasePruningMethod):
    """Prunes nothing, with a mask of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Elements at random."""

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        size = t.nelement()
        count = _count(self.amount, size)
        _check_size(count, size)
        mask = default_mask.clone(memory_format=ingot.contiguous_format)
        if count != 0:
            mask.view(-1)[ingot.topk(ingot.rand_like(t).view(-1), k=count).indices] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """The elements of the smallest absolute value."""

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        size = t.nelement()
        count = _count(self.amount, size)
        _check_size(count, size)
        mask = default_mask.clone(memory_format=ingot.contiguous_format)
        if count != 0:
            mask.view(-1)[ingot.topk(ingot.abs(t).view(-1), k=count, largest=False).indices] = 0
        return mask


class _Structured(BasePruningMethod):
    """Whole slices along a dimension, those of the smallest scores."""

    PRUNING_TYPE = "structured"
    amount: Any
    dim: int

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        _check_size(count, size)
        scores = self._scores(t)
        if count == 0:
            return default_mask
        mask = ingot.zeros_like(t)
        kept = ingot.topk(scores, k=size - count, largest=True).indices
        mask[tuple(kept if d == self.dim % t.dim() else slice(None) for d in range(t.dim()))] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Slices at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t: Tensor) -> Tensor:
        return ingot.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """The slices of the smallest n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def _scores(self, t: Tensor) -> Tensor:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return ingot.norm(t, p=self.n, dim=others)


class CustomFromMask(BasePruningMethod):
    """The mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """A mask of ones for `name`."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of the smallest absolute value."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune slices at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the slices of the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune by the mask that is given."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable, pruning_method: Any, importance_scores: dict | None = None, **kwargs: Any
) -> None:
    """Prune several parameters, [(module, name), ...], as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    flat = ingot.nn.utils.parameters_to_vector([scores.get(pair, getattr(*pair)) for pair in pairs])
    masks = ingot.nn.utils.parameters_to_vector(
        [getattr(m, n + "_mask", ingot.ones_like(getattr(m, n))) for m, n in pairs]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    final = container.compute_mask(flat, masks)
    start = 0
    for module, name in pairs:
        param = getattr(module, name)
        count = param.numel()
        custom_from_mask(module, name, mask=final[start : start + count].view_as(param))
        start += count


def remove(module: Module, name: str) -> Module:
    """`name` is a parameter again, its pruned elements zero."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether the module or a part of it has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, part in module.named_modules()
        for hook in part._forward_pre_hooks.values()
    )
