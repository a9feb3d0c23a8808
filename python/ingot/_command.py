# SPDX-License-Identifier: Apache-2.0
"""The command `ingot` that is installed with the package; everything that it does is in C (src/cli)."""

import sys

from ingot import _C


def main() -> int:
    """Run the command line of this process; the exit code."""
    return _C._run_command(sys.argv)
