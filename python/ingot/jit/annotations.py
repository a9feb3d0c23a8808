# SPDX-License-Identifier: Apache-2.0
"""torch.jit.annotations: names of types in annotations of scripts."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional", "Tuple", "Union",
]  # fmt: skip


class BroadcastingListCls:
    """BroadcastingList2[int]: a list of two, or one number for both."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1
