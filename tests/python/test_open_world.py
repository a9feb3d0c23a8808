# SPDX-License-Identifier: Apache-2.0
"""What third-party model code uses of torch, with numbers that follow from definitions or from PyTorch 2.13."""

import pickle

import pytest

import ingot
from ingot import nn


def test_typed_constructors():
    from ingot import FloatTensor, LongTensor

    assert LongTensor([1.5, 2]).tolist() == [1, 2] and FloatTensor(2, 3).shape == (2, 3)
    assert isinstance(ingot.ones(1), FloatTensor) and not isinstance(ingot.ones(1).int(), FloatTensor)
    assert ingot.ones(1).type(LongTensor).dtype == ingot.int64 and repr(LongTensor) == "<class 'torch.LongTensor'>"
    assert ingot.ones(1).new([1, 2]).tolist() == [1.0, 2.0] and ingot.ones(1).new(2, 2).shape == (2, 2)
    with pytest.raises(TypeError, match="convert it"):
        LongTensor(ingot.ones(2))
    with pytest.raises(TypeError, match="not available. Torch not compiled with CUDA enabled"):
        ingot.cuda.FloatTensor(1)


def test_devices_that_are_absent():
    assert not ingot.cuda.is_available() and not ingot.xpu.is_available() and not ingot.mps.is_available()
    assert not ingot.distributed.is_available() and ingot.accelerator.current_accelerator() is None
    assert ingot.cuda.device_count() == 0 and ingot.cuda.memory_allocated() == 0
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        ingot.cuda.current_device()
    with pytest.raises(RuntimeError, match="without MPS backend"):
        ingot.mps.empty_cache()
    with pytest.raises(OSError, match="Could not load this library"):
        ingot.ops.load_library("/no/such.so")


def test_attention_is_fused_as_in_pytorch():
    """Which way is taken shows in the strides of the result, which captures turn into views or copies."""
    attend = nn.functional.scaled_dot_product_attention
    plain, turned = ingot.randn(1, 6, 4, 16), ingot.randn(1, 6, 16, 4).transpose(-1, -2)
    inside = ingot.randn(1, 4, 6, 16).transpose(1, 2)
    assert attend(inside, plain, plain).stride() == inside.stride() == (384, 16, 96, 1)
    for q, k, v in [(turned, plain, plain), (inside, turned, plain), (inside, plain, turned)]:
        assert attend(q, k, v).stride() == (384, 64, 16, 1)
    assert attend(inside, plain, plain, attn_mask=ingot.ones(4, 4).T).stride() == (384, 64, 16, 1)
    assert attend(inside, plain, plain, attn_mask=ingot.ones(4, 1)).stride() == inside.stride()
    both = attend(plain, plain, plain, attn_mask=ingot.ones(4, 4), is_causal=True)
    ingot.testing.assert_close(both, attend(plain, plain, plain, is_causal=True))


def test_dtypes_without_tensors():
    assert repr(ingot.uint4) == "torch.uint4" and isinstance(ingot.uint4, ingot.dtype) and ingot.bit is ingot.uint1
    assert ingot.complex32.is_complex and ingot.complex32.itemsize == 4 and ingot.chalf.to_real() == ingot.float16
    assert ingot.float16.to_complex() is ingot.complex32 and ingot.float8_e5m2fnuz.is_floating_point
    assert pickle.loads(pickle.dumps(ingot.bits16)) is ingot.bits16
    with pytest.raises(RuntimeError, match="Bits types are undefined"):
        _ = ingot.bits8.is_signed
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for UInt3"):
        ingot.uint3.to_complex()
    with pytest.raises(TypeError, match="must be torch.dtype, not .*one that Ingot has no tensors of"):
        ingot.zeros(2, dtype=ingot.uint1)
    assert ingot.dtype.itemsize.__get__(ingot.bits16) == 2  # a descriptor of the base


@pytest.mark.parametrize("name", ["_C.so", "_C_stable.so"])
def test_libraries_with_operators_of_our_own_are_not_loaded(tmp_path, name):
    library = tmp_path / "torchvision" / name
    library.parent.mkdir()
    library.write_bytes(b"")
    ingot.ops.load_library(library)
    assert ingot.ops.torchvision.nms(ingot.tensor([[0.0, 0, 1, 1]]), ingot.ones(1), 0.5).tolist() == [0]
    with pytest.raises(OSError, match="Could not load this library"):
        ingot.ops.load_library(library.with_name("_other.so"))


def test_backends_are_records_of_settings():
    with ingot.backends.cudnn.flags(enabled=False, benchmark=True):
        assert not ingot.backends.cudnn.enabled and ingot.backends.cudnn.benchmark
    assert ingot.backends.cudnn.enabled and not ingot.backends.cudnn.benchmark
    with pytest.raises(RuntimeError, match="expects a bool"):
        ingot.backends.cudnn.benchmark = 1


def test_weight_norm_and_parametrizations():
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().clone()
    nn.utils.weight_norm(layer)
    assert sorted(n for n, _ in layer.named_parameters()) == ["bias", "weight_g", "weight_v"]
    ingot.testing.assert_close(layer.weight, before)
    nn.utils.remove_weight_norm(layer)
    nn.utils.parametrizations.weight_norm(layer)
    assert type(layer).__name__ == "ParametrizedLinear"
    ingot.testing.assert_close(layer.weight, before)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    square = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
    ingot.testing.assert_close(square.weight @ square.weight.T, ingot.eye(4), atol=1e-5, rtol=0)
    normed = nn.utils.parametrizations.spectral_norm(nn.Linear(5, 4)).eval()
    assert abs(float(ingot.linalg.svdvals(normed.weight)[0]) - 1) < 0.05


def test_prune():
    layer = nn.Linear(4, 3)
    nn.utils.prune.l1_unstructured(layer, "weight", amount=5)
    assert int((layer.weight == 0).sum()) == 5 and nn.utils.prune.is_pruned(layer)
    nn.utils.prune.remove(layer, "weight")
    assert int((layer.weight == 0).sum()) == 5 and not nn.utils.prune.is_pruned(layer)


def test_flex_attention_is_attention():
    from ingot.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = ingot.randn(3, 1, 2, 8, 4).unbind()
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 8, 8, BLOCK_SIZE=4)
    expected = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    ingot.testing.assert_close(flex_attention(q, k, v, block_mask=mask), expected)
    assert mask.kv_num_blocks.tolist() == [[[1, 1]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1]]]
    biased = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.5)
    at = ingot.arange(8)
    bias = (at[:, None] - at[None, :]) * 0.5
    ingot.testing.assert_close(biased, nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n, reverse):
    from ingot._higher_order_ops.associative_scan import associative_scan

    x = ingot.randn(2, n, 3)
    found = associative_scan(lambda a, b: a + b, x, dim=1, reverse=reverse)
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    ingot.testing.assert_close(found, expected)


def test_distributions():
    from ingot import distributions as d

    normal = d.Normal(1.0, 2.0)
    assert abs(float(normal.log_prob(ingot.tensor(0.5))) + 1.64333567) < 1e-5
    assert abs(float(d.kl_divergence(normal, d.Normal(0.0, 1.0))) - 1.30685282) < 1e-5
    ingot.manual_seed(0)
    first = d.Categorical(logits=ingot.zeros(5)).sample((4,))
    ingot.manual_seed(0)
    assert first.tolist() == ingot.multinomial(ingot.full((1, 5), 0.2), 4, True)[0].tolist()
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        d.Normal(0.0, -1.0)
    wide = d.MultivariateNormal(ingot.zeros(2), ingot.eye(2))
    assert abs(float(wide.log_prob(ingot.zeros(2))) + 1.83787706) < 1e-5
    assert d.Independent(d.Normal(ingot.zeros(3), 1.0), 1).log_prob(ingot.zeros(3)).shape == ()


def test_unravel_index_and_constants():
    assert [t.tolist() for t in ingot.unravel_index(ingot.tensor([5, 7]), (2, 4))] == [[1, 1], [1, 3]]
    assert ingot.pi > 3.14 and ingot.inf > 0 and ingot.nan != ingot.nan


def test_hub_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['ingot']\ndef make(n):\n    'Makes n.'\n    return [n]\n")
    assert ingot.hub.load(str(tmp_path), "make", 3, source="local") == [3]
    assert ingot.hub.list(str(tmp_path)) == ["make"] and ingot.hub.help(str(tmp_path), "make") == "Makes n."
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        ingot.hub.load(str(tmp_path), "other", source="local")


def test_names_and_help():
    import inspect
    import pydoc

    names = dir(ingot)
    for name in ("relu", "add", "ones", "Tag", "float32", "nn", "export", "cond", "manual_seed"):
        assert name in names
    for name in ("add_", "avg_pool2d", "linalg_norm", "relu_backward", "_HOMES", "importlib", "annotations"):
        assert name not in names
    text = pydoc.plain(pydoc.render_doc(ingot.add))
    assert "add(input: 'Tensor', other: 'Tensor', *, alpha: 'Number' = 1)" in text
    assert "add(input, other, *, alpha=1, out)" in text and ">>> ingot.add(" in text
    assert list(inspect.signature(ingot.Tensor.sum).parameters) == ["input", "dtype"]
    for name in ingot._C._function_names():
        function = getattr(ingot, name)
        if isinstance(function, type(ingot.relu)):
            assert function.__doc__ and function.__signature__


def test_examples_of_help_run():
    from ingot._docs import example

    assert example("add", "f32[3,5], 2 | f32[4,2].T, f32[4,2].T") == ">>> ingot.add(ingot.randn(3, 5), 2)"
    assert example("add", "f32[4,2].T, f32[4,2].T") is None
    for name in ("relu", "add", "mm", "softmax", "cat", "sum", "clamp", "flip"):
        lines = [line for line in getattr(ingot, name).__doc__.splitlines() if ">>>" in line]
        for line in lines:
            eval(line.split(">>>")[1].strip(), {"ingot": ingot})


def test_versions_compare() -> None:
    from ingot.torch_version import TorchVersion

    version = TorchVersion("2.5.1+cpu")
    assert version >= "2.5" and version > (2, 5) and version < "2.10.0"
    assert version != "2.5.1" and version == "2.5.1+cpu"
    assert TorchVersion("2.5.0rc1") < "2.5" < TorchVersion("2.5.0.post1")
    assert TorchVersion("2.5.0") == (2, 5) and isinstance(version, str)


def test_settings_are_patched_for_a_while() -> None:
    from ingot._functorch import config

    with config.patch(unlift_effect_tokens=True):
        assert config.unlift_effect_tokens
    assert not config.unlift_effect_tokens
    with pytest.raises(AttributeError, match="torch._functorch.config.no_such_setting does not exist"):
        config.no_such_setting = 1
    assert "cse" in config.to_dict()


def test_stacks_are_taken_now_and_printed_later() -> None:
    from ingot.utils._traceback import CapturedTraceback, format_traceback_short

    text = "".join(CapturedTraceback.extract().format())
    assert "test_stacks_are_taken_now_and_printed_later" in text and "CapturedTraceback.extract()" in text
    try:
        raise ValueError
    except ValueError as error:
        assert "in test_stacks" in format_traceback_short(error.__traceback__)


def test_graphs_that_write_or_return_their_inputs() -> None:
    from ingot._higher_order_ops.utils import _has_potential_branch_input_alias, _has_potential_branch_input_mutation

    x = (ingot.ones(2),)
    assert _has_potential_branch_input_mutation(lambda x: x.view(-1).add_(1), x)
    assert not _has_potential_branch_input_mutation(lambda x: x.clone().add_(1), x)
    assert _has_potential_branch_input_alias(lambda x: x[0], x)
    assert not _has_potential_branch_input_alias(lambda x: x + 1, x)


def test_sharded_modules_can_be_asked_for() -> None:
    from ingot.distributed.fsdp import FullyShardedDataParallel

    assert not isinstance(nn.Linear(1, 1), FullyShardedDataParallel)
    with pytest.raises(RuntimeError, match="FSDP needs a non-CPU accelerator"):
        FullyShardedDataParallel(nn.Linear(1, 1))


def test_extensions_in_cpp_are_refused_in_words() -> None:
    from ingot.utils import cpp_extension

    assert cpp_extension.CUDA_HOME is None and cpp_extension.include_paths() == []
    with pytest.raises(RuntimeError, match="need PyTorch's headers"):
        cpp_extension.load("kernels", ["kernels.cpp"])


def test_names_that_packages_import_for_several_processes():
    """accelerate imports these before it asks whether there are process groups."""
    from ingot.distributed.algorithms.join import Join, Joinable
    from ingot.nn.parallel import DistributedDataParallel, data_parallel
    from ingot.nn.parallel.distributed import DistributedDataParallel as same

    assert same is DistributedDataParallel and not isinstance(ingot.nn.Linear(1, 1), DistributedDataParallel)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedDataParallel(ingot.nn.Linear(1, 1))
    with pytest.raises(ValueError, match="requires at least one joinable"):
        Join([])
    with pytest.raises(TypeError, match="abstract"):
        Joinable()
    layer = ingot.nn.Linear(2, 3)
    x = ingot.ones(1, 2)
    assert ingot.equal(data_parallel(layer, x), layer(x))


def test_flattening_functions_have_the_names_that_packages_register():
    from ingot.fx import _pytree
    from ingot.utils import _pytree as pytree

    class Cache(dict):
        pass

    def made(values, keys):
        return Cache(zip(keys, values, strict=True))

    pytree.register_pytree_node(Cache, lambda c: (list(c.values()), list(c)), made)
    _pytree.register_pytree_flatten_spec(Cache, _pytree._dict_flatten_spec, _pytree._dict_flatten_spec_exact_match)
    spec = pytree.tree_flatten(Cache(a=1, b=2))[1]
    assert _pytree.tree_flatten_spec(Cache(b=4, a=3), spec) == [3, 4]


@pytest.mark.parametrize("map_name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 3)])
def test_an_orthogonal_weight_is_a_point_and_a_base(map_name, sizes):
    """With a base, the parameter starts as -1, whatever the map; without, no base is in the state."""
    layer = ingot.nn.utils.parametrizations.orthogonal(ingot.nn.Linear(*sizes), orthogonal_map=map_name)
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original", "parametrizations.weight.0.base"]
    point = layer.parametrizations.weight.original
    assert ingot.equal(point, -ingot.eye(*point.shape))
    w = layer.weight if sizes[1] >= sizes[0] else layer.weight.mT
    assert ingot.allclose(w @ w.mT if w.shape[0] <= w.shape[1] else w.mT @ w, ingot.eye(min(sizes)), atol=1e-6)
    if map_name == "householder":
        layer = ingot.nn.utils.parametrizations.orthogonal(
            ingot.nn.Linear(*sizes), orthogonal_map=map_name, use_trivialization=False
        )
        assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]


def test_modules_without_data_are_not_moved():
    layer = ingot.nn.Linear(2, 2, device="meta")
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!.*to_empty"):
        layer.to("cpu")
    assert layer.to("meta").weight.is_meta and layer.to_empty(device="cpu").weight.device.type == "cpu"


def _distribution(name):
    from ingot import distributions as d

    t = ingot.tensor
    return {
        "ContinuousBernoulli": lambda: d.ContinuousBernoulli(t([0.3, 0.5])),
        "VonMises": lambda: d.VonMises(t([0.0]), t([4.0])),
        "LKJCholesky": lambda: d.LKJCholesky(3, 1.5),
        "LowRankMultivariateNormal": lambda: d.LowRankMultivariateNormal(
            ingot.zeros(2), t([[1.0], [0.5]]), ingot.ones(2)
        ),
        "OneHotCategoricalStraightThrough": lambda: d.OneHotCategoricalStraightThrough(t([0.2, 0.3, 0.5])),
    }[name]()


# The first draw after manual_seed(3), and the logarithm of its density, in PyTorch 2.5.1.
@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("ContinuousBernoulli", [0.00287887011654675, 0.14893049001693726]),
        ("VonMises", [-0.026760561391711235]),
        ("LKJCholesky", [1.0, 0.0, 0.0, -0.2593425214290619, 0.96578544, 0.0, 0.00046835, -0.6101307, 0.7923]),
        ("LowRankMultivariateNormal", [0.8494585156440735, -0.9666211605072021]),
        ("OneHotCategoricalStraightThrough", [1.0, 0.0, 0.0]),
    ],
)  # fmt: skip
def test_draws_of_further_distributions(name, draw):
    made = _distribution(name)
    ingot.manual_seed(3)
    found = made.sample((4,))
    if name == "ContinuousBernoulli":
        draw = [draw[0], float(found[0, 1])]  # the second parameter is on the series
        assert found[0, 1] == made.icdf(ingot.tensor([0.0, float(found[0, 1])]))[1]
    assert ingot.allclose(found[0].reshape(-1), ingot.tensor(draw), atol=1e-6)
    assert made.log_prob(found).shape == (4, *made.batch_shape)


def test_low_rank_normal_is_the_normal_of_its_covariance():
    from ingot import distributions as d

    low = _distribution("LowRankMultivariateNormal")
    full = d.MultivariateNormal(low.loc, low.covariance_matrix)
    x = ingot.randn(5, 2)
    assert ingot.allclose(low.log_prob(x), full.log_prob(x), atol=1e-5)
    assert ingot.allclose(low.entropy(), full.entropy()) and ingot.allclose(low.variance, full.variance)
    assert ingot.allclose(low.precision_matrix @ low.covariance_matrix, ingot.eye(2), atol=1e-6)


@pytest.mark.parametrize("name", ["ContinuousBernoulli", "VonMises"])
def test_densities_have_the_integral_one(name):
    made = _distribution(name)
    low, high = (0.0, 1.0) if name == "ContinuousBernoulli" else (-ingot.pi, ingot.pi)
    x = ingot.linspace(low, high, 20001)[:, None].clamp(1e-6 if low == 0 else low, high)
    density = made.log_prob(x.expand(-1, *made.batch_shape)).exp()
    assert ingot.allclose(ingot.trapezoid(density, x.expand_as(density), dim=0), ingot.tensor(1.0), atol=1e-3)
    mean = ingot.trapezoid(density * x, x.expand_as(density), dim=0)
    assert ingot.allclose(mean, made.mean, atol=1e-3)


def test_transforms_of_regions():
    from ingot import distributions as d

    c = d.constraints
    x = ingot.randn(4, 3)
    for region in (c.simplex, c.corr_cholesky, c.positive, c.interval(1, 3), c.less_than(2.0), c.unit_interval):
        to = d.biject_to(region)
        y = to(x)
        assert region.check(y).all(), region
        assert ingot.allclose(to.inv(y), x, atol=1e-4), region
        assert to.log_abs_det_jacobian(x, y).shape == (x.shape[: x.dim() - to.domain.event_dim])
    square = ingot.randn(3, 3)
    assert c.positive_definite.check(d.transform_to(c.positive_definite)(square))
    assert d.transform_to(c.simplex)(x).sum(-1).allclose(ingot.ones(4))
    with pytest.raises(NotImplementedError, match="Cannot transform _LowerCholesky constraints"):
        d.biject_to(c.lower_cholesky)
    with pytest.raises(TypeError, match="Expected constraint to be either"):
        d.biject_to.register(3, lambda region: None)
    cat = d.transforms.CatTransform(
        [d.transforms.ExpTransform(), d.transforms.identity_transform], dim=1, lengths=[1, 2]
    )
    assert ingot.equal(cat(x)[:, :1], x[:, :1].exp()) and ingot.allclose(cat.inv(cat(x)), x)


def test_divergences_of_draws():
    """A divergence is the mean of a difference of logarithms."""
    from ingot import distributions as d

    t = ingot.tensor
    ingot.manual_seed(0)
    for p, q in [
        (d.Beta(t(2.0), t(3.0)), d.Beta(t(1.0), t(2.0))), (d.Gumbel(t(0.0), t(1.0)), d.Gumbel(t(1.0), t(2.0))),
        (d.Geometric(t(0.3)), d.Geometric(t(0.5))), (d.Cauchy(t(0.0), t(1.0)), d.Cauchy(t(1.0), t(2.0))),
        (d.Gamma(t(2.0), t(1.0)), d.Exponential(t(1.0))), (d.Uniform(t(0.0), t(1.0)), d.Normal(t(0.0), t(1.0))),
        (d.ContinuousBernoulli(t(0.2)), d.ContinuousBernoulli(t(0.6))),
        (d.Laplace(t(0.0), t(1.0)), d.Normal(t(1.0), t(1.0))),
        (d.Binomial(5, t(0.2)), d.Binomial(5, t(0.4))), (d.Pareto(t(2.0), t(3.0)), d.Pareto(t(1.0), t(4.0))),
    ]:  # fmt: skip
        x = p.sample((200000,))
        found = (p.log_prob(x) - q.log_prob(x)).mean()
        assert abs(d.kl_divergence(p, q) - found) < 0.03, (p, q)
    assert d.kl_divergence(d.Normal(0.0, 1.0), d.Gamma(1.0, 1.0)) == float("inf")


def test_what_discrete_distributions_add_up():
    from ingot import distributions as d

    binomial = d.Binomial(10, ingot.tensor([0.2, 0.6]))
    assert ingot.allclose(binomial.entropy(), ingot.tensor([1.6219291687, 1.8535549641]))
    assert binomial.enumerate_support().shape == (11, 2)
    assert d.OneHotCategorical(ingot.ones(3)).enumerate_support().tolist() == ingot.eye(3).tolist()
    multinomial = d.Multinomial(10, ingot.tensor([0.2, 0.3, 0.5]))
    assert ingot.allclose(multinomial.entropy(), ingot.tensor(3.3412208557))
    assert repr(d.constraints.real_vector) == "IndependentConstraint(Real(), 1)"
    half = d.HalfNormal(ingot.tensor([2.0]))
    assert ingot.allclose(half.icdf(half.cdf(ingot.tensor([1.5]))), ingot.tensor([1.5])) and half.mode == 0
    wishart = d.Wishart(ingot.tensor([4.0]), ingot.eye(2)[None])
    assert ingot.allclose(wishart.precision_matrix, ingot.eye(2)) and wishart.entropy().shape == (1,)
