# SPDX-License-Identifier: Apache-2.0
"""Parts of PyTorch's compiler that work on graphs and are used without it."""
