# SPDX-License-Identifier: Apache-2.0
"""torch.optim: every optimizer and schedule against values of the real PyTorch (golden_optim.json), state dicts,
hooks, groups, and the operators over lists that steps are made of."""

import copy
import io
import json
import math
import pathlib
import pickle
import warnings

import pytest

import ingot
import optim_cases

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden_optim.json").read_text())


def same(found, expected, rtol=1e-5, atol=1e-6, at=""):
    """Nested numbers agree; the difference says where they do not."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), at
        for key in expected:
            same(found[key], expected[key], rtol, atol, f"{at}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), at
        for i, (a, b) in enumerate(zip(found, expected)):
            same(a, b, rtol, atol, f"{at}[{i}]")
    elif isinstance(expected, float) and not isinstance(found, bool):
        close = math.isclose(found, expected, rel_tol=rtol, abs_tol=atol)
        assert close or (math.isnan(found) and math.isnan(expected)), f"{at}: {found} and {expected}"
    else:
        assert found == expected, at


@pytest.mark.parametrize("source", optim_cases.OPTIMIZERS)
def test_optimizer_is_pytorchs_after_100_steps(source):
    found = optim_cases.optimize(ingot, source)
    expected = GOLDEN["optimizers"][source]
    found = json.loads(json.dumps(found))
    same(found["params"], expected["params"])
    same(found["state"]["param_groups"], expected["state"]["param_groups"])
    same(found["state"]["state"], expected["state"]["state"], atol=1e-4)


@pytest.mark.parametrize("source", optim_cases.SCHEDULES)
def test_schedule_is_pytorchs(source):
    found = optim_cases.schedule(ingot, source)
    expected = GOLDEN["schedules"][source]
    same(found["rates"], expected["rates"], rtol=1e-9, atol=1e-12)
    assert set(expected["keys"]) - {"_scale_fn_ref"} <= set(found["keys"])


# ---- state dicts, groups, hooks ----


def small():
    params, loss = optim_cases.problem(ingot)
    return params, loss


def take_steps(opt, loss, n=3):
    for _ in range(n):
        opt.zero_grad()
        loss().backward()
        opt.step()


@pytest.mark.parametrize("source", [s for s in optim_cases.OPTIMIZERS if "LBFGS" not in s])
def test_state_dict_of_a_run_resumes_it(source):
    """Three steps, saved and loaded into another optimizer, and three more are six steps."""

    def make(params):
        names = {name: getattr(ingot.optim, name) for name in ingot.optim.__all__ if name[0].isupper()}
        return eval(source, {"params": params, "torch": ingot, **names})

    whole, whole_loss = small()
    take_steps(make(whole), whole_loss, 6)
    params, loss = small()
    first = make(params)
    take_steps(first, loss)
    buffer = io.BytesIO()
    ingot.save(first.state_dict(), buffer)
    buffer.seek(0)
    second = make(params)
    second.load_state_dict(ingot.load(buffer, weights_only=False))
    take_steps(second, loss)
    for a, b in zip(params, whole):
        assert ingot.equal(a, b)


def test_state_dict_of_pytorch_is_taken():
    """A golden state dict is what PyTorch's optimizer gave after 100 steps; Ingot goes on from it."""
    source = "Adam(params, lr=0.02, amsgrad=True)"
    golden = GOLDEN["optimizers"][source]
    params, loss = small()
    with ingot.no_grad():
        for p, values in zip(params, golden["params"]):
            p.copy_(ingot.tensor(values).reshape(p.shape))
    state = {}
    for i, (p, saved) in enumerate(zip(params, golden["state"]["state"].values())):
        state[i] = {k: ingot.tensor(v).reshape(() if k == "step" else p.shape) for k, v in saved.items()}
    opt = ingot.optim.Adam(params, lr=0.02, amsgrad=True)
    opt.load_state_dict({"state": state, "param_groups": golden["state"]["param_groups"]})
    take_steps(opt, loss, 1)
    assert opt.state_dict()["state"][0]["step"].item() == 101
    assert all(p.isfinite().all() for p in params)


def test_groups_have_their_own_options():
    params, loss = small()
    opt = ingot.optim.SGD([{"params": params[:1], "lr": 0.0}, {"params": params[1:]}], lr=0.5)
    before = [p.detach().clone() for p in params]
    take_steps(opt, loss, 1)
    assert ingot.equal(params[0], before[0])
    assert not ingot.equal(params[1], before[1])
    extra = ingot.ones(2, requires_grad=True)
    opt.add_param_group({"params": extra, "lr": 0.25})
    assert [g["lr"] for g in opt.param_groups] == [0.0, 0.5, 0.25]
    assert opt.state_dict()["param_groups"][2]["params"] == [4]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: ingot.optim.SGD(p[0]), TypeError, "should be an iterable of Tensors or dicts, but got"),
        (lambda p: ingot.optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda p: ingot.optim.SGD([1.0]), TypeError, "optimizer can only optimize Tensors, but one of the params is"),
        (lambda p: ingot.optim.SGD([p[0] * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda p: ingot.optim.SGD([{"params": set(p)}]), TypeError, "ordered collections"),
        (lambda p: ingot.optim.SGD([{"params": p}, {"params": p}]), ValueError, "more than one parameter group"),
        (lambda p: ingot.optim.SGD(p, lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: ingot.optim.SGD(p, nesterov=True), ValueError, "Nesterov momentum requires a momentum"),
        (lambda p: ingot.optim.Adam(p, betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda p: ingot.optim.Adam(p, eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda p: ingot.optim.Adam(p, fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
        (lambda p: ingot.optim.Adam(p, fused=True, differentiable=True), RuntimeError, "does not support"),
        (lambda p: ingot.optim.Adam(p, lr=ingot.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (
            lambda p: ingot.optim.Adam(p).load_state_dict({"state": {}, "param_groups": []}),
            ValueError,
            "different number",
        ),
        (lambda p: ingot.optim.LBFGS([{"params": p[:1]}, {"params": p[1:]}]), ValueError, "per-parameter options"),
        (lambda p: ingot.optim.lr_scheduler.StepLR(p, 3), TypeError, "list is not an Optimizer"),
    ],
)
def test_wrong_arguments_are_refused(make, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")):
        make(small()[0])


def test_capturable_is_refused_as_on_a_cpu():
    params, loss = small()
    opt = ingot.optim.Adam(params, capturable=True)
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        take_steps(opt, loss, 1)


def test_closure_hooks_and_zero_grad():
    params, loss = small()
    opt = ingot.optim.SGD(params, lr=0.01)
    seen = []
    opt.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    handle = opt.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
    anywhere = ingot.optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("any"))

    def closure():
        assert ingot.is_grad_enabled()
        opt.zero_grad()
        value = loss()
        value.backward()
        seen.append("closure")
        return value

    value = opt.step(closure)
    assert value.item() > 0
    assert seen == ["any", "pre", "closure", "post"]
    handle.remove()
    anywhere.remove()
    opt.step()
    assert seen == ["any", "pre", "closure", "post", "pre"]
    opt.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in params)
    opt.zero_grad()
    assert all(p.grad is None for p in params)


def test_state_dict_hooks():
    params, loss = small()
    opt = ingot.optim.Adam(params)
    take_steps(opt, loss, 1)
    opt.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    opt.register_load_state_dict_pre_hook(lambda o, state: {k: v for k, v in state.items() if k != "extra"})
    loaded = []
    opt.register_load_state_dict_post_hook(loaded.append)
    state = opt.state_dict()
    assert state["extra"] == 1
    opt.load_state_dict(state)
    assert loaded == [opt]


def test_copies_and_pickles():
    params, loss = small()
    opt = ingot.optim.Adam(params, lr=0.1)
    take_steps(opt, loss)
    twin = pickle.loads(pickle.dumps(opt))
    assert twin.state_dict()["param_groups"] == opt.state_dict()["param_groups"]
    assert copy.deepcopy(opt).state_dict()["state"][0]["step"].item() == 3
    assert repr(opt).splitlines()[:3] == ["Adam (", "Parameter Group 0", "    amsgrad: False"]


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam"])
def test_other_dtypes(name, dtype):
    """Complex parameters are stepped as pairs of real ones; half ones are computed in float."""
    dtype = getattr(ingot, dtype)
    options = {"lr": 0.01, **({"momentum": 0.5} if name == "SGD" else {})}
    values = optim_cases.wave(ingot, (4, 2), 1)
    x = values.clone().requires_grad_()
    z = (ingot.view_as_complex(values) if dtype.is_complex else values.to(dtype)).clone().requires_grad_()
    opts = [getattr(ingot.optim, name)([p], **options) for p in (x, z)]
    for _ in range(3):
        for opt, p in zip(opts, (x, z)):
            real = ingot.view_as_real(p) if p.is_complex() else p
            opt.zero_grad()
            (real**2).sum().backward()
            opt.step()
    found = ingot.view_as_real(z) if dtype.is_complex else z
    slack = {ingot.float16: 3e-3, ingot.bfloat16: 3e-2}.get(dtype, 1e-6)
    assert ingot.allclose(found.detach().float(), x.detach(), atol=slack)
    assert z.dtype == dtype


def test_memory_that_is_not_dense():
    """Transposed, strided and expanded gradients give what dense ones give."""
    results = []
    for layout in range(3):
        base = ingot.zeros(6, 8) if layout == 2 else ingot.zeros(4, 3)
        p = [base, base.t().contiguous().t(), base[:4, :6:2]][layout]
        with ingot.no_grad():
            p.copy_(optim_cases.wave(ingot, (4, 3), 1))
        p.requires_grad_()
        grad = ingot.arange(3.0).expand(4, 3)
        p.grad = [grad.contiguous(), grad, grad.t().contiguous().t()][layout].clone(memory_format=ingot.preserve_format)
        opt = ingot.optim.Adam([p], lr=0.1, weight_decay=0.1)
        opt.step()
        opt.step()
        results.append(p.detach().clone())
    assert ingot.equal(results[0], results[1])
    assert ingot.equal(results[0], results[2])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam"])
def test_differentiable_steps_have_gradients(name):
    """The derivative of the parameter after two steps with respect to a factor of the gradient."""

    def run(factor):
        p = ingot.tensor([1.0, -2.0], dtype=ingot.float64, requires_grad=True)
        q = p.clone()
        opt = getattr(ingot.optim, name)([q], lr=0.1, differentiable=True)
        for _ in range(2):
            q.grad = factor * q.clone() ** 2 + factor**2
            opt.step()
        return q.sum()

    factor = ingot.tensor(0.7, dtype=ingot.float64, requires_grad=True)
    (found,) = ingot.autograd.grad(run(factor), factor)
    with ingot.no_grad():
        step = 1e-6
        difference = (run(factor + step) - run(factor - step)) / (2 * step)
    assert found.item() == pytest.approx(difference.item(), rel=1e-4, abs=1e-7)


def test_scheduler_warns_about_the_order_of_calls():
    params, _ = small()
    opt = ingot.optim.SGD(params, lr=1.0)
    schedule = ingot.optim.lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        schedule.step()
    opt.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
    assert schedule.get_last_lr() == [pytest.approx(0.01)]


def test_averaged_model():
    model = ingot.nn.Linear(2, 1)
    average = ingot.optim.swa_utils.AveragedModel(model)
    ema = ingot.optim.swa_utils.AveragedModel(model, multi_avg_fn=ingot.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    values = []
    for i in range(3):
        with ingot.no_grad():
            model.weight.fill_(float(i))
        values.append(float(i))
        average.update_parameters(model)
        ema.update_parameters(model)
    assert average.module.weight[0, 0].item() == pytest.approx(sum(values) / 3)
    assert ema.module.weight[0, 0].item() == pytest.approx((0 * 0.5 + 1 * 0.5) * 0.5 + 2 * 0.5)
    assert average.n_averaged.item() == 3


# ---- operators over lists ----


def test_foreach_operators():
    a = [ingot.ones(3), ingot.zeros(2, 2)]
    assert [t.tolist() for t in ingot._foreach_add(a, [1, 2])] == [[2, 2, 2], [[2, 2], [2, 2]]]
    ingot._foreach_mul_(a, 3)
    assert a[0].tolist() == [3, 3, 3]
    assert [n.item() for n in ingot._foreach_norm(a)] == [pytest.approx(27**0.5), 0]
    x = ingot.ones(2, requires_grad=True)
    sum(t.sum() for t in ingot._foreach_addcmul([x], [x], [x], value=2)).backward()
    assert x.grad.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors, got 1 and 2"):
        ingot._foreach_add(a[:1], a)
    with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor."):
        ingot._foreach_add([], 1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        ingot._foreach_add_([x], 1)


def test_fused_step_is_refused_where_it_would_lose_a_gradient():
    x = ingot.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="_fused_sgd_ has no derivative"):
        ingot._fused_sgd_(
            [x], [ingot.ones(2)], [], weight_decay=0.0, momentum=0.0, lr=0.1, dampening=0.0, nesterov=False,
            maximize=False, is_first_step=False,
        )  # fmt: skip
    with pytest.raises(RuntimeError, match="the same dtype, and the sizes of their parameter"):
        ingot._fused_sgd_(
            [ingot.ones(2)], [ingot.ones(3)], [], weight_decay=0.0, momentum=0.0, lr=0.1, dampening=0.0,
            nesterov=False, maximize=False, is_first_step=False,
        )  # fmt: skip


def test_steps_are_captured():
    """A program that steps parameters in-place exports to the functional operators."""

    class Step(ingot.nn.Module):
        def forward(self, p, g):
            p = p.clone()
            ingot._foreach_add_([p], [g], alpha=-0.1)
            return p

    program = ingot.export.export(Step(), (ingot.ones(3), ingot.ones(3)))
    assert ingot.allclose(program.module()(ingot.ones(3), ingot.ones(3)), ingot.full((3,), 0.9))
    lowered = program.run_decompositions()
    assert ingot.allclose(lowered.module()(ingot.ones(3), ingot.ones(3)), ingot.full((3,), 0.9))


def test_adafactor():
    """Numbers of PyTorch 2.5.1: a matrix, whose second moments are a row and a column, and a vector."""
    w = ingot.nn.Parameter(ingot.arange(6.0).view(2, 3) / 10)
    b = ingot.nn.Parameter(ingot.tensor([0.5, -0.5]))
    optimizer = ingot.optim.Adafactor([w, b], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        ((w.sum(1) + b) ** 2).sum().backward()
        optimizer.step()
    assert sorted(optimizer.state[w]) == ["col_var", "row_var", "step"]
    assert optimizer.state[w]["row_var"].shape == (2, 1) and optimizer.state[w]["col_var"].shape == (1, 3)
    assert sorted(optimizer.state[b]) == ["step", "variance"]
    assert ingot.allclose(
        w, ingot.tensor([[-0.0770053, 0.0229947, 0.1229947], [0.2242218, 0.3242218, 0.4242218]]), atol=1e-6
    )
    assert ingot.allclose(b, ingot.tensor([0.3622438, -0.6354114]), atol=1e-6)
    for wrong, message in [
        ({"lr": -1.0}, "Learning rate should be >= 0 but is: -1.0"),
        ({"d": 0.5}, "Clipping threshold d should be >= 1"),
        ({"beta2_decay": 1.0}, "beta2_decay should be <= 0"), ({"eps": (-1.0, 1.0)}, "epsilon1 should be >= 0"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            ingot.optim.Adafactor([b], **wrong)
