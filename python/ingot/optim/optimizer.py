# SPDX-License-Identifier: Apache-2.0
"""Optimizer: parameter groups, state, hooks, state dicts. The steps themselves are operators over lists of tensors."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import ingot
from ingot._bridge import adopt
from ingot._C import Tensor
from ingot.utils.hooks import HookDict, RemovableHandle

ParamsT = Iterable[Any]
StateDict = dict[str, Any]
Closure = Callable[[], Any]

_before_any_step = HookDict()
_after_any_step = HookDict()


class _RequiredParameter:
    """Marks an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) before the step of every optimizer."""
    return _before_any_step.add(hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after the step of every optimizer."""
    return _after_any_step.add(hook)


def _use_grad_for_differentiable(step: Callable) -> Callable:
    """Run a step with gradients recorded only if the optimizer is differentiable."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with ingot.set_grad_enabled(self.defaults.get("differentiable", False)):
            return step(self, *args, **kwargs)

    return run


def _with_hooks(step: Callable) -> Callable:
    """A class's `step`, surrounded by the hooks of the optimizer that it is called on."""

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        for hook in chain(_before_any_step.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _after_any_step.values()):
            hook(self, args, kwargs)
        return result

    run.hooked = True
    return run


_HOOKS = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


class Optimizer:
    """The base class: `params` are tensors or dicts with "params" and options, `defaults` the options."""

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + ingot.typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        self._warned_capturable_if_run_uncaptured = True

    def _prepare(self) -> None:
        """What an optimizer has beside its pickled state: hooks, and a class whose `step` calls them."""
        for name in _HOOKS:
            self.__dict__.setdefault(name, HookDict())
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ---- hooks ----

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        return self._optimizer_step_pre_hooks.add(hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        return self._optimizer_step_post_hooks.add(hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._optimizer_state_dict_pre_hooks.add(hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._optimizer_state_dict_post_hooks.add(hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._optimizer_load_state_dict_pre_hooks.add(hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._optimizer_load_state_dict_post_hooks.add(hook, prepend)

    # ---- state dicts: parameters are numbered through the groups ----

    def state_dict(self) -> StateDict:
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for i, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        state_dict = adopt(state_dict).copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        owners = {}  # number in the state dict: the parameter, and the options that it was saved with
        for group, options in zip(self.param_groups, saved):
            owners.update(zip(options["params"], ((param, options) for param in group["params"])))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                param, options = owners[key]
                state[param] = _adapt(value, param, options, None)
            else:
                state[key] = value
        groups = [{**options, "params": group["params"]} for group, options in zip(self.param_groups, saved)]
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # ---- gradients, groups, step ----

    def zero_grad(self, set_to_none: bool = True) -> None:
        kept = []
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                kept.append(grad)
        if kept:
            ingot._foreach_zero_(kept)

    def step(self, closure: Closure | None = None) -> Any:
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = param_group["params"] = [params] if isinstance(params, Tensor) else list(params)
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + ingot.typename(param)
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len({id(p) for p in params}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(id(p) for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def _adapt(value: Any, param: Tensor, options: dict[str, Any], key: Any) -> Any:
    """A saved value for a parameter: with its device and, if it is floating-point, its dtype. Steps keep theirs."""
    if isinstance(value, Tensor):
        if key == "step":
            if options.get("capturable") or options.get("fused"):
                return value.to(dtype=ingot.float32, device=param.device)
            return value
        return value.to(dtype=param.dtype, device=param.device) if param.is_floating_point() else value.to(param.device)
    if isinstance(value, dict):
        return {k: _adapt(v, param, options, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_adapt(v, param, options, None) for v in value)
    return value
