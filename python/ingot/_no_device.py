# SPDX-License-Identifier: Apache-2.0
"""What the modules of absent accelerators (torch.cuda, torch.xpu) share: queries are answered, use is refused with the
words of a build without the device."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any


def refusal(name: str) -> Callable:
    """A function that raises what a build without `name` raises when the device is used."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"Torch not compiled with {name} enabled")

    return refuse


class NoDevice:
    """A context that selects a device. Without one only "no device" can be selected: None or a negative index."""

    _name = "CUDA"

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else getattr(device, "index", device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if isinstance(self.idx, int) and self.idx >= 0:
            refusal(self._name)()

    def __exit__(self, *unused: Any) -> bool:
        return False


class NoStream:
    """A context that selects a stream: there is none, and the block runs."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *unused: Any) -> None:
        return None


def nothing(*args: Any, **kwargs: Any) -> None:
    """There is nothing to seed, free or restore."""


def zero(device: Any = None) -> int:
    """Bytes of memory, or devices: none."""
    return 0


def no(*args: Any, **kwargs: Any) -> bool:
    return False


def no_states() -> list:
    return []


def no_stats(device: Any = None) -> collections.OrderedDict:
    return collections.OrderedDict()


def dummy(name: str, message: str | None = None) -> type:
    """A class that exists to be named and cannot be instantiated."""
    text = message or f"Tried to instantiate dummy base class {name}"

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(text)

    return type(name, (), {"__init__": refuse, "__doc__": "Not available without the device."})


# Names of both modules, by what they do.
QUERIES = {
    "is_available": no, "is_initialized": no, "is_bf16_supported": no, "is_tf32_supported": no, "_is_compiled": no,
    "_is_in_bad_fork": no, "device_count": zero,
    "memory_allocated": zero, "max_memory_allocated": zero, "memory_reserved": zero, "max_memory_reserved": zero,
    "memory_stats": no_stats, "get_rng_state_all": no_states, "get_arch_list": no_states,
}  # fmt: skip
EFFECTS = ("empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all")
USES = (
    "init", "current_device", "synchronize", "current_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "initial_seed", "mem_get_info", "reset_peak_memory_stats",
    "reset_accumulated_memory_stats", "set_stream", "utilization", "temperature", "power_draw",
)  # fmt: skip


def names(module: str, device: str) -> dict[str, Any]:
    """The names of the module of a device that is not there."""
    here: dict[str, Any] = dict(QUERIES)
    here.update(dict.fromkeys(EFFECTS, nothing))
    refuse = refusal(device)
    here.update(dict.fromkeys(USES, refuse))
    here["device"] = type("device", (NoDevice,), {"_name": device, "__module__": module})
    here["StreamContext"] = type("StreamContext", (NoStream,), {"__module__": module})
    here["stream"] = here["StreamContext"]
    here["Stream"] = dummy("Stream", "torch.cuda.Stream requires CUDA support" if device == "CUDA" else None)
    here["Event"] = dummy("Event")
    here["default_generators"] = ()
    return here
