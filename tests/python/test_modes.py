# SPDX-License-Identifier: Apache-2.0
"""Modes belong to a thread: captures, observers of modules, devices and function modes of several threads do not see
each other."""

import sys
import threading

import pytest

import ingot as torch
from ingot import _C, nn

MODELS = 200


class Block(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        self.count.add_(1)
        return x + self.count


class Model(nn.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.first = Block(2 + number % 3, 1 + number % 2)
        self.second = nn.Sequential(Block(2 + number % 3, 1), nn.Tanh())

    def forward(self, x):
        return self.second(self.first(x)) * x.shape[0]


def describe(number: int) -> str:
    """All that a program says of itself: code, signature, stacks of modules."""
    model = Model(number)
    x = torch.ones(3, 2 + number % 3)
    ep = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n")},), strict=number % 2 == 0)
    stacks = [(n.name, n.meta.get("nn_module_stack"), n.meta.get("torch_fn")) for n in ep.graph.nodes]
    return f"{ep.graph}\n{ep.graph_signature}\n{ep.range_constraints}\n{stacks}"


def in_threads(*work):
    """Runs the functions at the same time; what they return, or the first error."""
    start = threading.Barrier(len(work))
    results: list = [None] * len(work)
    errors: list = []

    def run(i):
        try:
            start.wait()
            results[i] = work[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(work))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    return results


def test_two_threads_export_what_one_does():
    alone = [describe(i) for i in range(MODELS)]
    assert "second.0.layers.0" in alone[0]
    first, second = in_threads(
        lambda: [describe(i) for i in range(MODELS)],
        lambda: [describe(i) for i in reversed(range(MODELS))],
    )
    assert first == alone
    assert second[::-1] == alone
    assert _C._call_observer() is None and _C._assign_observer() is None and _C._load_observer() is None
    assert not _C.capture_is_open()


def test_observers_belong_to_a_thread():
    from ingot.nn.modules.module import observe

    seen = []

    def observer(module, call, args, kwargs):
        seen.append(threading.current_thread().name)
        return call(*args, **kwargs)

    before = observe(observer)
    try:
        in_threads(lambda: nn.Identity()(torch.ones(1)))
        assert seen == []
        nn.Identity()(torch.ones(1))
        assert len(seen) == 1
    finally:
        observe(*before)


def test_devices_belong_to_a_thread():
    inside = threading.Event()
    done = threading.Event()

    def meta():
        with torch.device("meta"):
            inside.set()
            done.wait()
            return torch.ones(1).device.type

    def plain():
        inside.wait()
        try:
            return torch.ones(1).device.type
        finally:
            done.set()

    assert in_threads(meta, plain) == ["meta", "cpu"]
    torch.set_default_device("meta")
    try:
        assert torch.get_default_device().type == "meta"
        assert in_threads(lambda: torch.ones(1).device.type) == ["cpu"]
    finally:
        torch.set_default_device(None)


def test_many_devices_are_entered():
    for _ in range(100):
        torch.device("meta").__enter__()
    assert torch.ones(1).device.type == "meta"
    for _ in range(100):
        torch.device("meta").__exit__(None, None, None)
    assert torch.ones(1).device.type == "cpu"


def test_default_dtype_is_the_process_s():
    """As in PyTorch, whatever thread sets it."""
    assert in_threads(lambda: torch.set_default_dtype(torch.float64)) == [None]
    try:
        assert torch.ones(1).dtype == torch.float64
        assert in_threads(lambda: torch.ones(1).dtype) == [torch.float64]
    finally:
        torch.set_default_dtype(torch.float32)


def test_function_modes_belong_to_a_thread():
    class Count:
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    mode = Count()
    _C._push_on_torch_function_stack(mode)
    try:
        assert in_threads(_C._len_torch_function_stack) == [0]
        in_threads(lambda: torch.ones(1) + 1)
        assert mode.calls == 0
        torch.ones(1) + 1
        assert mode.calls == 2
    finally:
        _C._pop_torch_function_stack()


def test_grad_mode_belongs_to_a_thread():
    with torch.no_grad():
        assert in_threads(torch.is_grad_enabled) == [True]
    assert torch.is_grad_enabled()


def test_fake_mode_belongs_to_a_thread():
    from ingot._subclasses import FakeTensorMode

    with FakeTensorMode():
        assert in_threads(lambda: torch.ones(2).tolist()) == [[1.0, 1.0]]


def test_failed_capture_leaves_no_mode():
    class Fails(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                return x.view(x.sum().item(), 7)

    for _ in range(3):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            torch.export.export(Fails(), (torch.ones(2, 3),))
        assert not _C.capture_is_open() and torch.is_grad_enabled() and _C._call_observer() is None
    assert torch.ones(2).tolist() == [1, 1]
