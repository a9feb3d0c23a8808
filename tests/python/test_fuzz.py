# SPDX-License-Identifier: Apache-2.0
"""Random calls never kill the interpreter (fuzz_calls.py says what is called)."""

import pytest

import fuzz_calls
import ingot


@pytest.mark.parametrize("seed", [101, 102, 103, 104])
def test_calls(seed):
    code, text = fuzz_calls.finish(fuzz_calls.child(seed, 1500, log=False), 300)
    assert code == 0, fuzz_calls.explain(seed, 1500)
    assert "'ok'" in text


@pytest.mark.parametrize("name", ["pt2_extra", "pt2_examples", "pt2_facts", "pt2_calls", "pt2_texts"])
def test_programs_are_asked_for_their_type(name):
    with pytest.raises(TypeError, match="expected a Program, found Tensor"):
        getattr(ingot._C, name)(ingot.ones(2))


def test_fake_mode_token():
    with pytest.raises(TypeError, match="fake_mode_enter"):
        ingot._C.fake_mode_exit(5)


# ---- what the random programs found


def test_one_number_stands_for_all_of_a_list():
    """A list of fixed length may have one number; what reads the others must find it there."""
    x, at = ingot.ones(1, 1, 2, 2), ingot.tensor([[[[0, 3], [8, 15]]]])
    short = ingot.ops.aten.max_unpool2d.default(x, at, [4])
    assert short.tolist() == ingot.ops.aten.max_unpool2d.default(x, at, [4, 4]).tolist()


def test_no_random_numbers_into_elements_that_share_memory():
    for tensor in (ingot.zeros(1).expand(3), ingot.zeros((), dtype=ingot.bool).expand(2**40, 4)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            tensor.bernoulli_(0.5)


def test_a_conversion_without_memory_is_refused():
    with pytest.raises((RuntimeError, MemoryError)):
        ingot.special.multigammaln(ingot.ones((), dtype=ingot.int64).expand(2**40, 3), 1)


def test_a_self_that_is_not_read_takes_part_in_the_dtype():
    """addr with beta=0: the result has the promoted dtype, with and without a history."""
    vector = ingot.ones(3, dtype=ingot.bfloat16)
    for grad in (False, True):
        self = ingot.zeros((), dtype=ingot.float16, requires_grad=grad)
        for beta in (0, 1):
            assert ingot.addr(self, vector, vector, beta=beta).dtype is ingot.float32
        assert ingot.addr(self.to("meta"), vector.to("meta"), vector.to("meta"), beta=0).dtype is ingot.float32


def test_results_are_rounded_before_they_are_converted():
    """out= of another dtype gets what the result without out= would be."""
    x, y = ingot.tensor(1.3, dtype=ingot.bfloat16), ingot.tensor(2.7, dtype=ingot.bfloat16)
    out = ingot.empty((), dtype=ingot.float16)
    assert ingot.hypot(x, y, out=out).item() == ingot.hypot(x, y).item() == 3.0
    big = ingot.full((2,), 200, dtype=ingot.uint8)
    assert ingot.add(big, big, out=ingot.empty(2, dtype=ingot.int16)).tolist() == [144, 144]


def test_lists_of_a_padded_convolution_have_its_dimensions():
    """Lists of another length are refused, those without entries included."""
    x, w = ingot.ones(1, 1, 3, 3, 3), ingot.ones(1, 1, 1, 1, 1)
    for lists in ({"stride": [1, 1]}, {"dilation": [1, 1]}, {"stride": []}, {"dilation": []}):
        with pytest.raises(RuntimeError, match="to be a single .*value or a list of 3 values"):
            ingot.ops.aten.conv3d.padding(x, w, None, padding="same", **lists)


def test_averages_of_integers_wrap():
    """The sum of the smallest numbers, and the smallest number divided by -1, have no int64."""
    least = ingot.full((1, 1, 2, 2), -(2**63), dtype=ingot.int64)
    assert ingot.ops.aten.avg_pool2d.default(least, [1, 2], [1, 1]).flatten().tolist() == [0, 0]
    negated = ingot.ops.aten.avg_pool2d.default(least, [1, 1], [1, 1], [0, 0], False, True, -1)
    assert negated.flatten().tolist() == [-(2**63)] * 4


def test_windows_may_be_far_larger_than_what_they_look_at():
    """Only the part of a window that meets the input costs time, and its size must be a number."""
    x = ingot.arange(16.0).reshape(1, 1, 4, 4)
    kernel, padding = [2**31 - 1] * 2, [2**30 - 1] * 2
    highest = ingot.ops.aten.max_pool2d.default(x, kernel, [1, 1], padding)
    assert highest.shape == (1, 1, 4, 4) and set(highest.flatten().tolist()) == {15.0}
    mean = ingot.ops.aten.avg_pool2d.default(x, kernel, [1, 1], padding, False, True, 1)
    assert set(mean.flatten().tolist()) == {120.0}
    volume, grad = ingot.ones(1, 1, 4, 4, 4), ingot.ones(1, 1, 5, 5, 5)
    with pytest.raises(RuntimeError, match="too many elements"):
        ingot.ops.aten.avg_pool3d_backward.default(
            grad, volume, [2**22] * 3, [1] * 3, [2**21] * 3, False, True, None)  # fmt: skip


def test_places_of_maxima_have_the_sizes_of_the_values():
    with pytest.raises(RuntimeError, match="indices of the shape of the input"):
        ingot.ops.aten.max_unpool2d.default(ingot.ones(1, 1, 2, 2), ingot.tensor([[[[0, 1]]]]), [4, 4])


def test_rows_without_elements_cost_nothing():
    empty = ingot.zeros(1, 0, 3).expand(2**40, 0, 3)
    assert empty.softmax(1).shape == empty.log_softmax(1).shape == (2**40, 0, 3)
    assert ingot.zeros(0, 1).expand(0, 2**40).softmax(0).numel() == 0
    assert ingot.geqrf(empty)[1].shape == (2**40, 0)
    square = ingot.zeros(1, 0, 0).expand(2**40, 0, 0)
    assert ingot.linalg.matrix_exp(square).shape == (2**40, 0, 0)
    assert ingot.linalg.householder_product(square, ingot.zeros(1, 0).expand(2**40, 0)).numel() == 0
    planes = ingot.zeros(1, 2, 0).expand(2**40, 2, 0)
    assert ingot.fft.rfft(planes, dim=1).shape == ingot.fft.ihfft(planes, dim=1).shape == (2**40, 2, 0)
    assert ingot.fft.fft(planes, n=4, dim=1).shape == (2**40, 4, 0)


def test_series_that_begin_far_below_zero_are_short():
    """Term by term they took as long as the number is large, or its size in stack."""
    x = ingot.tensor([-1000.5, -1e6 - 0.3, -1e15 - 0.5], dtype=ingot.float64)
    ingot.testing.assert_close(ingot.polygamma(1, x)[:2], ingot.tensor([9.868605400173438, 15.0794126], dtype=x.dtype))
    ingot.testing.assert_close(ingot.polygamma(3, x)[:2], ingot.tensor([194.818182066, 769.0209138799], dtype=x.dtype))
    assert ingot.polygamma(2, x)[2] == 0
    below = ingot.special.zeta(ingot.tensor([3.0, 4.0], dtype=x.dtype), ingot.tensor([-63.7, -64.7], dtype=x.dtype))
    ingot.testing.assert_close(below, ingot.tensor([34.4189, 128.1702], dtype=x.dtype), rtol=1e-5, atol=0)


def test_a_view_that_is_a_leaf_is_not_written_through_its_views():
    """Writing would make the base depend on the leaf and the leaf on the base: a cycle that is never freed."""
    leaf = ingot.ones(2, 3).t().requires_grad_()
    for written in (leaf, leaf[0]):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            written.mul_(2)


def test_a_base_is_not_written_from_a_leaf_that_is_its_view():
    """The base would own a history that owns the leaf, which owns the base: a cycle that is never freed."""

    class Copy(ingot.autograd.Function):
        @staticmethod
        def forward(ctx, to, source):
            ctx.mark_dirty(to)
            return to.copy_(source)

        @staticmethod
        def backward(ctx, grad):
            return None, grad

    base = ingot.ones(2, 3)
    leaf = base.t().requires_grad_()
    with pytest.raises(RuntimeError, match="mul_: .* is a view of the tensor being written"):
        base[0].mul_((leaf * 2)[:, 0])
    with pytest.raises(RuntimeError, match="is a view of the tensor being written"):
        Copy.apply(base, (leaf * 2).t())
    base[1].mul_(ingot.full((3,), 2.0, requires_grad=True))  # no leaf of its own
    assert base.requires_grad and not leaf.is_leaf


def test_a_real_out_is_not_written_from_fake_operands():
    """It would get memory that nothing is written to, and show what was there before."""
    with ingot._subclasses.FakeTensorMode():
        fake = ingot.ones(3, dtype=ingot.bool)
    out = ingot.empty(0, dtype=ingot.bool)
    with pytest.raises(RuntimeError, match="cannot be written from a fake one"):
        ingot.logical_or(fake, fake, out=out)
    assert out.shape == (0,)


PAIRS = "eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and add mul maximum minimum fmax fmin clamp_min"


@pytest.mark.parametrize("transposed", [False, True])
def test_any_byte_but_zero_is_true(transposed):
    """Memory that was never a bool can be seen as one; no kernel may count or keep the bytes themselves."""
    bytes_ = ingot.tensor([[6, 0, 1], [255, 2, 0]], dtype=ingot.uint8)
    other = ingot.tensor([[True, True, True], [True, False, False]])
    if transposed:
        bytes_, other = bytes_.t(), other.t()
    odd, clean = bytes_.view(ingot.bool), bytes_ != 0
    for name in PAIRS.split():
        found, wanted = (getattr(ingot, name)(x, other).view(ingot.uint8) for x in (odd, clean))
        assert found.tolist() == wanted.tolist(), name
    for name in "logical_not bitwise_not sign max min any all".split():
        found, wanted = (getattr(ingot, name)(x).view(ingot.uint8) for x in (odd, clean))
        assert found.tolist() == wanted.tolist(), name
    for name in "sum prod nonzero count_nonzero argwhere".split():
        assert getattr(ingot, name)(odd).tolist() == getattr(ingot, name)(clean).tolist(), name
    numbers = ingot.arange(6).reshape(odd.shape)
    assert numbers[odd].tolist() == ingot.masked_select(numbers, odd).tolist() == numbers[clean].tolist()
    assert odd.any(0).view(ingot.uint8).tolist() == clean.any(0).view(ingot.uint8).tolist()
    assert odd.sum(1).tolist() == clean.sum(1).tolist()
    spread = numbers.masked_scatter(odd, numbers).tolist()
    assert spread == numbers.masked_scatter(clean, numbers).tolist()


def test_a_dilation_may_reach_far_beyond_the_input():
    """Only the taps that meet the input count, and no memory is taken for what lies between them."""
    x, w = ingot.rand(1, 3, 6, 5), ingot.rand(2, 3, 3, 2)
    far = ingot.ops.aten.conv2d.padding(x, w, None, padding="same", dilation=[2**31 - 1, 1])
    near = ingot.ops.aten.conv2d.padding(x, w[:, :, 1:2], None, padding="same")
    assert ingot.allclose(far, near)
    x, w = ingot.ones(1, 2, 4), ingot.ones(2, 1, 2)
    beside = ingot.ops.aten.conv1d.default(x, w, None, [1], [2**30], [2**31 - 1], 2)
    assert beside.shape == (1, 2, 5) and not beside.any()


def test_a_result_that_is_a_view_of_what_is_written():
    """conj_physical of real numbers is its operand, here one that overlaps `out` in memory."""
    for copies in (1, 40):
        memory = ingot.arange(4.0 + 2 * copies)
        view = memory.as_strided((2, 1 + copies), (1, 1))
        wanted = view.clone()
        out = ingot.conj_physical(view, out=memory[1 : 2 + copies])
        assert out.tolist() == wanted.tolist()
        memory = ingot.arange(4.0 + 2 * copies)
        memory.as_strided((2, copies), (copies + 1, 1), 1).copy_(memory.as_strided((2, copies), (copies + 1, 1)))
        assert memory[1].item() == 0


def test_types_of_schemas_and_of_scripts_are_told_apart(monkeypatch):
    """Both have classes of the same names, with other contents: one taken for the other crashed."""
    schema = ingot.ops.aten.sum.dim_IntList._schema
    assert [str(a.type) for a in schema.arguments] == ["Tensor", "Optional[List[int]]", "bool", "Optional[int]"]
    tensors = ingot._C.ListType.ofTensors()
    monkeypatch.setattr(ingot._C, "TensorType", 5)
    with pytest.raises(TypeError, match="TensorType is not the class of these types but 5"):
        tensors.getElementType()


def test_arguments_that_contain_themselves_are_described():
    """Messages about wrong arguments name the types of elements, however deep and however many there are."""
    inner: list = []
    inner.append(inner)
    wide: list = [1]
    for _ in range(40):
        wide = [wide] * 40
    for argument in (inner, wide):
        with pytest.raises(TypeError) as caught:
            ingot.ones(2).mul_(argument, argument)
        assert "list of [list of [" in str(caught.value) and len(str(caught.value)) < 2**18
