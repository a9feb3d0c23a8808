# SPDX-License-Identifier: Apache-2.0
"""Functions of torch for scripts."""

TORCH_NAME = "torch"


def _assert(condition: bool, message: str):
    assert condition, message
