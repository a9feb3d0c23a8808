# SPDX-License-Identifier: Apache-2.0
"""Backends of torch.compile."""
