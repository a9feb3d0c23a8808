# SPDX-License-Identifier: Apache-2.0
"""torch.func against values of the real PyTorch (golden_func.json), and with modules and captured parameters."""

import json
import pathlib

import pytest

import func_cases
import ingot
from ingot.func import functional_call, grad, hessian, jacrev, stack_module_state, vjp, vmap
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
