# SPDX-License-Identifier: Apache-2.0
"""What builds on groups of processes; see torch.distributed."""
