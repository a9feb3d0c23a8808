# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.random: states of generators of devices that are not there."""

from ingot import cuda as _cuda

_NAMES = (
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
)  # fmt: skip
globals().update((name, getattr(_cuda, name)) for name in _NAMES)
