# SPDX-License-Identifier: Apache-2.0
"""Settings of torch.fx."""

# Whether interpreters may print their progress.
disable_progress = True
verbose_progress = False
