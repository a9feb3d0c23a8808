# SPDX-License-Identifier: Apache-2.0
"""What histories show and refuse: names of functions, operators without a derivative, layouts of gradients, and errors
whose text is PyTorch's while explanations are notes."""
import pytest

import ingot as torch

F = torch.nn.functional


def names(t):
    seen, queue, out = set(), [t.grad_fn], []
    while queue:
        f = queue.pop(0)
        if f is None or f in seen:
            continue
        seen.add(f)
        out.append(f.name())
        queue += [g for g, _ in f.next_functions]
    return [n for n in out if "AccumulateGrad" not in n]


WITHOUT_DERIVATIVE = [
    ("aminmax", lambda x: torch.aminmax(x)[0]),
    ("bincount", lambda x: torch.bincount(torch.tensor([0, 1, 1]), x)),
    ("copy", lambda x: torch.ops.aten.copy(x, x)),
    ("floor_divide", lambda x: x // 2),
    ("floor_divide_", lambda x: x.clone().floor_divide_(2)),
    ("heaviside", lambda x: torch.heaviside(x, x)),
    ("histogram", lambda x: torch.histogram(x, 3)[0]),
    ("bernoulli", lambda x: torch.bernoulli(x, 0.5)),
    ("resize", lambda x: torch.ops.aten.resize(x, [2])),
]


@pytest.mark.parametrize("name, call", WITHOUT_DERIVATIVE, ids=[name for name, _ in WITHOUT_DERIVATIVE])
def test_operators_without_a_derivative_refuse_backward(name, call):
    x = torch.rand(3, requires_grad=True)
    y = call(x)
    assert y.requires_grad
    assert y.grad_fn.name() == "torch::autograd::NotImplemented"
    with pytest.raises(RuntimeError, match=f"^derivative for aten::{name} is not implemented$"):
        y.sum().backward()
    with torch.no_grad():
        assert not call(x).requires_grad


REFUSED = [
    ("nextafter", lambda x: torch.nextafter(x, x), "nextafter"),
    ("geqrf", lambda x: torch.geqrf(x.reshape(3, 1))[0], "geqrf"),
    ("acosh_", lambda x: (x + 2).acosh_(), "inplace version of acosh"),
    ("igamma", lambda x: torch.igamma(x, x.detach()), "igamma: input"),
    ("zeta", lambda x: torch.special.zeta(x + 2, x.detach() + 1), "zeta"),
]


@pytest.mark.parametrize("name, call, words", REFUSED, ids=[row[0] for row in REFUSED])
def test_gradients_that_pytorch_refuses_are_refused_in_its_words(name, call, words):
    y = call(torch.rand(3, requires_grad=True))
    assert y.grad_fn.name() != "torch::autograd::NotImplemented"
    with pytest.raises(NotImplementedError) as caught:
        y.sum().backward()
    assert str(caught.value) == f"the derivative for '{words}' is not implemented."


def test_acosh_out_of_place_has_a_derivative():
    x = torch.full((2,), 2.0, requires_grad=True)
    x.acosh().sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 3.0).rsqrt())


def test_double_backward_of_group_norm_goes_through_its_parts():
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: F.group_norm(t, 2), (x,))


def test_second_derivative_of_fused_attention_is_refused_not_wrong():
    q = torch.randn(1, 2, 3, 4, requires_grad=True)
    (g,) = torch.autograd.grad(F.scaled_dot_product_attention(q, q, q).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="flash_attention_for_cpu_backward is not implemented"):
        g.sum().backward()


def test_a_linear_layer_has_the_history_of_its_parts():
    x, w, b = torch.randn(2, 3), torch.randn(4, 3, requires_grad=True), torch.randn(4, requires_grad=True)
    assert names(F.linear(x, w, b)) == ["AddmmBackward0", "TBackward0"]
    rows = torch.randn(2, 5, 3, requires_grad=True)
    assert names(F.linear(rows, w, b)) == ["ViewBackward0", "AddmmBackward0", "ViewBackward0", "TBackward0"]
    F.linear(x, w, b).sum().backward()
    assert w.grad.stride() == (3, 1)
    with pytest.raises(RuntimeError, match="at least 1D"):
        F.linear(torch.tensor(1.0), w)


def test_upsampling_is_one_function():
    x = torch.randn(1, 1, 3, 3, requires_grad=True)
    assert names(F.interpolate(x, scale_factor=2)) == ["UpsampleNearest2DBackward0"]
    assert names(F.interpolate(x, size=(5, 4), mode="bilinear")) == ["UpsampleBilinear2DBackward0"]


def test_in_place_forms_have_the_number_of_their_functional_form():
    x = torch.rand(3, requires_grad=True)
    assert x.clone().div_(2, rounding_mode="floor").grad_fn.name() == "DivBackward2"
    assert x.clone().copy_(x).grad_fn.name() == "torch::autograd::CopyBackwards"


def test_gradients_of_products_are_laid_out_like_transposed_operands():
    a, b = torch.randn(2, 3), torch.randn(4, 3).t().requires_grad_()
    (g,) = torch.autograd.grad((a @ b).sum(), b)
    assert g.stride() == b.stride() == (1, 3)
    torch.testing.assert_close(g, a.sum(0).unsqueeze(1).expand(3, 4))


def test_gradients_are_laid_out_as_pytorch_lays_them_out():
    x = torch.randn(3, requires_grad=True)
    (g,) = torch.autograd.grad(torch.diag(x), x, torch.ones(3, 3))
    assert g.stride() == (4,)
    a = (torch.rand(3, 3) + 4 * torch.eye(3)).requires_grad_()
    for loss in (torch.det(a), torch.logdet(a), torch.linalg.slogdet(a).logabsdet):
        (g,) = torch.autograd.grad(loss, a)
        assert g.stride() == (1, 3)
    torch.testing.assert_close(g, torch.linalg.inv(a).t())


def test_names_of_composed_functions():
    x = torch.randn(4, 3, requires_grad=True)
    assert names(F.batch_norm(x, None, None, training=True)) == ["NativeBatchNormBackward0"]
    assert "ClampMinBackward0" not in names(F.cosine_similarity(x, x))
    assert names(torch.diag_embed(x)) == ["DiagEmbedBackward0"]


class Literal(torch.nn.Module):
    def forward(self, x):
        return torch.as_tensor([1.0, 2.0]) + torch.as_tensor(x)


def test_data_enters_a_program_as_a_constant_by_as_tensor():
    x = torch.ones(2)
    assert torch.as_tensor(x) is x
    code = torch.export.export(Literal(), (x,), strict=False).graph_module.code
    assert "torch.ops.aten.lift_fresh_copy.default(c_lifted_tensor_0)" in code
    assert "detach" not in code


def test_explanations_of_errors_are_notes():
    with pytest.raises(IndexError) as caught:
        torch.softmax(torch.ones(2, 3), 2)
    assert str(caught.value) == "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    assert caught.value.__notes__ == ["in aten.softmax.int"]


class Counts(torch.nn.Module):
    def forward(self, x):
        return torch.bincount(x)


class Equal(torch.nn.Module):
    def forward(self, x):
        return x + int(torch.equal(x, x))


def test_strict_captures_word_results_that_stand_in_the_data():
    x = torch.tensor([1, 2])
    with pytest.raises(torch._dynamo.exc.Unsupported, match="dynamic shape operator: aten.bincount.default; Operator"):
        torch.export.export(Counts(), (x,), strict=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="data dependent operator: aten.equal.default; to enable"):
        torch.export.export(Equal(), (x,), strict=True)
    with pytest.raises(torch._subclasses.fake_tensor.DynamicOutputShapeException) as caught:
        torch.export.export(Counts(), (x,), strict=False)
    assert str(caught.value) == "aten.bincount.default"
    assert any("stand in the data" in note for note in caught.value.__notes__)
