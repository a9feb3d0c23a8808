# SPDX-License-Identifier: Apache-2.0
"""Dispatching of operators, as far as it is visible."""
