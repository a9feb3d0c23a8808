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


class Mixed(torch.nn.Module):
    """Regions inside of regions, and a result that leaves each of them."""

    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)

    def forward(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = x @ y
            w = self.lin(z)
            with torch.autocast("cpu", enabled=False):
                q = w.float() @ x
            u = q @ y
        with torch.no_grad():
            t = z.float() * 2
        return z.float() + 1, u, t


def _same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and torch.equal(a, b)


def test_a_strict_export_keeps_regions():
    torch.manual_seed(1)
    model, args = Mixed(), (torch.randn(2, 2), torch.randn(2, 2))
    ep = torch.export.export(model, args)
    subs = {name: str(sub.code) for name, sub in ep.graph_module.named_modules() if name}
    assert ep.graph_module.code.count("torch.ops.higher_order.wrap_with_autocast('cpu', torch.bfloat16, True") == 1
    assert "wrap_with_autocast('cpu', torch.bfloat16, False" in subs["submod_1"]
    assert "bfloat16" not in subs["submod_1"].replace("wrap_with_autocast('cpu', torch.bfloat16", "")
    expected = model(*args)
    _same(ep.module()(*args), expected)
    _same(torch.export.unflatten(ep)(*args), expected)
    lowered = ep.run_decompositions()
    assert "wrap_with_autocast" not in lowered.graph_module.code
    _same(lowered.module()(*args), expected)


@pytest.mark.parametrize("strict", (True, False))
def test_regions_are_captured_again(strict):
    torch.manual_seed(1)
    model, args = Mixed(), (torch.randn(2, 2), torch.randn(2, 2))
    again = torch.export.export(torch.export.export(model, args).module(), args, strict=strict)
    assert ("wrap_with_autocast" in again.graph_module.code) == strict
    _same(again.module()(*args), model(*args))


def test_casts_are_made_from_the_last_operand_on():
    class Product(torch.nn.Module):
        def forward(self, x, y):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return x @ y

    args = (torch.ones(2, 2), torch.ones(2, 2))
    code = torch.export.export(Product(), args, strict=False).graph_module.code
    assert code.index("_to_copy.default(y") < code.index("_to_copy.default(x")
