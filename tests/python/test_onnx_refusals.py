# SPDX-License-Identifier: Apache-2.0
"""What torch.onnx.export(dynamo=False) refuses, in the words and in the order of PyTorch 2.5.1, and the names that it
takes from the trace."""

import io
import warnings

import pytest

onnx = pytest.importorskip("onnx")

import ingot as torch  # noqa: E402
import ingot.nn.functional as F  # noqa: E402
from ingot import nn  # noqa: E402

ISSUES = (
    "Please feel free to request support or submit a pull request on PyTorch GitHub: "
    "https://github.com/pytorch/pytorch/issues"
)
ONE = "Float(3, strides=[1], requires_grad=0, device=cpu)"


def module(fn, **children):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            for name, child in children.items():
                setattr(self, name, child)

        def forward(self, *args):
            return fn(self, *args) if children else fn(*args)

    return M()


def write(model, args, **options):
    sink = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, args, sink, dynamo=False, **options)
    return onnx.load_from_string(sink.getvalue())


def refusal(model, args, **options):
    with pytest.raises(Exception) as caught:
        write(model, args, **options)
    return type(caught.value).__name__, str(caught.value)


def names(proto):
    return [i.name for i in proto.graph.input]


def test_input_names_come_from_the_trace():
    deep = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Conv2d(2, 1, 1))
    assert names(write(deep, (torch.ones(1, 1, 2, 2),))) == ["input.1"]
    assert names(write(nn.Conv2d(1, 2, 1), (torch.ones(1, 1, 2, 2),))) == ["input"]
    assert names(write(nn.Linear(2, 2), (torch.ones(1, 2),))) == ["onnx::Gemm_0"]

    class Pad(nn.Module):
        def forward(self, x, y):
            return F.pad(x, (1, 1)), y + 1

    assert names(write(Pad(), (torch.ones(2, 2), torch.ones(2)))) == ["x", "onnx::Add_1"]
    assert names(write(Pad(), (torch.ones(2, 2), torch.ones(2)), input_names=["a"])) == ["a", "onnx::Add_1"]
    assert names(write(torch.jit.script(nn.ReLU()), (torch.ones(2),))) == ["input.1"]


def unsupported(name, opset, why):
    return f"Exporting the operator '{name}' to ONNX opset version {opset} is not supported. {why}"


CAUSE = f"  [Caused by the value 'x defined in (%x : {ONE} = prim::Param()"
LATER = "Support for this operator was added in version 11, try exporting with this version."
REFUSED = [
    (torch.special.i1, 17, "UnsupportedOperatorError", unsupported("aten::special_i1", 17, f"{ISSUES}.")),
    (torch.round, 9, "UnsupportedOperatorError", unsupported("aten::round", 9, LATER)),
    (
        lambda x: x.cumsum(0),
        9,
        "SymbolicValueError",
        f"Unsupported: ONNX export of cumsum in opset 9. Please try opset version 11.{CAUSE}",
    ),
    (lambda x: x[::2], 9, "SymbolicValueError", f"step!=1 is currently not supported{CAUSE}"),
    (
        lambda x: F.threshold(x, 1.0, 0.0),
        17,
        "SymbolicValueError",
        f"Unsupported: ONNX export of operator threshold, non-zero threshold. {ISSUES}{CAUSE}",
    ),
    (lambda x: (x + 1, 3), 17, "RuntimeError", "output 1 (3"),
]


@pytest.mark.parametrize(("fn", "opset", "kind", "text"), REFUSED)
def test_refused(fn, opset, kind, text):
    class M(nn.Module):
        def forward(self, x):
            return fn(x)

    found = refusal(M(), (torch.ones(3),), opset_version=opset)
    # A value is named by the variable of the frame around the one that makes the call.
    assert (found[0], found[1].splitlines()[0]) == (kind, text)


def test_whole_text_of_a_refused_value():
    text = refusal(module(lambda x: x.cumsum(0)), (torch.ones(3),), opset_version=9)[1]
    assert text.splitlines()[1:] == [
        ")' (type 'Tensor') in the TorchScript graph. The containing node has kind 'prim::Param'.] ",
        "",
        "    Inputs:",
        "        Empty",
        "    Outputs:",
        f"        #0: 0 defined in (%0 : {ONE} = prim::Param()",
        "    )  (type 'Tensor')",
    ]


def test_dead_calls_and_constants_are_not_refused():
    def fn(x):
        torch.special.i1(x)  # its result is not used
        return x + torch.special.i1(torch.ones(3))  # constants are evaluated

    assert [n.op_type for n in write(module(fn), (torch.ones(3),)).graph.node][-1] == "Add"


def test_users_translations_are_not_refused():
    torch.onnx.register_custom_op_symbolic(
        "aten::special_i1", lambda g, x: g.op("my::I1", x, t_t=torch.tensor([1, 2])), 9
    )
    try:
        node = write(module(torch.special.i1), (torch.ones(3),)).graph.node[0]
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::special_i1", 9)
    assert (node.op_type, node.domain) == ("I1", "my")
    assert onnx.numpy_helper.to_array(node.attribute[0].t).tolist() == [1, 2]


def test_order_of_errors():
    """Tracing, axes, operators, names, custom_opsets: the first of several errors is that of the earliest pass."""
    bad = module(torch.special.i1)
    options = {"input_names": ["x", "y", "z"], "custom_opsets": ["a"], "dynamic_axes": {"x": (0,)}}
    cases = [
        (module(lambda x: x.nope()), options),
        (bad, options),
        (bad, dict(options, dynamic_axes={"x": {0: "n"}})),
        (nn.ReLU(), dict(options, dynamic_axes=None)),
        (nn.ReLU(), {"custom_opsets": ["a"]}),
    ]
    first_lines = []
    for model, left in cases:
        kind, text = refusal(model, (torch.ones(3),), **left)
        first_lines.append((kind, text.splitlines()[0][:58]))
    assert first_lines == [
        ("AttributeError", "'Tensor' object has no attribute 'nope'"),
        ("TypeError", "_jit_pass_onnx_set_dynamic_input_shape(): incompatible fun"),
        ("UnsupportedOperatorError", "Exporting the operator 'aten::special_i1' to ONNX opset ve"),
        ("RuntimeError", "number of input names provided (3) exceeded number of inpu"),
        ("TypeError", "_export_onnx(): incompatible function arguments. The follo"),
    ]


def test_arguments():
    relu, x = nn.ReLU(), torch.ones(2)
    assert refusal(relu, ()) == ("TypeError", "ReLU.forward() missing 1 required positional argument: 'input'")
    assert refusal(relu, (x, x)) == ("TypeError", "ReLU.forward() takes 2 positional arguments but 3 were given")
    assert refusal(relu, ([x],))[0] == "TypeError"
    assert len(write(relu, {"input": x}).graph.node) == 1


def test_packing_alone_is_refused():
    def fn(x, lengths):
        return nn.utils.rnn.pack_padded_sequence(x, lengths).data

    kind, text = refusal(module(fn), (torch.ones(3, 2, 4), torch.tensor([3, 2])))
    assert kind == "RuntimeError" and text.startswith(
        "ONNX export failed: Cannot export individual pack_padded_sequence"
    )


def test_python_functions_keep_their_translation():
    class Norm(torch.autograd.Function):
        @staticmethod
        def symbolic(g, x, eps):
            return g.op("my::Norm", x, eps_f=eps)

        @staticmethod
        def forward(ctx, x, eps):
            return torch.special.i1(nn.LayerNorm(3)(x)) + eps

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.special.i1(x)

    assert write(module(lambda x: Norm.apply(x, 0.5)), (torch.ones(3),)).graph.node[0].op_type == "Norm"
    assert refusal(module(Plain.apply), (torch.ones(3),))[0] == "UnsupportedOperatorError"


def test_warnings():
    def said(model, args, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.onnx.export(model, args, io.BytesIO(), dynamo=False, **options)
        return [f"{w.category.__name__}: {w.message}"[:100] for w in caught]

    assert said(module(lambda x: x.squeeze(0)), (torch.ones(2, 3),)) == [
        "UserWarning: This model contains a squeeze operation on dimension 0. The size of this dimension in the given"[
            :100
        ]
    ]
    assert said(nn.ReLU(), (torch.ones(2),), training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False) == [
        "FutureWarning: Setting `training` to something other than default is deprecated. The option will be removed"[
            :100
        ]
    ]
    norm = nn.BatchNorm1d(2).train()
    texts = said(norm, (torch.ones(3, 2),), training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    assert "ONNX Preprocess - Removing mutation from node aten::add_ on block input: 'num_batches_tracked'"[
        :80
    ] in "".join(texts)


def test_names_given_twice():
    class Both(nn.Module):
        def forward(self, x, y):
            return x + y, x * y

    args = (torch.ones(2), torch.ones(2))
    proto = write(Both(), args, input_names=["a", "a"], output_names=["o", "a"])
    assert (names(proto), [o.name for o in proto.graph.output]) == (["a.1", "a.3"], ["o", "a"])
    onnx.checker.check_model(proto)
