# SPDX-License-Identifier: Apache-2.0
"""Examples of what can be exported and what cannot."""
