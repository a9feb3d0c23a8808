# SPDX-License-Identifier: Apache-2.0
"""autocast: which operands are cast, regions inside regions, gradients, and captured programs that keep the casts."""

import warnings

import pytest

import ingot as torch
from ingot import nn
from ingot.export import export

F = nn.functional


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_types_of_results(dtype: torch.dtype) -> None:
    x = torch.rand(2, 2)
    with torch.autocast("cpu", dtype=dtype):
        y = x @ x
        got = {
            "matmul": y.dtype,
            "linear": F.linear(x, x).dtype,
            "add": (x + x).dtype,
            "softmax": F.softmax(y, -1).dtype,
            "mse_loss": F.mse_loss(y, y).dtype,
            "cat": torch.cat([x, y]).dtype,
            "stack": torch.stack([y, y]).dtype,
            "prod": torch.prod(y).dtype,
            "double": (x.double() @ x.double()).dtype,
        }
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
        assert torch.is_autocast_enabled("cpu")
    f32 = torch.float32
    assert got == {
        "matmul": dtype, "linear": dtype, "add": f32, "softmax": dtype, "mse_loss": f32, "cat": f32, "stack": dtype,
        "prod": f32, "double": torch.float64,
    }  # fmt: skip
    assert not torch.is_autocast_enabled("cpu")
    assert (x @ x).dtype is f32


def test_decorator_and_errors_inside() -> None:
    @torch.amp.autocast("cpu")
    def product(x: torch.Tensor) -> torch.Tensor:
        return x @ x

    assert product(torch.rand(2, 2)).dtype is torch.bfloat16
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        product(torch.rand(2, 3))
    assert not torch.is_autocast_enabled("cpu")


def test_wrong_regions() -> None:
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(RuntimeError, match="at start of device string: toaster"):
        torch.autocast("toaster")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with torch.autocast("cpu", dtype=torch.float64):
            assert not torch.is_autocast_enabled("cpu")
    assert "the target dtype is not supported" in str(seen[0].message)


def test_gradients_have_the_type_of_the_weight() -> None:
    layer, x = nn.Linear(3, 2), torch.rand(4, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(layer(x), torch.zeros(4, 2))
    loss.backward()
    assert layer.weight.grad.dtype is torch.float32
    exact = nn.Linear(3, 2)
    exact.load_state_dict(layer.state_dict())
    F.mse_loss(exact(x), torch.zeros(4, 2)).backward()
    torch.testing.assert_close(layer.weight.grad, exact.weight.grad, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("strict", [True, False])
def test_programs_keep_the_casts(strict: bool) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.lin(x)
            return y * 2

    model, x = Model(), torch.rand(4, 3)
    want = model(x)
    assert want.dtype is torch.bfloat16
    program = export(model, (x,), strict=strict)
    for p in (program, program.run_decompositions()):
        got = p.module()(x)  # outside of any region
        assert got.dtype is torch.bfloat16
        torch.testing.assert_close(got, want, rtol=0.02, atol=0.02)
    assert not torch.is_autocast_enabled("cpu")
