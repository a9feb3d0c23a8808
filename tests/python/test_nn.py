# SPDX-License-Identifier: Apache-2.0
"""nn: the rules of Module, every layer against values of the real PyTorch (golden_nn.json), containers, hooks, lazy
layers."""

import contextlib
import copy
import json
import pathlib
import pickle
import warnings
from collections import OrderedDict

import pytest

import ingot
import nn_cases
from ingot import nn
from ingot.nn import functional as F
from ingot.testing import assert_close

# Operators that layers call and that later parts of the library bring; until then their cases are skipped.
LATER = frozenset(
    """
    adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d affine_grid_generator alpha_dropout
    avg_pool1d avg_pool3d bilinear binary_cross_entropy binary_cross_entropy_with_logits broadcast_tensors celu
    channel_shuffle complex cosine_embedding_loss cosine_similarity diag diagonal elu embedding_bag exponential_ glu
    grid_sampler group_norm gru_cell hardshrink hardsigmoid hardswish hinge_embedding_loss huber_loss instance_norm
    kl_div
    l1_loss leaky_relu log_sigmoid lstm_cell margin_ranking_loss mish mse_loss one_hot pad pairwise_distance
    pixel_shuffle
    pixel_unshuffle poisson_nll_loss prelu rms_norm rnn_relu rnn_tanh_cell selu sign smooth_l1_loss soft_margin_loss
    softplus softshrink threshold triplet_margin_loss unflatten upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d
    """.split()
)
GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden_nn.json").read_text())


@contextlib.contextmanager
def later_operators():
    """Skip, and say so, where an operator of LATER is missing; any other missing name is an error."""
    try:
        yield
    except AttributeError as error:
        name = str(error).rstrip("'\"").rpartition("'")[2].rpartition(":")[2]
        if name not in LATER:
            raise
        pytest.skip(f"the library has no operator {name} yet")


def assert_numbers(found, expected, tolerance=2e-5):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert abs(a - b) <= tolerance + tolerance * abs(b), (found, expected)


@pytest.mark.parametrize("source", nn_cases.LAYERS)
def test_layer(source):
    with warnings.catch_warnings(), later_operators():
        warnings.simplefilter("ignore")
        found = nn_cases.run_layer(ingot, source, nn_cases.LAYERS[source])
    expected = GOLDEN["layers"][source]
    assert set(found) == set(expected)
    for key, value in expected.items():
        if key in ("repr", "state"):
            assert found[key] == value
        else:
            assert_numbers(found[key], value)


@pytest.mark.parametrize("source", nn_cases.FUNCTIONS)
def test_function(source):
    with later_operators():
        found = nn_cases.run_function(ingot, source, nn_cases.FUNCTIONS[source])
    assert_numbers(found, GOLDEN["functions"][source])


@pytest.mark.parametrize("source", [*nn_cases.SEEDED, *nn_cases.INITIALIZERS])
def test_seeded(source):
    with later_operators(), ingot.set_compat("2.13"):  # golden_nn.json is of that release
        found = nn_cases.seeded(ingot, source)
    assert_numbers(found, GOLDEN["seeds"][source])


# Module: attributes


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.weight = nn.Parameter(ingot.ones(2))
        self.register_buffer("scale", ingot.ones(3))
        self.register_buffer("cache", ingot.zeros(1), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, x, times=1):
        return self.fc(x * self.weight) * self.scale * times


def raises(error, message, function, *args, **kwargs):
    with pytest.raises(error) as found:
        function(*args, **kwargs)
    text = found.value.args[0] if error is KeyError else str(found.value)
    assert text == message


def test_members():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["weight", "fc.weight", "fc.bias"]
    assert [n for n, _ in net.named_buffers()] == ["scale", "cache"]
    assert list(net.state_dict()) == ["weight", "scale", "fc.weight", "fc.bias"]
    assert [n for n, _ in net.named_modules()] == ["", "fc"]
    assert [n for n, _ in net.named_children()] == ["fc"]
    assert [n for n, _ in net.named_parameters(prefix="p", recurse=False)] == ["p.weight"]
    assert net.absent is None and "fc" in dir(net) and "weight" in dir(net)
    assert net.get_submodule("fc") is net.fc and net.get_submodule("") is net
    assert net.get_parameter("fc.bias") is net.fc.bias and net.get_buffer("scale") is net.scale


def test_attribute_rules():
    net = Net()
    net.plain = ingot.ones(1)
    assert "plain" in net.__dict__ and "plain" not in net.state_dict()
    net.scale = ingot.zeros(3)
    assert net._buffers["scale"].sum() == 0
    net.weight = None
    assert "weight" in net._parameters and "weight" not in net.state_dict()
    net.fc = nn.Parameter(ingot.ones(1))
    assert "fc" not in net._modules and "fc" in net._parameters
    del net.fc, net.scale
    assert not hasattr(net, "fc") and not hasattr(net, "scale")
    net.new = nn.Buffer(ingot.ones(1), persistent=False)
    assert "new" in net._buffers and "new" not in net.state_dict()
    assert isinstance(nn.Buffer(ingot.ones(1)), nn.Buffer) and not isinstance(ingot.ones(1), nn.Buffer)
    assert type(net.new) is ingot.Tensor


def test_attribute_errors():
    net = Net()
    raises(AttributeError, "'Net' object has no attribute 'missing'", lambda: net.missing)
    expected = "cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)"
    raises(TypeError, expected, setattr, net, "weight", 3)
    expected = "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)"
    raises(TypeError, expected, setattr, net, "weight", ingot.ones(1))
    expected = "cannot assign 'int' as child module 'fc' (torch.nn.Module or None expected)"
    raises(TypeError, expected, setattr, net, "fc", 3)
    expected = "cannot assign 'int' as buffer 'scale' (torch.nn.Buffer, torch.Tensor or None expected)"
    raises(TypeError, expected, setattr, net, "scale", 3)
    raises(KeyError, 'parameter name can\'t contain "."', net.register_parameter, "a.b", None)
    raises(KeyError, 'parameter name can\'t be empty string ""', net.register_parameter, "", None)
    raises(TypeError, "parameter name should be a string. Got int", net.register_parameter, 3, None)
    raises(KeyError, "attribute 'training' already exists", net.register_parameter, "training", None)
    expected = "cannot assign 'int' object to parameter 'a' (torch.nn.Parameter or None required)"
    raises(TypeError, expected, net.register_parameter, "a", 1)
    expected = "cannot assign 'int' object to buffer 'a' (torch Tensor or None required)"
    raises(TypeError, expected, net.register_buffer, "a", 1)
    raises(KeyError, 'module name can\'t contain ".", got: a.b', net.add_module, "a.b", None)
    raises(TypeError, "int is not a Module subclass", net.add_module, "a", 1)
    raises(AttributeError, "Linear has no attribute `d`", net.get_submodule, "fc.d")
    raises(AttributeError, "`weight` is not an nn.Module", net.get_submodule, "weight")
    raises(AttributeError, "`scale` is not an nn.Parameter", net.get_parameter, "scale")
    raises(AttributeError, "`weight` is not a buffer", net.get_buffer, "weight")
    raises(NotImplementedError, 'Module [Module] is missing the required "forward" function', nn.Module(), 1)
    raises(TypeError, "Module.__init__() takes 1 positional argument but 2 were given", nn.Module, 1)
    raises(TypeError, "Module.__init__() got an unexpected keyword argument 'a'", nn.Module, a=1)


def test_assignment_before_init():
    class Early(nn.Module):
        def __init__(self, value):
            self.value = value

    expected = "cannot assign parameters before Module.__init__() call"
    raises(AttributeError, expected, Early, nn.Parameter(ingot.ones(1)))
    raises(AttributeError, "cannot assign module before Module.__init__() call", Early, nn.ReLU())


def test_call_super_init():
    class Base:
        def __init__(self, tag):
            self.tag = tag

    class Both(nn.Module, Base):
        call_super_init = True

    assert Both("t").tag == "t"


def test_duplicates():
    shared = nn.Linear(2, 2)
    pair = nn.ModuleList([shared, shared])
    assert len(list(pair.parameters())) == 2
    assert len(list(pair.named_parameters(remove_duplicate=False))) == 4
    assert len(list(pair.modules())) == 2
    assert len(list(pair.named_modules(remove_duplicate=False))) == 3
    assert list(pair.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


# Module: state


def test_state_dict_round_trip():
    source, target = Net(), Net()
    with ingot.no_grad():
        source.fc.weight.fill_(3)
        source.scale.fill_(2)
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert_close(target.fc.weight.detach(), source.fc.weight.detach())
    assert_close(target.scale, source.scale)
    state = source.state_dict()
    assert state._metadata["fc"] == {"version": 1}
    assert not state["weight"].requires_grad and source.state_dict(keep_vars=True)["weight"] is source.weight
    assert list(source.state_dict(prefix="a."))[0] == "a.weight"
    state["weight"].fill_(9)  # shares memory
    assert float(source.weight.detach()[0]) == 9


def test_load_state_dict_errors():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))
    expected = (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.bias", "1.weight", "1.bias". \n'
        '\tUnexpected key(s) in state_dict: "z". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([3, 3]) from checkpoint, the shape in "
        "current model is torch.Size([3, 2])."
    )
    raises(RuntimeError, expected, net.load_state_dict, {"0.weight": ingot.ones(3, 3), "z": ingot.ones(1)})
    found = net.load_state_dict({"0.weight": ingot.ones(3, 2), "z": 1}, strict=False)
    assert found.missing_keys == ["0.bias", "1.weight", "1.bias"] and found.unexpected_keys == ["z"]
    raises(TypeError, "Expected state_dict to be dict-like, got <class 'int'>.", net.load_state_dict, 3)
    with pytest.raises(RuntimeError, match='While copying the parameter named "0.weight", expected torch.Tensor'):
        net.load_state_dict({"0.weight": 3}, strict=False)


def test_load_state_dict_assign():
    net = nn.Linear(2, 3, device="meta")
    state = {"weight": ingot.ones(3, 2), "bias": ingot.zeros(3)}
    with pytest.warns(UserWarning, match="which is a no-op"):
        net.load_state_dict(state)
    net.load_state_dict(state, assign=True)
    assert isinstance(net.weight, nn.Parameter) and net.weight.requires_grad and net.weight.device.type == "cpu"
    assert net.weight.data_ptr() == state["weight"].data_ptr()


def test_extra_state_and_hooks():
    class Counted(nn.Linear):
        count = 5

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = Counted(1, 1), Counted(1, 1)
    source.count = 7
    assert "_extra_state" in source.state_dict()
    target.load_state_dict(source.state_dict())
    assert target.count == 7
    seen = []
    source.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(("pre", prefix)))
    source.register_state_dict_post_hook(lambda module, state, prefix, meta: seen.append(("post", prefix)))
    target.register_load_state_dict_pre_hook(lambda module, state, *rest: seen.append("load"))
    handle = target.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = nn.Sequential(source).state_dict()
    assert seen == [("pre", "0."), ("post", "0.")]
    target.load_state_dict({k[2:]: v for k, v in state.items() if "bias" not in k})
    assert seen[-1] == "load"
    handle.remove()
    with pytest.raises(RuntimeError, match="Missing key"):
        target.load_state_dict({})


def test_old_batch_norm_state():
    norm = nn.BatchNorm1d(2)
    state = OrderedDict((k, v) for k, v in norm.state_dict().items() if k != "num_batches_tracked")
    norm.load_state_dict(state)  # written before the counter existed


# Module: changing


def test_conversions():
    net = Net()
    net.register_buffer("steps", ingot.tensor(0))
    weight = net.weight
    assert net.double() is net and net.weight is weight
    assert net.weight.dtype == net.scale.dtype == ingot.float64 and net.steps.dtype == ingot.int64
    for name, dtype in (("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32")):
        getattr(net, name)()
        assert str(net.fc.weight.dtype) == f"torch.{dtype}"
    net.to(ingot.float64).to("cpu").to(ingot.ones(1), non_blocking=True)
    assert net.weight.dtype == ingot.float32 and net.weight.requires_grad and net.weight.is_leaf
    net.to(device="cpu", dtype=ingot.float64)
    assert net.weight.dtype == ingot.float64
    expected = "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64"
    raises(TypeError, expected, net.to, ingot.int64)
    assert net.to("meta").weight.is_meta and net.to_empty(device="cpu").weight.device.type == "cpu"
    with pytest.raises(NotImplementedError, match="no shared-memory tensors"):
        net.share_memory()


def test_modes_and_grads():
    net = nn.Sequential(Net(), nn.Dropout())
    assert not net.eval().training and not net[0].fc.training and net.train().training
    raises(ValueError, "training mode is expected to be boolean", net.train, 1)
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    net.requires_grad_()
    net[0](ingot.ones(1, 2)).sum().backward()
    assert net[0].weight.grad is not None
    net.zero_grad(set_to_none=False)
    assert float(net[0].weight.grad.abs().sum()) == 0
    net.zero_grad()
    assert net[0].weight.grad is None
    order = []
    net.apply(lambda module: order.append(type(module).__name__))
    assert order == ["Linear", "Net", "Dropout", "Sequential"]


def test_grad_follows_conversion():
    layer = nn.Linear(2, 2)
    layer(ingot.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype == ingot.float64


def test_deepcopy_and_pickle():
    net = nn.Sequential(Net(), nn.BatchNorm1d(3))
    net[0].register_forward_hook(print)
    other = copy.deepcopy(net)
    assert other[0].weight is not net[0].weight and isinstance(other[0].weight, nn.Parameter)
    assert_close(other[0].fc.weight.detach(), net[0].fc.weight.detach())
    assert len(other[0]._forward_hooks) == 1
    with ingot.no_grad():
        other[0].weight.fill_(5)
    assert float(net[0].weight.detach()[0]) == 1
    loaded = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))))
    assert isinstance(loaded[0].weight, nn.Parameter) and loaded[0].weight.requires_grad
    assert loaded(ingot.ones(2, 2)).shape == (2, 3)


def test_shared_parameter_survives_deepcopy():
    a = nn.Linear(2, 2)
    b = nn.Linear(2, 2)
    b.weight = a.weight
    copied = copy.deepcopy(nn.ModuleList([a, b]))
    assert copied[0].weight is copied[1].weight and copied[0].weight is not a.weight


# Hooks


def test_forward_hooks():
    net, seen = Net(), []
    first = net.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {**kwargs, "times": 3}), with_kwargs=True, prepend=True
    )
    net.register_forward_hook(lambda module, args, out: seen.append("plain"))
    net.register_forward_hook(lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True, prepend=True)
    net.register_forward_hook(lambda module, args, out: out + 1)
    x = ingot.ones(1, 2)
    expected = net.forward(x * 2) * 3 + 1
    assert_close(net(x), expected)
    assert seen == [{"times": 3}, "plain"]
    first.remove()
    assert_close(net(x), net.forward(x) * 3 + 1)
    with net.register_forward_hook(lambda module, args, out: out * 0):
        assert float(net(x).abs().sum()) == 0
    assert float(net(x).abs().sum()) != 0


def test_pre_hook_errors():
    net = Net()
    net.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(
        RuntimeError, match="forward pre-hook must return None or a tuple of \\(new_args, new_kwargs\\)"
    ):
        net(ingot.ones(1, 2))


def test_always_called_hook():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    net, seen = Broken(), []
    net.register_forward_hook(lambda module, args, out: seen.append("never"))
    net.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        net(1)
    assert seen == [None]


def test_hooks_of_all_modules():
    from ingot.nn.modules import module as m

    seen = []
    handles = [
        m.register_module_forward_pre_hook(lambda module, args: seen.append("pre " + type(module).__name__)),
        m.register_module_forward_hook(lambda module, args, out: seen.append("post " + type(module).__name__)),
        m.register_module_parameter_registration_hook(lambda module, name, value: seen.append(name)),
    ]
    nn.Sequential(nn.Linear(1, 1))(ingot.ones(1, 1))
    for handle in handles:
        handle.remove()
    nn.Linear(1, 1)(ingot.ones(1, 1))
    assert seen == ["weight", "bias", "pre Sequential", "pre Linear", "post Linear", "post Sequential"]


def test_full_backward_hooks():
    layer, seen = nn.Linear(2, 1, bias=False), []
    with ingot.no_grad():
        layer.weight.copy_(ingot.tensor([[2.0, 3.0]]))
    layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 10,))
    layer.register_full_backward_hook(lambda module, inputs, outputs: seen.append((inputs, outputs)))
    x = ingot.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert_close(x.grad, ingot.tensor([[20.0, 30.0]]))
    assert_close(seen[0][0][0], ingot.tensor([[20.0, 30.0]]))
    assert_close(seen[0][1][0], ingot.tensor([[10.0]]))
    layer.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 0,))
    x.grad = None
    layer(x).sum().backward()
    assert_close(x.grad, ingot.zeros(1, 2))
    seen.clear()
    plain = nn.Linear(2, 1)
    plain.register_full_backward_hook(lambda module, inputs, outputs: seen.append(inputs))
    plain(ingot.ones(1, 2)).sum().backward()
    assert seen == [(None,)]


# Containers


def test_sequential():
    net = nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU()))
    assert net.a is net[0] and net[-1] is net.b and len(net) == 2
    assert isinstance(net[:1], nn.Sequential) and list(net[:1]._modules) == ["a"]
    net.append(nn.Linear(3, 1))
    assert list(net._modules) == ["a", "b", "2"]
    assert len(net + nn.Sequential(nn.ReLU())) == 3 + 1 and len(nn.Sequential(nn.ReLU()) * 3) == 3
    del net[1]
    assert [type(m).__name__ for m in net] == ["Linear", "Linear"]
    net.insert(0, nn.Tanh())
    assert isinstance(net.pop(0), nn.Tanh)
    raises(IndexError, "index 5 is out of range", lambda: net[5])
    net[0] = nn.Identity()
    assert isinstance(net[0], nn.Identity)


def test_module_list_and_dict():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.extend([nn.ReLU(), nn.Tanh()])
    layers += [nn.Identity()]
    layers.insert(1, nn.Sigmoid())
    names = [type(m).__name__ for m in layers]
    assert names == ["Linear", "Sigmoid", "ReLU", "Tanh", "Identity"] and len(layers[1:3]) == 2
    del layers[0]
    assert type(layers[0]).__name__ == "Sigmoid" and list(layers._modules) == ["0", "1", "2", "3"]
    expected = "ModuleList.extend should be called with an iterable, but got int"
    raises(TypeError, expected, layers.extend, 3)
    table = nn.ModuleDict([("x", nn.ReLU())])
    table.update({"y": nn.Linear(1, 2)})
    table["z"] = nn.Tanh()
    assert list(table) == ["x", "y", "z"] and "y" in table and len(table) == 3
    assert isinstance(table.pop("x"), nn.ReLU) and list(table.keys()) == ["y", "z"]
    expected = "ModuleDict update sequence element #0 has length 1; 2 is required"
    raises(ValueError, expected, table.update, [["a"]])


def test_parameter_list_and_dict():
    values = nn.ParameterList([ingot.ones(2), 3])
    values.append(nn.Parameter(ingot.zeros(1)))
    assert isinstance(values[0], nn.Parameter) and values[1] == 3 and len(values) == 3
    assert [n for n, _ in values.named_parameters()] == ["0", "2"] and len(values[:2]) == 2
    assert repr(values) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2]\n    (1): Object of type: int\n"
        "    (2): Parameter containing: [torch.float32 of size 1]\n)"
    )
    table = nn.ParameterDict({"a": ingot.ones(2)})
    table["b"] = ingot.zeros(3)
    table.update([("c", 5)])
    assert list(table) == ["a", "b", "c"] and list(table.state_dict()) == ["a", "b"]
    assert table.pop("c") == 5 and "c" not in table and table.get("zz") is None
    assert sorted((table | {"d": ingot.ones(1)}).keys()) == ["a", "b", "d"]
    assert repr(table).splitlines()[1] == "    (a): Parameter containing: [torch.FloatTensor of size 2]"


# Lazy layers


@pytest.mark.parametrize(
    "lazy, shape, done",
    [
        ("LazyLinear(3)", (2, 5), "Linear(in_features=5, out_features=3, bias=True)"),
        ("LazyConv1d(4, 3)", (2, 5, 7), "Conv1d(5, 4, kernel_size=(3,), stride=(1,))"),
        (
            "LazyConv2d(4, 3, groups=2, bias=False)",
            (2, 6, 5, 5),
            "Conv2d(6, 4, kernel_size=(3, 3), stride=(1, 1), groups=2, bias=False)",
        ),
        ("LazyConv3d(4, 1)", (6, 2, 2, 2), "Conv3d(6, 4, kernel_size=(1, 1, 1), stride=(1, 1, 1))"),
        (
            "LazyConvTranspose2d(4, 2, 2)",
            (1, 3, 4, 4),
            "ConvTranspose2d(3, 4, kernel_size=(2, 2), stride=(2, 2))",
        ),
        (
            "LazyBatchNorm1d()",
            (4, 3),
            "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ),
        (
            "LazyBatchNorm2d(affine=False)",
            (2, 3, 2, 2),
            "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=True)",
        ),
        (
            "LazyInstanceNorm1d()",
            (2, 3, 4),
            "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ),
    ],
)
def test_lazy(lazy, shape, done):
    layer = eval(f"nn.{lazy}", {"nn": nn})
    assert layer.has_uninitialized_params() or "affine=False" in lazy
    with later_operators():
        layer(ingot.ones(*shape))
    assert repr(layer) == done and type(layer).__name__ == done.partition("(")[0]
    assert all(type(p) is nn.Parameter for p in layer.parameters())
    assert not layer._forward_pre_hooks and not layer._load_state_dict_pre_hooks


def test_lazy_rules():
    layer = nn.LazyLinear(3)
    assert repr(layer) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert repr(layer.weight) == "<UninitializedParameter>" and isinstance(layer.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        layer.weight.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        layer.weight + 1
    other = copy.deepcopy(layer)
    other.load_state_dict(nn.Linear(4, 3).state_dict())
    assert other.weight.shape == (3, 4)
    assert other(ingot.ones(1, 4)).shape == (1, 3) and isinstance(other, nn.Linear)
    assert isinstance(layer, nn.modules.lazy.LazyModuleMixin) and layer.has_uninitialized_params()
    assert layer.double()(ingot.ones(1, 2, dtype=ingot.float64)).dtype == ingot.float64


def test_lazy_state_dict_of_uninitialized():
    layer = nn.LazyLinear(3)
    assert isinstance(layer.state_dict()["weight"], nn.UninitializedParameter)
    loaded = pickle.loads(pickle.dumps(layer.weight))
    assert isinstance(loaded, nn.UninitializedParameter)


def test_own_lazy_module():
    class Own(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            if self.has_uninitialized_params():
                with ingot.no_grad():
                    self.scale.materialize(x.shape[-1:])
                    self.scale.fill_(2)

        def forward(self, x):
            return x * self.scale

    assert_close(Own()(ingot.ones(2, 3)).detach(), ingot.ones(2, 3) * 2)


# Parameters


def test_parameter():
    x = ingot.ones(2, 3)
    p = nn.Parameter(x)
    assert p.requires_grad and p.is_leaf and isinstance(p, ingot.Tensor) and p.data_ptr() == x.data_ptr()
    assert type(p + 1) is ingot.Tensor and type(p.detach()) is ingot.Tensor
    assert repr(nn.Parameter(ingot.ones(2), False)) == "Parameter containing:\ntensor([1., 1.])"
    assert not nn.Parameter(x, requires_grad=False).requires_grad
    assert nn.Parameter().numel() == 0
    other = copy.deepcopy(p)
    assert type(other) is nn.Parameter and other.data_ptr() != p.data_ptr()
    loaded = pickle.loads(pickle.dumps(p))
    assert type(loaded) is nn.Parameter and loaded.requires_grad


def test_registering_a_result():
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' object to parameter 'w'"):
        nn.Module().register_parameter("w", nn.Parameter(ingot.ones(1)) * 2)


# Functional forms: errors


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: F.dropout(x, 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5"),
        (lambda x: nn.Dropout(-1), ValueError, "dropout probability has to be between 0 and 1, but got -1"),
        (
            lambda x: F.batch_norm(x[:1], None, None, training=True),
            ValueError,
            "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])",
        ),
        (lambda x: nn.BatchNorm2d(3)(x), ValueError, "expected 4D input (got 2D input)"),
        (lambda x: nn.BatchNorm1d(3)(x[0]), ValueError, "expected 2D or 3D input (got 1D input)"),
        (lambda x: F.interpolate(x[None]), ValueError, "either size or scale_factor should be defined"),
        (lambda x: F.mse_loss(x, x, reduction="x"), ValueError, "x is not a valid value for reduction"),
        (lambda x: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (
            lambda x: nn.Conv2d(3, 4, 3, stride=2, padding="same"),
            ValueError,
            "padding='same' is not supported for strided convolutions",
        ),
        (lambda x: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
        (
            lambda x: nn.LSTM(4, 2)(x[None]),
            RuntimeError,
            "input.size(-1) must be equal to input_size. Expected 4, got 3",
        ),
        (
            lambda x: nn.GRU(3, 2)(x[None], ingot.ones(1, 1, 2)),
            RuntimeError,
            "Expected hidden size (1, 2, 2), got [1, 1, 2]",
        ),
        (lambda x: nn.GroupNorm(2, 3), ValueError, "num_channels (3) must be divisible by num_groups (2)"),
        (lambda x: nn.MultiheadAttention(5, 2), AssertionError, "embed_dim must be divisible by num_heads"),
        (lambda x: nn.init.calculate_gain("x"), ValueError, "Unsupported nonlinearity x"),
        (lambda x: nn.init.eye_(x[0]), ValueError, "Only tensors with 2 dimensions are supported"),
    ],
)
def test_errors(call, error, message):
    raises(error, message, call, ingot.ones(2, 3))


def test_softmax_without_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        F.softmax(ingot.ones(2, 3))


def test_inplace():
    x = ingot.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x and x.tolist() == [0.0, 2.0]


# Recurrent layers and sequences


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_equals_separate(kind):
    from ingot.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True)
    lengths = [2, 5, 3]
    x = nn_cases.wave(ingot, (5, 3, 3), 1)
    packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1, 1]
    out, state = layer(packed)
    padded, found = pad_packed_sequence(out)
    assert found.tolist() == lengths and padded.shape == (5, 3, 8)
    state = state[0] if kind == "LSTM" else state
    for i, n in enumerate(lengths):
        alone, last = layer(x[:n, i : i + 1])
        last = last[0] if kind == "LSTM" else last
        assert_close(padded[:n, i], alone[:, 0], rtol=1e-5, atol=1e-6)
        assert_close(state[:, i], last[:, 0], rtol=1e-5, atol=1e-6)
        assert float(padded[n:, i].abs().sum()) == 0


def test_sequences():
    from ingot.nn.utils import rnn

    parts = [ingot.ones(3, 2), ingot.ones(1, 2) * 2]
    assert rnn.pad_sequence(parts).shape == (3, 2, 2)
    padded = rnn.pad_sequence(parts, batch_first=True, padding_value=9.0)
    assert padded[1].tolist() == [[2.0, 2.0], [9.0, 9.0], [9.0, 9.0]]
    left = rnn.pad_sequence(parts, batch_first=True, padding_side="left")
    assert left[1].tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    packed = rnn.pack_sequence(parts)
    assert packed.data.shape == (4, 2) and packed.batch_sizes.tolist() == [2, 1, 1]
    for a, b in zip(rnn.unpack_sequence(packed), parts):
        assert_close(a, b)
    assert packed.double().data.dtype == ingot.float64
    with pytest.raises(ValueError, match="Expected total_length to be at least the length of the longest sequence"):
        rnn.pad_packed_sequence(packed, total_length=2)
    unsorted = rnn.pack_sequence(parts[::-1], enforce_sorted=False)
    for a, b in zip(rnn.unpack_sequence(unsorted), parts[::-1]):
        assert_close(a, b)


def test_attention_masks():
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = nn_cases.wave(ingot, (2, 4, 8), 2)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    with later_operators():
        out, weights = layer(x, x, x, attn_mask=mask)
    assert weights.shape == (2, 4, 4) and float(weights.detach().triu(1).abs().sum()) == 0
    fast, none = layer(x, x, x, attn_mask=mask, need_weights=False, is_causal=True)
    assert none is None
    assert_close(fast, out, rtol=1e-5, atol=1e-6)
    padding = ingot.tensor([[False, False, False, True], [False, False, True, True]])
    out, weights = layer(x, x, x, key_padding_mask=padding, average_attn_weights=False)
    assert weights.shape == (2, 2, 4, 4) and float(weights.detach()[1, :, :, 2:].abs().sum()) == 0
    fast, _ = layer(x, x, x, key_padding_mask=padding, need_weights=False)
    assert_close(fast, out, rtol=1e-5, atol=1e-6)


# Utilities


def test_functional_call():
    from ingot.func import functional_call

    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    own = net[0].weight
    x = ingot.ones(3, 2)
    out = functional_call(net.eval(), {"0.weight": ingot.zeros(2, 2), "0.bias": ingot.zeros(2)}, (x,))
    assert_close(out.detach(), ingot.zeros(3, 2))
    assert net[0].weight is own
    tied = nn.ModuleList([net[0], net[0]])
    tied.forward = lambda x: tied[1](x)
    out = functional_call(tied, {"0.weight": ingot.zeros(2, 2), "0.bias": ingot.ones(2)}, x)
    assert_close(out.detach(), ingot.ones(3, 2))
    with pytest.raises(RuntimeError, match="Missing key"):
        functional_call(net, {"0.weight": own}, (x,), strict=True)
    with pytest.raises(ZeroDivisionError):
        functional_call(net, {"0.weight": ingot.zeros(2, 2)}, (1 / 0,))
    net.train()
    buffers = {"1.num_batches_tracked": ingot.tensor(5)}
    functional_call(net, buffers, (x,))
    assert int(buffers["1.num_batches_tracked"]) == 6 and int(net[1].num_batches_tracked) == 0


def test_clipping_and_vectors():
    from ingot.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters

    p = nn.Parameter(ingot.zeros(2))
    p.grad = ingot.tensor([3.0, 4.0])
    assert float(clip_grad_norm_([p], 1.0)) == 5.0
    assert_close(p.grad, ingot.tensor([0.6, 0.8]))
    clip_grad_value_(p, 0.7)
    assert_close(p.grad, ingot.tensor([0.6, 0.7]))
    p.grad = ingot.tensor([float("inf"), 0.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    layer = nn.Linear(2, 1)
    vector = parameters_to_vector(layer.parameters())
    vector_to_parameters(ingot.arange(3.0), layer.parameters())
    assert vector.shape == (3,) and layer.weight.tolist() == [[0.0, 1.0]] and layer.bias.tolist() == [2.0]


def test_call_observer():
    from ingot.nn.modules.module import observe

    seen = []

    def observer(module, call, args, kwargs):
        seen.append(type(module).__name__)
        return call(*args, **kwargs)

    before = observe(observer)
    try:
        nn.Sequential(nn.Linear(1, 1))(ingot.ones(1, 1))
    finally:
        assert observe(*before) == (observer, None, None)
    assert seen == ["Sequential", "Linear"]


def test_attention_backends():
    with nn.attention.sdpa_kernel([nn.attention.SDPBackend.MATH]):
        q = ingot.ones(1, 1, 2, 4)
        assert F.scaled_dot_product_attention(q, q, q).shape == (1, 1, 2, 4)


@pytest.mark.parametrize(
    ("classes", "number", "message"),
    [
        ([0, 3], 3, "Class values must be smaller than num_classes."),
        ([1], -2, "Class values must be smaller than num_classes."),
        ([0, -1], 3, "Class values must be non-negative."),
        ([4, -1], -1, "Class values must be non-negative."),
        ([], -1, "Can not infer total number of classes from empty tensor."),
    ],
)
def test_one_hot_refuses_classes_that_have_no_column(classes, number, message):
    class Hot(nn.Module):
        def forward(self, x):
            return F.one_hot(x, number)

    x = ingot.tensor(classes, dtype=ingot.int64)
    with pytest.raises(RuntimeError, match=message):
        Hot()(x)
    if number > 0:
        program = ingot.export.export(Hot(), (ingot.zeros_like(x),))
        with pytest.raises(RuntimeError, match=message):
            program.module()(x)
