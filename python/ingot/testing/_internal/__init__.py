# SPDX-License-Identifier: Apache-2.0
"""What test files of PyTorch import to run."""
