# SPDX-License-Identifier: Apache-2.0
"""autocast: regions in which matrix products and convolutions use a lower-precision dtype."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ingot import _C

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_CPU_DTYPES = (_C.bfloat16, _C.float16)


class autocast:
    """A context manager and a decorator. float64 operands are not cast."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _C.device(device_type).type
        self.fast_dtype = _C.autocast_get(self.device)[1] if dtype is None else dtype
        self._cache_enabled = True if cache_enabled is None else cache_enabled
        if self.device == "cpu" and enabled and self.fast_dtype not in _CPU_DTYPES:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[int] = []  # what _C.autocast_exit restores, by depth
        self._depth = 0

    # A region that was entered can be left without memory: room is made before, and nothing is after.
    def __enter__(self) -> autocast:
        depth = self._depth
        if len(self._before) == depth:
            self._before.append(0)
        self._before[depth] = _C.autocast_enter(self.device, self._enabled, self.fast_dtype)
        self._depth = depth + 1
        return self

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        self._depth -= 1
        _C.autocast_exit(self._before[self._depth])

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return call


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether a region of that device is open."""
    return _C.autocast_get(device_type)[0]


def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> Any:
    """The lower-precision dtype of regions of that device."""
    return _C.autocast_get(device_type)[1]


def get_autocast_cpu_dtype() -> Any:
    return get_autocast_dtype("cpu")


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    _C.autocast_set(device_type, enabled, _C.autocast_get(device_type)[1])


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    _C.autocast_set(device_type, _C.autocast_get(device_type)[0], dtype)


class GradScaler:
    """Scales a loss so that gradients of half precision do not underflow. On a CPU without such gradients it is
    usually disabled; then everything passes through."""

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        if enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._unscaled: set[int] = set()
        self._found_inf: dict[int, bool] = {}

    def is_enabled(self) -> bool:
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """The outputs times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(value) for value in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """The gradients of the optimizer's parameters divided by the scale."""
        if not self._enabled:
            return
        if id(optimizer) in self._unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        bad = False
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.div_(self._scale)
                    bad = bad or not bool(parameter.grad.isfinite().all())
        self._unscaled.add(id(optimizer))
        self._found_inf[id(optimizer)] = bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        return None if self._found_inf[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """A smaller scale after infinite gradients, a larger one after many finite ones."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found_inf:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(self._found_inf.values()):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._unscaled.clear()
        self._found_inf.clear()

    def get_scale(self) -> float:
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def state_dict(self) -> dict[str, Any]:
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        for name, value in state_dict.items():
            setattr(self, name if name.startswith("_") else f"_{name}", value)


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """The tensors of nested arguments in another dtype, except float64."""
    if isinstance(value, _C.Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not _C.float64
        return value.to(dtype) if fits else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Callable:
    """A decorator for forward of an autograd.Function: it runs in the autocast region of the call, or, with
    cast_inputs, without one and with inputs of that dtype."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = on
            return fwd(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        if not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return call


def custom_bwd(bwd: Callable | None = None, *, device_type: str = "cuda") -> Callable:
    """A decorator for backward of an autograd.Function: it runs in the autocast region of its forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def call(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return call


def get_autocast_gpu_dtype() -> Any:
    return get_autocast_dtype("cuda")


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows the device."""
    try:
        _C.autocast_get(device_type)
    except RuntimeError:
        return False
    return True


def is_autocast_cache_enabled() -> bool:
    """Casts are not cached: parameters are cast where they are used."""
    return True
