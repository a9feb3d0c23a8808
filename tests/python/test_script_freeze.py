# SPDX-License-Identifier: Apache-2.0
"""Frozen script modules: what is a constant, what stays, and that they compute the same."""

import pytest

import ingot as torch
from ingot import nn


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.scale = 2

    def forward(self, x):
        return self.fc(x) * self.scale


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.k = 2
        self.register_buffer("b", torch.zeros(2))

    def forward(self, x):
        self.n += 1
        self.b.add_(1)
        return x * self.k + self.b, self.n

    @torch.jit.export
    def count(self) -> int:
        return self.n


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a

    def forward(self, x):
        return self.a(self.b(x))


class Looping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.turns = 3
        self.training_only = True

    def forward(self, x):
        for i in range(self.turns):
            x = x * (i + 1)
        if self.training and self.training_only:
            x = x + 100
        return x


def frozen(module, **options):
    return torch.jit.freeze(torch.jit.script(module.eval()), **options)


def kinds(module) -> list[str]:
    return [n.kind() for n in module.graph.nodes() if n.kind() != "prim::Constant"]


def test_attributes_become_constants() -> None:
    m = Two()
    f = frozen(m)
    x = torch.ones(1, 2)
    assert torch.equal(f(x), m(x).detach())
    assert kinds(f) == ["aten::linear", "aten::mul"]
    assert "%self.fc.weight" in str(f.graph)
    assert list(f.named_parameters()) == []
    assert not f(x).requires_grad


def test_the_class_is_a_new_one() -> None:
    f = frozen(Two())
    assert "___torch_mangle_" in f._c._type().qualified_name()
    assert f.original_name == "Two"


def test_written_attributes_stay() -> None:
    f = frozen(Counting())
    x = torch.ones(2)
    assert f(x)[1] == 1
    y, n = f(x)
    assert n == 2
    assert y.tolist() == [4.0, 4.0]
    assert not hasattr(f, "k")


def test_preserved_names_stay() -> None:
    f = frozen(Counting(), preserved_attrs=["count", "k"])
    f(torch.ones(2))
    assert f.count() == 1
    assert f.k == 2


def test_a_shared_weight_is_one_constant() -> None:
    text = str(frozen(Shared()).graph)
    assert text.count("prim::Constant") == 2


def test_short_loops_and_known_conditions_go() -> None:
    f = frozen(Looping())
    assert set(kinds(f)) == {"aten::mul"}
    assert f(torch.ones(1)).tolist() == [6.0]


def test_what_cannot_be_frozen() -> None:
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        torch.jit.freeze(torch.jit.script(Two()))
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        torch.jit.freeze(Two().eval())
    with pytest.raises((RuntimeError, ValueError), match="Unknown name: nothing"):
        frozen(Two(), preserved_attrs=["nothing"])


def test_optimize_for_inference() -> None:
    m = Two().eval()
    x = torch.ones(1, 2)
    assert torch.equal(torch.jit.optimize_for_inference(torch.jit.script(m))(x), m(x).detach())
