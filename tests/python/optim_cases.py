# SPDX-License-Identifier: Apache-2.0
"""Optimizers and schedules, and what the real PyTorch gives for them after 100 steps.

Run with an installed PyTorch, this file prints golden_optim.json: `python optim_cases.py > golden_optim.json`.
test_optim.py runs the same cases with Ingot and compares parameters, states and learning rates.
"""

import json
import math
import warnings

# Optimizer calls; `params` are the tensors of `problem`.
OPTIMIZERS = [
    "SGD(params, lr=0.05)",
    "SGD(params, lr=0.05, momentum=0.9)",
    "SGD(params, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "SGD(params, lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.1)",
    "SGD(params, lr=0.01, momentum=0.5, maximize=True)",
    "SGD(params, lr=0.05, weight_decay=0.1, foreach=True)",
    "SGD(params, lr=torch.tensor(0.05), momentum=0.9)",
    "Adam(params, lr=0.02)",
    "Adam(params, lr=0.02, betas=(0.5, 0.9), eps=1e-3)",
    "Adam(params, lr=0.02, weight_decay=0.1)",
    "Adam(params, lr=0.02, amsgrad=True)",
    "Adam(params, lr=0.02, amsgrad=True, weight_decay=0.05, maximize=True)",
    "Adam(params, lr=0.02, foreach=True)",
    "Adam(params, lr=0.02, fused=True)",
    "Adam(params, lr=torch.tensor(0.02), weight_decay=0.1)",
    "AdamW(params, lr=0.02)",
    "AdamW(params, lr=0.02, weight_decay=0.2, amsgrad=True)",
    "AdamW(params, lr=0.02, weight_decay=0.2, fused=True, maximize=True)",
    "RMSprop(params, lr=0.01)",
    "RMSprop(params, lr=0.01, alpha=0.9, momentum=0.9)",
    "RMSprop(params, lr=0.01, centered=True, weight_decay=0.1)",
    "RMSprop(params, lr=0.01, centered=True, momentum=0.5, maximize=True)",
    "Adagrad(params, lr=0.1)",
    "Adagrad(params, lr=0.1, lr_decay=0.05, weight_decay=0.1)",
    "Adagrad(params, lr=0.1, initial_accumulator_value=0.5, eps=1e-4, maximize=True)",
    "Adadelta(params)",
    "Adadelta(params, lr=0.5, rho=0.8, weight_decay=0.1, maximize=True)",
    "Adamax(params, lr=0.02)",
    "Adamax(params, lr=0.02, weight_decay=0.1)",
    "NAdam(params, lr=0.02)",
    "NAdam(params, lr=0.02, weight_decay=0.1, momentum_decay=0.01)",
    "NAdam(params, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(params, lr=0.02)",
    "RAdam(params, lr=0.02, weight_decay=0.1, betas=(0.8, 0.95))",
    "RAdam(params, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "Rprop(params, lr=0.01)",
    "Rprop(params, lr=0.01, etas=(0.4, 1.3), step_sizes=(1e-4, 1))",
    "ASGD(params, lr=0.05)",
    "ASGD(params, lr=0.05, t0=20, lambd=0.01, weight_decay=0.1)",
    "LBFGS(params, max_iter=4)",
    "LBFGS(params, lr=0.5, history_size=3, max_iter=5, line_search_fn='strong_wolfe')",
]

# Schedule calls; `opt` is SGD with momentum over two groups with the rates 0.5 and 0.05.
SCHEDULES = [
    "LambdaLR(opt, lambda epoch: 0.95**epoch)",
    "LambdaLR(opt, [lambda epoch: epoch // 3, lambda epoch: 0.9**epoch])",
    "MultiplicativeLR(opt, lambda epoch: 0.97)",
    "StepLR(opt, 3)",
    "MultiStepLR(opt, [2, 5, 5, 9], gamma=0.5)",
    "ConstantLR(opt, factor=0.5, total_iters=4)",
    "LinearLR(opt, start_factor=0.25, total_iters=6)",
    "LinearLR(opt, start_factor=1.0, end_factor=0.1, total_iters=8)",
    "ExponentialLR(opt, 0.9)",
    "PolynomialLR(opt, total_iters=7, power=2.0)",
    "CosineAnnealingLR(opt, T_max=5, eta_min=0.01)",
    "CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2, eta_min=0.01)",
    "CyclicLR(opt, base_lr=0.01, max_lr=0.2, step_size_up=4)",
    "CyclicLR(opt, base_lr=[0.01, 0.02], max_lr=0.2, step_size_up=3, step_size_down=5, mode='triangular2')",
    "CyclicLR(opt, base_lr=0.01, max_lr=0.2, step_size_up=4, mode='exp_range', gamma=0.95, cycle_momentum=False)",
    "OneCycleLR(opt, max_lr=0.4, total_steps=25)",
    "OneCycleLR(opt, max_lr=[0.4, 0.2], epochs=5, steps_per_epoch=5, three_phase=True, anneal_strategy='linear')",
    "SequentialLR(opt, [ConstantLR(opt, factor=0.1, total_iters=2), ExponentialLR(opt, 0.9)], milestones=[3])",
    "ChainedScheduler([ConstantLR(opt, factor=0.1, total_iters=3), ExponentialLR(opt, 0.9)])",
    "ReduceLROnPlateau(opt, patience=2, factor=0.3)",
    "ReduceLROnPlateau(opt, mode='max', patience=1, cooldown=2, threshold_mode='abs', min_lr=[0.01, 0.001])",
    "SWALR(opt, swa_lr=0.02, anneal_epochs=5)",
]
STEPS = 100
EPOCHS = 20


def wave(torch, sizes, number):
    """Fixed numbers in (-1, 1)."""
    n = math.prod(sizes)
    return torch.tensor([math.sin(1.7 * i + 2.3 * number) for i in range(n)], dtype=torch.float32).reshape(sizes)


def problem(torch, dtype=None):
    """Parameters, and a loss whose minimum is far: close to it, steps of the adaptive rules amplify roundings."""
    shapes = [(3, 4), (4,), (2, 3, 2), ()]
    params = [wave(torch, s, i).to(dtype or torch.float32).requires_grad_() for i, s in enumerate(shapes)]
    goals = [(30 + wave(torch, s, i + 10)).to(dtype or torch.float32) for i, s in enumerate(shapes)]

    def loss():
        total = 0
        for i, (p, g) in enumerate(zip(params, goals)):
            total = total + (i + 1) * ((p - g) ** 2).mean() + 0.01 * torch.sin(2 * p).sum()
        return total

    return params, loss


def numbers(torch, value):
    """Tensors as lists of numbers, in whatever holds them."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(torch.float64).reshape(-1).tolist()
    if isinstance(value, dict):
        return {str(k): numbers(torch, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(torch, v) for v in value]
    return value


def optimize(torch, source, steps=STEPS):
    params, loss = problem(torch)
    names = {name: getattr(torch.optim, name) for name in dir(torch.optim) if name[0].isupper()}
    opt = eval(source, {"params": params, "torch": torch, **names})

    def closure():
        opt.zero_grad()
        value = loss()
        value.backward()
        return value

    for _ in range(1 if "LBFGS" in source else steps):
        opt.step(closure)
    return {"params": numbers(torch, params), "state": numbers(torch, opt.state_dict())}


def schedule(torch, source):
    params, _ = problem(torch)
    opt = torch.optim.SGD([{"params": params[:2], "lr": 0.5}, {"params": params[2:]}], lr=0.05, momentum=0.9)
    names = {**vars(torch.optim.lr_scheduler), "SWALR": torch.optim.swa_utils.SWALR, "opt": opt}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = eval(source, names)
        rates = []
        for epoch in range(EPOCHS):
            opt.step()
            if "ReduceLROnPlateau" in source:
                found.step(math.cos(epoch / 5) + 1)
            else:
                found.step()
            rates.append([[float(g["lr"]), g["momentum"]] for g in opt.param_groups])
    return {"rates": rates, "keys": sorted(found.state_dict())}


def main():
    import torch

    golden = {
        "optimizers": {source: optimize(torch, source) for source in OPTIMIZERS},
        "schedules": {source: schedule(torch, source) for source in SCHEDULES},
    }
    print(json.dumps(golden, indent=0, separators=(",", ":")))


if __name__ == "__main__":
    main()
