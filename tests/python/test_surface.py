# SPDX-License-Identifier: Apache-2.0
"""Every name of torch that the scanned packages use exists, or is waived with a reason."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools" / "scan_surface.py"


def test_no_name_is_missing():
    done = subprocess.run([sys.executable, str(TOOL), "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_waiver_has_a_reason():
    for line in (ROOT / "tests" / "python" / "surface_waived.tsv").read_text().splitlines():
        if not line.startswith("#"):
            name, reason = line.split("\t")
            assert name.startswith("torch.") and len(reason) > 5, line


def test_metadata_of_torch():
    code = "import ingot.as_torch, importlib.metadata as m, torch; print(m.version('torch') == torch.__version__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
