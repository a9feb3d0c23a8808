# SPDX-License-Identifier: Apache-2.0
"""The Tensor object: identity, subclasses, overrides, protocols, gradients at the object, threads."""

import gc
import threading
import weakref

import pytest

import ingot


def test_identity():
    x = ingot.ones(2)
    assert x.add_(1) is x
    x += 1
    assert x.contiguous() is x and x.float() is x and x.to("cpu") is x and x.to(ingot.float32) is x
    w = ingot.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    assert w.grad is w.grad
    assert w.detach() is not w
    out = ingot.empty(2)
    assert ingot.add(x, x, out=out) is out
    values, indices = ingot.empty(2), ingot.empty(2, dtype=ingot.int64)
    result = ingot.max(ingot.ones(2, 3), 1, out=(values, indices))
    assert result[0] is values and result.indices is indices


def test_out_is_written_in_place() -> None:
    base = ingot.arange(12.0)
    x, y = base[:6], base[6:]
    pointer = y.data_ptr()
    ingot.add(x, y, out=y)  # out is an operand
    assert y.tolist() == [6, 8, 10, 12, 14, 16] and y.data_ptr() == pointer and y._version == 1
    whole = ingot.zeros(2, 3, dtype=ingot.float64)
    ingot.mul(ingot.ones(3), ingot.full((2, 1), 2), out=whole)  # another dtype, broadcast operands
    assert whole.tolist() == [[2, 2, 2], [2, 2, 2]]
    across = ingot.zeros(3, 2).t()
    ingot.sub(ingot.ones(2, 3), 3, out=across)  # another order of the memory
    assert across.tolist() == [[-2, -2, -2], [-2, -2, -2]] and across.stride() == (1, 2)
    with pytest.raises(RuntimeError, match="can't be cast"):
        ingot.add(ingot.ones(2), 1, out=ingot.zeros(2, dtype=ingot.int64))


def test_hash_and_equality():
    x, y = ingot.ones(2), ingot.ones(2)
    assert len({x, y, x}) == 2
    assert (x == y).tolist() == [True, True]
    assert (x == None) is False  # noqa: E711
    assert {x: 1}[x] == 1


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 - x", [6, 5]),
        ("x - 7", [-6, -5]),
        ("7 // x", [7, 3]),
        ("x // 2", [0, 1]),
        ("7 % x", [0, 1]),
        ("x % 2", [1, 0]),
        ("2 ** x", [2, 4]),
        ("x ** 2", [1, 4]),
        ("4 / x", [4, 2]),
        ("x / 2", [0.5, 1]),
        ("-x", [-1, -2]),
        ("abs(-x)", [1, 2]),
        ("x & 1", [1, 0]),
        ("x ^ 3", [2, 1]),
        ("3 ^ x", [2, 1]),
        ("x << 2", [4, 8]),
        ("1 << x", [2, 4]),
        ("x >> 1", [0, 1]),
        ("8 >> x", [4, 2]),
        ("+x", [1, 2]),
        ("1 & x", [1, 0]),
        ("x | 4", [5, 6]),
        ("4 | x", [5, 6]),
        ("~x", [-2, -3]),
        ("x < 2", [True, False]),
        ("2 > x", [True, False]),
        ("x >= 2", [False, True]),
        ("x @ x", 5),
        ("bool(x[0])", True),
        ("int(x[1])", 2),
        ("float(x[1])", 2.0),
        ("complex(x[1])", 2 + 0j),
        ("[10, 20, 30][x[1]]", 30),
        ("len(x)", 2),
        ("sum(x)", 3),
        ("max(x).item()", 2),
        ("x[1].__format__('03d')", "002"),
    ],
)
def test_operators(expression, value):
    found = eval(expression, {"x": ingot.tensor([1, 2])})
    assert (found.tolist() if isinstance(found, ingot.Tensor) else found) == value


def test_inplace_operators():
    x = ingot.tensor([5.0, 7.0])
    same = x
    x += 1
    x -= 2
    x *= 3
    x /= 2
    x **= 2
    x //= 4
    x %= 5
    assert x is same
    assert x.tolist() == [4.0, 0.0]


def test_unknown_operand():
    class Other:
        def __radd__(self, tensor):
            return "reflected"

    assert ingot.ones(1) + Other() == "reflected"
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'list'"):
        ingot.ones(1) + []


def test_attributes_and_weakrefs():
    x = ingot.ones(2)
    x.label = "a"
    assert x.label == "a" and x.__dict__ == {"label": "a"}
    assert not hasattr(x, "missing")
    ref = weakref.ref(x)
    assert ref() is x
    del x
    assert ref() is None


def test_cycles_are_collected():
    x = ingot.ones(2)
    x.list = [x]
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None


class Plain(ingot.Tensor):
    pass


class Silent(ingot.Tensor):
    __torch_function__ = ingot._C._disabled_torch_function_impl


class Logging(ingot.Tensor):
    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs)


def test_subclass_results():
    x = ingot.ones(2, 3).as_subclass(Plain)
    assert type(x) is Plain and type(x + 1) is Plain and type(ingot.relu(x)) is Plain and type(x[0]) is Plain
    assert all(type(t) is Plain for t in ingot.split(x, 1)) and type(ingot.cat([x, ingot.ones(1, 3)])) is Plain
    y = ingot.ones(2).as_subclass(Silent)
    assert type(y + 1) is ingot.Tensor
    assert type(ingot.Tensor._make_subclass(Silent, ingot.ones(2), True)) is Silent
    assert ingot.Tensor._make_subclass(Silent, ingot.ones(2), True).requires_grad


def test_torch_function():
    Logging.calls.clear()
    x = ingot.ones(2).as_subclass(Logging)
    assert type(ingot.add(x, 1)) is Logging
    x.mul(2)
    x[0] = 5
    assert Logging.calls[0] == "add" and "mul" in Logging.calls and "__setitem__" in Logging.calls
    assert x.tolist() == [5, 1]


def test_torch_function_of_other_objects():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args), kwargs

    assert ingot.add(ingot.ones(1), Duck()) == ("add", 2, {})
    assert ingot.relu(Duck()) == ("relu", 1, {})
    assert ingot.sum(Duck(), dim=1) == ("sum", 1, {"dim": 1})


def test_tensor_type_takes_attributes():
    ingot.Tensor.twice = lambda self: self * 2
    try:
        assert ingot.ones(1).twice().tolist() == [2]
    finally:
        del ingot.Tensor.twice


def test_functions_methods_overloads():
    x = ingot.tensor([1.0, -1.0])
    aten = ingot.ops.aten
    assert (
        ingot.relu(x).tolist() == x.relu().tolist() == aten.relu(x).tolist() == aten.relu.default(x).tolist() == [1, 0]
    )
    assert aten.add.Tensor is aten.add.Tensor and aten.add is ingot.ops.aten.add
    assert {aten.add.Tensor: 1}[aten.add.Tensor] == 1
    assert "Tensor" in aten.add.overloads() and aten.add.overloads()[0] == "Tensor"
    assert aten.add.Tensor(self=x, other=x, alpha=2).tolist() == [3, -3]
    assert ingot.add(input=x, other=x).tolist() == [2, -2]
    assert ingot.sum(x, **{"".join(["d", "im"]): 0}).item() == 0
    assert aten.sum.dim_IntList(x, [0]).item() == 0
    assert ingot.Tensor.relu(x).tolist() == [1, 0]
    assert isinstance(aten.max.dim(ingot.ones(2, 2), 0), tuple)


def test_varargs_and_sequences():
    x = ingot.arange(6)
    for shape in ((2, 3), [2, 3], ingot.Size([2, 3]), (ingot.tensor(2), 3)):
        assert x.view(shape).shape == (2, 3)
        assert ingot.zeros(shape).shape == (2, 3)
    assert x.view(2, 3).permute(1, 0).shape == (3, 2)
    assert x.view(2, -1).shape == (2, 3)
    assert ingot.zeros(2, 3).shape == ingot.zeros((2, 3)).shape
    assert ingot.zeros(2, dtype=int).dtype is ingot.int64


def test_conversions():
    x = ingot.tensor([1.7, -1.7])
    assert x.int().tolist() == [1, -1] and x.long().dtype is ingot.int64 and x.bool().tolist() == [True, True]
    assert (
        x.double().dtype
        is x.to(ingot.float64).dtype
        is x.type(ingot.float64).dtype
        is x.type("torch.DoubleTensor").dtype
    )
    assert x.to(ingot.zeros(1, dtype=ingot.int8)).dtype is ingot.int8
    assert x.to("cpu", ingot.float16).dtype is x.to(device="cpu", dtype=ingot.float16).dtype is ingot.float16
    assert x.to(ingot.float32, copy=True) is not x
    assert x.to("meta").is_meta and x.to(device="meta").shape == (2,)
    assert x.half().dtype is ingot.float16 and x.bfloat16().dtype is ingot.bfloat16
    assert x.type_as(ingot.ones(1, dtype=ingot.float64)).dtype is ingot.float64


def test_layout_questions():
    x = ingot.zeros(2, 3, 4, 5)
    assert x.is_contiguous() and not x.is_contiguous(memory_format=ingot.channels_last)
    y = x.contiguous(memory_format=ingot.channels_last)
    assert y.is_contiguous(memory_format=ingot.channels_last) and y.stride() == (60, 1, 15, 3)
    assert x.permute(0, 2, 3, 1).contiguous().is_contiguous()
    assert x[1].storage_offset() == 60 and x.stride(1) == 20 and x.size(-1) == 5 and x.size() == x.shape


def test_default_dtype():
    try:
        ingot.set_default_dtype(ingot.float64)
        assert ingot.tensor(1.5).dtype is ingot.float64 and ingot.zeros(1).dtype is ingot.float64
        assert ingot.get_default_dtype() is ingot.float64
    finally:
        ingot.set_default_dtype(ingot.float32)


def test_default_device():
    with ingot.device("meta"):
        assert ingot.zeros(2).is_meta and ingot.empty(2).is_meta
    assert ingot.zeros(2).is_cpu


def test_requires_grad_and_grad():
    x = ingot.ones(2, requires_grad=True)
    assert x.is_leaf and x.grad is None and x.grad_fn is None
    y = x * 2
    assert not y.is_leaf and type(y.grad_fn).__name__ == "MulBackward0" and y.grad_fn is y.grad_fn
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [1, 1]
    y.backward(ingot.ones(2))
    assert x.grad.tolist() == [4, 4]
    x.grad = None
    assert x.grad is None
    x.grad = ingot.zeros(2)
    assert y.grad_fn.next_functions[0][0].variable is x


def test_functions_of_the_history_are_named_as_in_pytorch():
    f = ingot.nn.functional
    x = ingot.ones(2, 3, requires_grad=True)
    y = ingot.zeros(2, 3)
    image = ingot.ones(1, 1, 4, 4, requires_grad=True)
    z = x.clone()
    z[0] = 0
    named = {
        "MseLossBackward0": f.mse_loss(x, y),
        "SmoothL1LossBackward0": f.smooth_l1_loss(x, y),
        "AvgPool2DBackward0": f.avg_pool2d(image, 2),
        "Log1PBackward0": x.log1p(),
        "NllLossBackward0": f.nll_loss(x, ingot.tensor([0, 1])),
        "AddcmulBackward0": x.clone().addcmul_(y, y),
        "AcoshBackward1": x.clone().acosh_(),
        "SqueezeBackward4": x.clone().squeeze_(0),
        "DiagonalBackward0_copy": ingot.diagonal_copy(x),
        "IndexCopyBackward0": x.index_copy(0, ingot.tensor([0]), ingot.zeros(1, *x.shape[1:])),
        "ToCopyBackward0": x.to(ingot.float64),
        "torch::autograd::CopySlices": z,
    }
    assert {key: t.grad_fn.name() for key, t in named.items()} == {key: key for key in named}
    assert type(z.grad_fn).__name__ == "CopySlices"


def test_parts_of_an_operator_show_as_one_function():
    x = ingot.tensor([1.0, -2.0], requires_grad=True)
    y = ingot.tensor([0.5, 4.0], requires_grad=True)
    loss = ingot.nn.functional.smooth_l1_loss(x * 2, y, reduction="sum")
    fn = loss.grad_fn
    assert [n.name() for n, _ in fn.next_functions] == ["MulBackward0", "struct torch::autograd::AccumulateGrad"]
    assert fn.next_functions[1][0].variable is y and loss.grad_fn is fn
    seen = []
    fn.register_prehook(lambda grads: seen.append(grads[0].item()))
    (d,) = ingot.autograd.grad(loss, x, create_graph=True)
    assert seen == [1.0] and d.tolist() == [2.0, -2.0]
    (dd,) = ingot.autograd.grad(ingot.nn.functional.huber_loss(x, y * 0.5, reduction="sum"), x, create_graph=True)
    assert ingot.autograd.grad(dd.sum(), x)[0].tolist() == [1.0, 0.0]
    a, b = ingot.std_mean(x)
    assert a.grad_fn is b.grad_fn and a.grad_fn.name() == "StdMeanBackward0"


def test_nonzero_as_tuple():
    x = ingot.tensor([[0, 1], [2, 0]])
    rows, columns = ingot.nonzero(x, as_tuple=True)
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]
    assert x.nonzero(as_tuple=True)[1].tolist() == [1, 0] and x.nonzero().tolist() == [[0, 1], [1, 0]]


def test_hooks():
    x = ingot.ones(2, requires_grad=True)
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    (x * 2).sum().backward()
    assert seen == [[2, 2]] and x.grad.tolist() == [20, 20]
    handle.remove()
    (x * 2).sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [22, 22]

    def fail(grad):
        raise KeyError("from the hook")

    x.register_hook(fail)
    with pytest.raises(KeyError, match="from the hook"):
        (x * 2).sum().backward()
    after = []
    y = ingot.ones(1, requires_grad=True)
    y.register_post_accumulate_grad_hook(lambda t: after.append(t.grad.item()))
    (y * 3).sum().backward()
    assert after == [3]


def test_data_and_versions():
    x = ingot.ones(2, requires_grad=True)
    version = x._version
    x.data.mul_(3)
    assert x.tolist() == [3, 3] and x._version == version
    x.data = ingot.zeros(3, 4)
    assert x.shape == (3, 4) and x.requires_grad
    y = ingot.ones(2)
    y.add_(1)
    assert y._version == 1
    v = ingot.ones(2, 2)[0]
    assert v._is_view() or v._base is None


def test_modes_are_of_the_thread():
    found = {}

    def work():
        found["grad"] = ingot.is_grad_enabled()
        found["sum"] = (ingot.ones(10) * 2).sum().item()

    with ingot.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert not ingot.is_grad_enabled()
    assert found == {"grad": True, "sum": 20.0}


def test_many_threads():
    results = []

    def work(k):
        x = ingot.full((100,), float(k), requires_grad=True)
        for _ in range(50):
            (x * 2).sum().backward()
        results.append(x.grad[0].item())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [100.0] * 8


def test_generator():
    g = ingot.Generator()
    g.manual_seed(7)
    a = ingot.rand(3, generator=g)
    state = g.get_state()
    b = ingot.rand(3, generator=g)
    g.set_state(state)
    assert ingot.rand(3, generator=g).tolist() == b.tolist() != a.tolist()
    assert g.initial_seed() == 7 and g.device == ingot.device("cpu")
    ingot.manual_seed(0)
    assert [round(v, 4) for v in ingot.rand(2).tolist()] == [0.4963, 0.7682]


def test_new_and_legacy_constructors():
    x = ingot.ones(2, dtype=ingot.float64)
    assert (
        x.new_tensor([1, 2]).dtype is ingot.float64
        and x.new_zeros(2, 3).shape == (2, 3)
        and x.new_ones((1,)).tolist() == [1]
    )
    assert ingot.Tensor([[1, 2]]).shape == (1, 2) and ingot.Tensor(3).shape == (3,)
    assert ingot.asarray([1, 2]).tolist() == [1, 2]


def test_sizes():
    s = ingot.Size([2, 3, 4])
    assert (
        s == (2, 3, 4)
        and s.numel() == 24
        and isinstance(s[1:], ingot.Size)
        and s[0] == 2
        and isinstance(s + (1,), ingot.Size)
    )
    assert isinstance((1,) + s, ingot.Size)
    assert hash(s) == hash((2, 3, 4))


def test_small_objects_cost_no_memory():
    x = ingot.ones(4)
    gc.collect()
    tensors = [x + 1 for _ in range(1000)]
    assert not any(gc.is_tracked(t) for t in tensors)
