# SPDX-License-Identifier: Apache-2.0
"""The registry of translations and what they are called with."""
