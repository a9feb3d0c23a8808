# SPDX-License-Identifier: Apache-2.0
"""Values and metadata that interpreter passes work on."""
