# SPDX-License-Identifier: Apache-2.0
"""What an installation may replace: places of files, reports of use, switches. Here nothing is reported."""
from __future__ import annotations

import os
from typing import Any

import ingot

__all__ = [
    "export_api_rollout_check", "export_training_ir_rollout_check", "get_file_path", "get_file_path_2",
    "get_writable_path", "justknobs_check", "justknobs_getval_int", "log_export_usage",
    "log_torch_jit_trace_exportability", "log_torchscript_usage", "prepare_multiprocessing_environment",
    "resolve_library_path", "signpost_event",
]  # fmt: skip


def get_file_path(*path_components: str) -> str:
    """A file of the package."""
    return os.path.join(os.path.dirname(os.path.abspath(ingot.__file__)), *path_components)


def get_file_path_2(*path_components: str) -> str:
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """A folder to write to: the given one, or a temporary one if that cannot be written."""
    if os.access(path, os.W_OK):
        return path
    import tempfile

    return tempfile.mkdtemp(suffix=os.path.basename(path))


def prepare_multiprocessing_environment(path: str) -> None:
    """Nothing to prepare."""


def resolve_library_path(path: str) -> str:
    return os.path.realpath(path)


def signpost_event(category: str, name: str, parameters: dict[str, Any]) -> None:
    """A remarkable event, logged."""
    import logging

    logging.getLogger("torch").info("%s %s: %r", category, name, parameters)


def log_export_usage(**kwargs: Any) -> None:
    """Reports nothing."""


def log_torchscript_usage(api: str, **kwargs: Any) -> None:
    """Reports nothing."""


def log_torch_jit_trace_exportability(api: str, type_of_export: str, export_outcome: str, result: str) -> None:
    """Reports nothing."""


def justknobs_check(name: str, default: bool = True) -> bool:
    return default


def justknobs_getval_int(name: str) -> int:
    return 0


def export_api_rollout_check() -> bool:
    return False


def export_training_ir_rollout_check() -> bool:
    return False
