# SPDX-License-Identifier: Apache-2.0
"""Channels shuffled between groups."""

from __future__ import annotations

from ingot._C import Tensor
from ingot.nn import functional as F
from ingot.nn.modules._simple import SimpleModule


class ChannelShuffle(SimpleModule):
    arguments, shows = "groups", "groups"

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
