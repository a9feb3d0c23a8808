# SPDX-License-Identifier: Apache-2.0
"""Modules that infer the sizes of their parameters from the first input."""

from __future__ import annotations

from typing import Any

from ingot import _C
from ingot.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Mixed in before a module class: parameters may be uninitialized until the first forward calls
    initialize_parameters(*args). The module then becomes an instance of cls_to_become."""

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, value in (*self._parameters.items(), *self._persistent_buffers().items()):
            if value is not None:
                destination[prefix + name] = value if is_lazy(value) or keep_vars else value.detach()

    def _lazy_load_hook(self, state_dict: dict, prefix: str, *unused: Any) -> None:
        """Gives uninitialized parameters the shapes of the loaded tensors."""
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and value is not None and is_lazy(value) and not is_lazy(given):
                value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        return any(is_lazy(v) for v in (*self._parameters.values(), *self._buffers.values()) if v is not None)

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        # Once in the life of a module, and not part of what torch.compile captures.
        _C.compile_aside(module.initialize_parameters, args, kwargs or {}, True)
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {self._get_name()} has not been fully initialized: some parameters are still uninitialized"
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`.")


__all__ = ["LazyModuleMixin", "UninitializedBuffer", "UninitializedParameter"]
