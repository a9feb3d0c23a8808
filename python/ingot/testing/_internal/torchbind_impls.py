# SPDX-License-Identifier: Apache-2.0
"""The classes that PyTorch's own tests register with TorchScript live in a C++ library of its build; there is none
here, so there is nothing to load, and torch.classes does not know them."""

from __future__ import annotations

from typing import Any

from ingot import _C, classes

__all__ = ["_empty_tensor_queue", "init_torchbind_implementations", "load_torchbind_test_lib", "register_fake_classes"]


def load_torchbind_test_lib() -> None:
    """Nothing: the library is not part of this package."""


def register_fake_operators() -> None:
    """Nothing: there are no such operators."""


def register_fake_classes() -> None:
    """Nothing: there are no such classes."""


def init_torchbind_implementations() -> None:
    load_torchbind_test_lib()
    register_fake_operators()
    register_fake_classes()


def _empty_tensor_queue() -> Any:
    """A queue of one of those classes: RuntimeError, as long as nobody has registered it."""
    return classes._TorchScriptTesting._TensorQueue(_C.tensor([]).fill_(-1))
