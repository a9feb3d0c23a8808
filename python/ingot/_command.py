# SPDX-License-Identifier: Apache-2.0
"""The command `ingot` that is installed with the package; what it does is in C (src/cli), except `score`."""

import os
import sys

from ingot import _C


def main() -> int:
    """Run the command line of this process; the exit code."""
    os.environ.setdefault("INGOT_PYTHON", sys.executable)  # for the parts of it that are Python
    return _C._run_command(sys.argv)
