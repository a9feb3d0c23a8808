# SPDX-License-Identifier: Apache-2.0
"""torch._custom_ops: the older place of torch.library."""

from ingot.library import custom_op, get_ctx, impl, impl_abstract

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract"]
