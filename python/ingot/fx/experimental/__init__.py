# SPDX-License-Identifier: Apache-2.0
"""torch.fx.experimental."""
