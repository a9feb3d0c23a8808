# SPDX-License-Identifier: Apache-2.0
"""Channel shuffling between groups."""

from __future__ import annotations

from ingot.nn.modules._simple import SimpleModule


class ChannelShuffle(SimpleModule):
    arguments = shows = "groups"
    function = "channel_shuffle"
