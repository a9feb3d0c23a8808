# SPDX-License-Identifier: Apache-2.0
"""Helpers of passes."""
from ingot.fx.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
