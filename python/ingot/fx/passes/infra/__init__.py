# SPDX-License-Identifier: Apache-2.0
"""What passes written in Python have in common."""
