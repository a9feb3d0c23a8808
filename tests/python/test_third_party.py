# SPDX-License-Identifier: Apache-2.0
"""A few third-party models, unchanged, under `python -m ingot`; tools/model_table.py has them all, beside PyTorch."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
CHOSEN = {
    ("transformers", "bert"), ("transformers", "llama"), ("transformers", "t5"), ("torchvision", "resnet18"),
    ("diffusers", "UNet2DModel"), ("smp", "Unet"), ("timm", "test_convnext"),
}  # fmt: skip
PACKAGES = {"smp": "segmentation_models_pytorch"}
ROWS = [r for r in json.loads((HERE / "models.json").read_text()) if (r["family"], r["name"]) in CHOSEN]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['family']}-{r['name']}")
def test_model(row, tmp_path):
    package = PACKAGES.get(row["family"], row["family"])
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (tmp_path / "models.json").write_text(json.dumps([row]))
    (tmp_path / f"{row['family']}-{row['name']}").mkdir()
    steps = "build,run,export,strict"
    command = [sys.executable, "-m", "ingot", str(HERE / "model_side.py"), str(tmp_path / "models.json"), str(tmp_path)]
    done = subprocess.run([*command, steps, "600"], capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            found.update(json.loads(line))
    assert {s: found.get(s) for s in steps.split(",")} == dict.fromkeys(steps.split(","), "ok"), done.stderr[-2000:]
