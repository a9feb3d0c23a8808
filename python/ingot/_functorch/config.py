# SPDX-License-Identifier: Apache-2.0
"""Settings of AOT autograd and of functional transforms. They exist so that programs which set them run; the engine has
one way of doing what they choose from."""
from __future__ import annotations

import sys as _sys

from ingot.utils._config_module import install_config_module as _install

functionalize_rng_ops = False
fake_tensor_allow_meta = True
fake_tensor_allow_unsafe_data_ptr_access = True
fake_tensor_propagate_real_tensors = False
debug_assert = False
debug_partitioner = False
static_weight_shapes = True
cse = True
enable_autograd_cache = False
strict_autograd_cache = False
treat_parameters_as_free_to_save = True
unlift_effect_tokens = False
view_replay_for_aliased_outputs = True
max_dist_from_bw = 1000
ban_recompute_used_far_apart = True
ban_recompute_long_fusible_chains = True
ban_recompute_materialized_backward = True
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
recompute_views = False
activation_memory_budget = 1.0
donated_buffer = False
aggressive_recomputation = False
torch_compile_graph_format = "svg"

_install(_sys.modules[__name__])
