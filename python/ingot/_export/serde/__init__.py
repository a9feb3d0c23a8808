# SPDX-License-Identifier: Apache-2.0
"""Programs as the text of the export schema, with their weights beside it."""
