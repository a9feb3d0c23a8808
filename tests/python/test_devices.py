# SPDX-License-Identifier: Apache-2.0
"""Devices that the machine does not have: refused with PyTorch's message where tensors have data, allowed where they
are
fake."""

import pytest

import ingot as torch
from ingot import nn
from ingot._subclasses import FakeTensorMode

CUDA = "^Torch not compiled with CUDA enabled$"
NOT_LINKED = "^PyTorch is not linked with support for mps devices$"


def calls(device):
    x = torch.ones(2)
    return [
        lambda: torch.zeros(2, device=device),
        lambda: torch.empty(2, device=device),
        lambda: torch.full((2,), 1.0, device=device),
        lambda: torch.arange(3, device=device),
        lambda: torch.linspace(0, 1, 3, device=device),
        lambda: torch.randn(2, device=device),
        lambda: torch.randperm(3, device=device),
        lambda: torch.eye(2, device=device),
        lambda: torch.ones_like(x, device=device),
        lambda: x.new_zeros(2, device=device),
        lambda: torch.empty_strided((2,), (1,), device=device),
        lambda: nn.Linear(2, 2, device=device),
    ]


def moves(device):
    x = torch.ones(2)
    return [
        lambda: x.to(device),
        lambda: x.to(torch.device(device)),
        lambda: x.to(device=device, dtype=torch.half),
        lambda: torch.tensor(1, device=device),
        lambda: torch.tensor([1.0], device=device),
        lambda: torch.as_tensor([1.0], device=device),
        lambda: torch.ones(2, device="meta").to(device),
        lambda: nn.Linear(2, 2).to(device),
        lambda: nn.Parameter(x).to(device),
    ]


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_cuda_is_refused(device):
    for call in calls(device) + moves(device):
        with pytest.raises(AssertionError, match=CUDA):
            call()


def test_cuda_methods():
    x = torch.ones(2)
    for call in (x.cuda, nn.Linear(2, 2).cuda, lambda: x.cuda("cuda:0"), lambda: x.cuda(device="cuda"), x.data.cuda):
        with pytest.raises(AssertionError, match=CUDA):
            call()
    for call in (torch.cuda.current_device, torch.cuda.synchronize):
        with pytest.raises(AssertionError, match=CUDA):
            call()
    with pytest.raises(RuntimeError, match="^Invalid device, must be cuda device$"):
        x.cuda("cpu")
    for call in (lambda: x.cuda(0), lambda: x.to(0), lambda: torch.zeros(2, device=0), lambda: nn.Linear(2, 2).cuda(0)):
        with pytest.raises(RuntimeError, match="^Cannot access accelerator device when none is available.$"):
            call()


def test_xpu_is_refused():
    for call in calls("xpu") + moves("xpu"):
        with pytest.raises(AssertionError, match="^Torch not compiled with XPU enabled$"):
            call()


@pytest.mark.parametrize("device,backend", [("mps", "MPS"), ("xla", "XLA"), ("hpu", "HPU"), ("mtia", "MTIA")])
def test_other_devices_are_refused(device, backend):
    text = f"Could not run 'aten::empty.memory_format' with arguments from the '{backend}' backend. This could be"
    for call in calls(device):
        with pytest.raises(NotImplementedError, match=f"^{text}"):
            call()
    for call in moves(device):
        with pytest.raises(RuntimeError, match=f"^PyTorch is not linked with support for {device} devices$"):
            call()


def test_as_default():
    """Choosing it is allowed; making a tensor is not."""
    with torch.device("cuda"):
        with pytest.raises(AssertionError, match=CUDA):
            torch.zeros(2)
    torch.set_default_device("cuda")
    try:
        with pytest.raises(AssertionError, match=CUDA):
            torch.tensor([1.0])
    finally:
        torch.set_default_device(None)


def test_meta_needs_no_memory():
    x = torch.ones(2, device="meta")
    assert (x + 1).device.type == "meta" and torch.ones(2).to("meta").device.type == "meta"
    assert nn.Linear(2, 2, device="meta").weight.is_meta


def test_fake_tensors_are_anywhere():
    with FakeTensorMode():
        x = torch.empty(2, device="cuda:1")
        model = nn.Linear(2, 2).to("cuda:1")
        assert model(x).device == torch.device("cuda:1") and torch.ones(2).cuda().is_cuda
        assert torch.zeros(2, device=0).device == torch.device("cuda:0")
    assert (x + 1).device == torch.device("cuda:1")  # outside as well
    assert x.to("cuda:0").device == torch.device("cuda:0")


def test_captures_are_anywhere():
    class Moves(nn.Module):
        def forward(self, x):
            return x.to("cuda") + torch.ones(2, device="cuda")

    ep = torch.export.export(Moves(), (torch.ones(2),))
    assert "cuda" in str(ep.graph)
    with pytest.raises(AssertionError, match=CUDA):
        ep.module()(torch.ones(2))
