# SPDX-License-Identifier: Apache-2.0
"""Settings of capture. `patch` changes some for a while, as a context or a decorator."""

import contextlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

__live__ = True  # its names are settings: code that re-exports them must not keep copies

allow_rnn = False  # export has its own answer: DEFAULT_EXPORT_DYNAMO_CONFIG
verify_stages = os.environ.get("INGOT_VERIFY", "0") not in ("", "0")  # check programs after every stage of an export
do_not_emit_runtime_asserts = False  # omit the assertions derived from guards
prefer_deferred_runtime_asserts_over_guards = False

# torch.compile
assume_static_by_default = True  # False: as dynamic=True
automatic_dynamic_shapes = True  # a number that changed becomes symbolic
specialize_int = False
specialize_float = True
capture_scalar_outputs = False  # one graph may read elements all the same
capture_dynamic_output_shape_ops = False
cache_size_limit = 8  # entries per function
accumulated_cache_size_limit = 256
error_on_recompile = False
suppress_errors = False  # run eagerly after an error of the compiler
disable = os.environ.get("TORCH_COMPILE_DISABLE", "0") == "1"
verbose = False

# Accepted, without an effect here.
optimize_ddp = True
inline_inbuilt_nn_modules = True
force_parameter_static_shapes = True
force_nn_module_property_static_shapes = True
force_unspec_int_unbacked_size_like_on_torchrec_kjt = False
trace_numpy = True
guard_nn_modules = True
cache_size_limit_on_stack = False
reorderable_logging_functions: set[Any] = set()
allowed_functions_module_string_ignorelist: set[str] = set()
capture_autograd_function = True
capture_func_transforms = True
enable_compiler_collectives = False
fake_tensor_cache_enabled = True
raise_on_ctx_manager_usage = True
dynamic_shapes = True
skip_nnmodule_hook_guards = True
skip_fsdp_hooks = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
traceable_tensor_subclasses: set[Any] = set()
compiled_autograd = False
numpy_default_float = "float64"
numpy_default_int = "int64"


class _Patch(contextlib.ContextDecorator):
    def __init__(self, changes: dict[str, Any]) -> None:
        self._changes = changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        module = sys.modules[__name__]
        self._before.append({name: getattr(module, name) for name in self._changes})
        for name, value in self._changes.items():
            setattr(module, name, value)

    def __exit__(self, *unused: Any) -> None:
        for name, value in self._before.pop().items():
            setattr(sys.modules[__name__], name, value)


def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> _Patch:
    """patch("name", value), patch({"name": value}) or patch(name=value)."""
    changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {})
    changes |= kwargs
    for name in changes:
        if name not in _names() and name not in _LATER:
            raise AttributeError(f"torch._dynamo.config has no setting '{name}'")
    return _Patch(changes)


# Later names of settings, which are the same settings.
_LATER = {"recompile_limit": "cache_size_limit", "accumulated_recompile_limit": "accumulated_cache_size_limit"}


class _Config(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name in _LATER:
            return getattr(self, _LATER[name])
        raise AttributeError(f"torch._dynamo.config has no setting '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(_LATER.get(name, name), value)


sys.modules[__name__].__class__ = _Config


def _names() -> Iterator[str]:
    return (name for name, value in list(globals().items()) if name[:1] != "_" and not callable(value))
