# SPDX-License-Identifier: Apache-2.0
"""torch._custom_op: custom operators by the interface of PyTorch 2.0, which torch.library replaced."""
