# SPDX-License-Identifier: Apache-2.0
"""The parts of torch.library under the names of PyTorch's files."""
