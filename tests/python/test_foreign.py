# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries in calls of ours, and ours in theirs: a TypeError that says what to do."""

import pytest

import ingot
from ingot import nn


class Foreign:
    """As torch.Tensor behaves: its __torch_function__ calls the function again, with itself switched off."""

    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls += 1
        return func(*args, **(kwargs or {}))


class Refuses:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Unwraps:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*(a.value if isinstance(a, Unwraps) else a for a in args), **(kwargs or {}))


CALLS = [
    lambda x: ingot.relu(x),
    lambda x: ingot.add(ingot.ones(2), x),
    lambda x: ingot.cat([ingot.ones(2), x]),
    lambda x: ingot.ones(2).mul(x),
    lambda x: nn.functional.linear(x, ingot.ones(2, 2)),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_class_that_calls_back(call):
    with pytest.raises(TypeError, match=r"Foreign.*another library.*convert it first, by from_dlpack\(x\)"):
        call(Foreign())
    assert Foreign.calls < 100
    Foreign.calls = 0


@pytest.mark.parametrize("call", CALLS)
def test_a_class_that_refuses(call):
    with pytest.raises(TypeError, match="no implementation found for .* on types that implement __torch_function__"):
        call(Refuses())


def test_a_class_that_unwraps():
    """Depth is no error: the objects are others each time."""
    x = ingot.ones(2)
    for _ in range(50):
        x = Unwraps(x)
    assert ingot.relu(x).tolist() == [1, 1]


def test_a_class_that_ends_its_recursion():
    class Counts:
        left = 5

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.left -= 1
            return func(*args) if cls.left else "done"

    assert ingot.relu(Counts()) == "done"


def test_a_function_that_knows_nothing_of_our_switch():
    """As torch.relu does: it asks the class of the argument, whatever is switched off here."""

    def relu(x):
        return type(x).__torch_function__(relu, (type(x),), (x,), {})

    class Sub(ingot.Tensor):
        pass

    for x in (ingot.ones(2), ingot.ones(2).as_subclass(Sub)):
        with pytest.raises(TypeError, match="function of another library got a tensor of Ingot.*from_dlpack"):
            relu(x)
    assert ingot.relu(ingot.ones(2).as_subclass(Sub)).tolist() == [1, 1]  # nothing stays switched off
    assert isinstance(ingot.relu(ingot.ones(2).as_subclass(Sub)), Sub)


def test_with_pytorch():
    torch = pytest.importorskip("torch")
    if torch is ingot:
        pytest.skip("torch is ingot here")
    theirs, ours = torch.ones(2), ingot.ones(2)
    for call in (lambda: ingot.relu(theirs), lambda: ingot.add(ours, theirs), lambda: ingot.cat([ours, theirs])):
        with pytest.raises(TypeError, match=r"belongs to the real torch.*ingot.from_torch\(x\)"):
            call()
    calls = [lambda: torch.relu(ours), lambda: torch.add(theirs, ours), lambda: theirs + ours, lambda: ours + theirs]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="from_dlpack"):
        torch.relu(ours)
    assert ingot.relu(ingot.from_dlpack(theirs)).tolist() == [1, 1]
    assert torch.relu(torch.from_dlpack(ours)).tolist() == [1, 1]
