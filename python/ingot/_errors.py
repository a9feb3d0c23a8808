# SPDX-License-Identifier: Apache-2.0
"""Classes of errors that PyTorch raises on devices: for `except` clauses."""


class AcceleratorError(RuntimeError):
    """An error of the runtime of an accelerator."""


class OutOfMemoryError(RuntimeError):
    """The memory of an accelerator is exhausted."""
