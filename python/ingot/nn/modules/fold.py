# SPDX-License-Identifier: Apache-2.0
"""Sliding blocks as columns, and back."""

from __future__ import annotations

from ingot.nn.modules._simple import SimpleModule


class Fold(SimpleModule):
    arguments = "output_size, kernel_size, dilation=1, padding=0, stride=1"
    shows, function = "output_size kernel_size dilation padding stride", "fold"


class Unfold(SimpleModule):
    arguments = "kernel_size, dilation=1, padding=0, stride=1"
    shows, function = "kernel_size dilation padding stride", "unfold"
