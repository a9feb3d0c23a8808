# SPDX-License-Identifier: Apache-2.0
"""torch.func against values of the real PyTorch (golden_func.json), and with modules and captured parameters."""

import json
import pathlib

import pytest

import func_cases
import ingot
from ingot.func import functional_call, grad, hessian, jacrev, stack_module_state, vjp, vmap
from ingot.fx.experimental.proxy_tensor import make_fx
from test_optim import same

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden_func.json").read_text())


@pytest.mark.parametrize("source", func_cases.CASES)
def test_transform_is_pytorchs(source):
    same(json.loads(json.dumps(func_cases.run(ingot, source))), GOLDEN["cases"][source], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("source", func_cases.REFUSED)
def test_what_pytorch_refuses(source):
    expected = GOLDEN["refused"][source]
    assert expected is not None
    found = func_cases.refuse(ingot, source)
    assert found is not None and found[0] == expected[0]


def test_results_keep_the_history_of_captured_parameters():
    """A transform over x has no history of x, but one of the weights that the function uses."""
    model = ingot.nn.Linear(3, 1)
    x = ingot.ones(3)
    found = grad(lambda t: model(t).sin().sum())(x)
    assert found.requires_grad
    found.sum().backward()
    assert model.weight.grad is not None and x.grad is None
    assert not grad(lambda t: t.sin().sum())(x).requires_grad
    leaf = ingot.ones(3, requires_grad=True)
    twice = grad(lambda t: (t**3).sum())(leaf)
    (second,) = ingot.autograd.grad(twice.sum(), leaf)
    assert second.tolist() == [6, 6, 6]


def test_gradients_per_sample_of_a_module():
    model = ingot.nn.Sequential(ingot.nn.Linear(3, 4), ingot.nn.Tanh(), ingot.nn.Linear(4, 1))
    params = {k: v.detach() for k, v in model.named_parameters()}
    x, y = ingot.randn(5, 3), ingot.randn(5, 1)

    def loss(p, a, b):
        return ((functional_call(model, p, (a[None],))[0] - b) ** 2).sum()

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    ((model(x) - y) ** 2).sum().backward()
    for name, p in model.named_parameters():
        assert per_sample[name].shape == (5, *p.shape)
        assert ingot.allclose(per_sample[name].sum(0), p.grad, atol=1e-5)


def test_an_ensemble_of_modules():
    models = [ingot.nn.Linear(2, 2) for _ in range(3)]
    params, buffers = stack_module_state(models)
    assert params["weight"].shape == (3, 2, 2) and params["weight"].requires_grad and buffers == {}
    x = ingot.randn(4, 2)
    found = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(params, buffers)
    for i, model in enumerate(models):
        assert ingot.allclose(found[i], model(x))
    with pytest.raises(RuntimeError, match="Expected all models to be of the same class"):
        stack_module_state([models[0], ingot.nn.ReLU()])


def test_random_numbers_in_slices():
    ones = ingot.ones(3)
    same_draws = vmap(lambda t: t + ingot.rand(2), randomness="same")(ones)
    assert ingot.equal(same_draws[0], same_draws[1])
    different = vmap(lambda t: t + ingot.rand(2), randomness="different")(ones)
    assert not ingot.equal(different[0], different[1])


def test_nothing_is_left_on_the_arguments():
    x = ingot.ones(2)
    out, pull = vjp(lambda t: t * t, x)
    assert not x.requires_grad and not out.requires_grad
    assert pull(ingot.ones(2))[0].tolist() == [2, 2]
    assert pull(ingot.ones(2))[0].tolist() == [2, 2]
    assert jacrev(lambda t: t.new_zeros(2))(x).tolist() == [[0, 0], [0, 0]]
    assert hessian(lambda t: t.sum())(x).tolist() == [[0, 0], [0, 0]]
    with ingot.no_grad():
        assert grad(lambda t: (t**2).sum())(x).tolist() == [2, 2]


def test_functionalize_writes_inputs_at_the_end() -> None:
    def update(x, y):
        x.add_(1)
        x.t().mul_(y)
        return x.sum(), x

    x, y = ingot.ones(2, 2), ingot.tensor(3.0)
    total, same = ingot.func.functionalize(update)(x, y)
    assert total.item() == 24.0 and same is x and x.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    code = make_fx(ingot.func.functionalize(update))(ingot.ones(2, 2), y).code
    assert "add_" not in code and "mul_" not in code and code.count("copy_.default") == 1


@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_functionalize_removes_views(mode: str) -> None:
    def update(x):
        y = x.clone()
        z = y.view(-1)
        z.add_(1)
        return y, {"flat": z}

    wrapped = ingot.func.functionalize(update, remove="mutations_and_views")
    gm = make_fx(wrapped, tracing_mode=mode)(ingot.ones(2, 3))
    assert "aten.view_copy" in gm.code and "aten.view." not in gm.code
    assert wrapped(ingot.ones(2))[1]["flat"].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="received invalid argument for remove=x"):
        ingot.func.functionalize(update, remove="x")


def test_functionalize_of_what_depends_on_data() -> None:
    def choose(x):
        return x.add_(1) if x.sum() > 0 else x

    assert ingot.func.functionalize(choose)(ingot.ones(2)).tolist() == [2.0, 2.0]


def test_vmap_over_an_operator_of_others() -> None:
    @ingot.library.custom_op("vmapped::scale", mutates_args=())
    def scale(x: ingot.Tensor, by: float) -> ingot.Tensor:
        return ingot.from_numpy(x.numpy() * by)

    x = ingot.arange(6.0).reshape(2, 3)
    assert ingot.equal(ingot.vmap(lambda row: scale(row, 2.0) + 1)(x), x * 2 + 1)
    assert ingot.equal(ingot.vmap(lambda row: scale(row, 2.0), in_dims=1, out_dims=1)(x), x * 2)


def test_jacobians_of_numbers():
    """Outputs and inputs without dimensions."""
    x = ingot.tensor(2.0)
    assert jacrev(lambda t: t**3)(x).item() == 12 and jacrev(lambda t: t**3)(x).shape == ()
    assert ingot.func.jacfwd(lambda t: t**3)(x).item() == 12


def test_names_given_twice_are_all_named():
    layer = ingot.nn.Linear(2, 2)
    state = dict(layer.named_parameters())
    with pytest.raises(ValueError, match=r"\['weight', 'bias'\] appeared in multiple dictionaries"):
        functional_call(layer, (state, state), ingot.ones(1, 2))
