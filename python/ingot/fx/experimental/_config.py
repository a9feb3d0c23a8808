# SPDX-License-Identifier: Apache-2.0
"""Settings of symbolic shapes. Guards are decided by the engine, which needs no translation for a second solver."""
from __future__ import annotations

import sys as _sys

from ingot.utils._config_module import install_config_module as _install

translation_validation = False
translation_validation_timeout = 600000
translation_validation_no_bisect = False
check_shape_env_recorded_events = False
extended_debug_guard_added = None
extended_debug_create_symbol = None
extended_debug_cpp = False
print_specializations = False
inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY = False  # noqa: N816
validate_shape_env_version_key = False
symbol_guard_limit_before_specialize = None
use_duck_shape = True
meta_nonzero_assume_all_nonzero = False

_install(_sys.modules[__name__])
