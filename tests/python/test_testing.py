# SPDX-License-Identifier: Apache-2.0
"""assert_close, make_tensor, FileCheck."""

import math

import pytest

import ingot
from ingot.testing import FileCheck, assert_close, make_tensor


def report(*args, **options):
    with pytest.raises(AssertionError) as error:
        assert_close(*args, **options)
    return str(error.value)


def test_close_report():
    actual, expected = ingot.tensor([[1.0, 2.0], [3.0, 4.0]]), ingot.tensor([[1.0, 2.1], [3.0, 5.0]])
    assert report(actual, expected) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1, 1) (up to 1.3e-06 allowed)"
    )


def test_integers_are_compared_exactly():
    assert report(ingot.tensor([1, 2]), ingot.tensor([1, 3])) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 1 at index (1,)\n"
        "Greatest relative difference: 0.3333333432674408 at index (1,)"
    )
    assert_close(ingot.tensor([1, 2]), ingot.tensor([1, 3]), rtol=0, atol=1)


def test_scalars():
    assert report(ingot.tensor(1.0), ingot.tensor(2.0)) == (
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
        "Absolute difference: 1.0 (up to 1e-05 allowed)\nRelative difference: 0.5 (up to 1.3e-06 allowed)"
    )
    assert report(1, 2) == (
        "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"
    )
    assert report(1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert report(True, False) == "Booleans mismatch: True is not False"
    assert report(None, 3) == "None mismatch: None is not 3"
    assert_close(None, None)
    assert_close(float("inf"), float("inf"))


@pytest.mark.parametrize(
    "dtype, near, far",
    [
        ("float16", 1.0009765625, 1.01),
        ("bfloat16", 1.0078125, 1.05),
        ("float32", 1.000001, 1.0001),
        ("float64", 1.0000001, 1.00001),
    ],
)
def test_default_tolerances(dtype, near, far):
    dtype = getattr(ingot, dtype)
    one = ingot.tensor([1.0], dtype=dtype)
    assert_close(ingot.tensor([near], dtype=dtype), one)
    report(ingot.tensor([far], dtype=dtype), one)


def test_nan():
    nan = ingot.tensor([math.nan, 1.0])
    assert "Greatest absolute difference: nan at index (0,)" in report(nan, nan)
    assert_close(nan, nan, equal_nan=True)
    assert_close(ingot.tensor([math.inf]), ingot.tensor([math.inf]))
    report(ingot.tensor([math.inf]), ingot.tensor([-math.inf]))


def test_attributes():
    one = ingot.tensor([1.0])
    text = "The values for attribute '{}' do not match: {} != {}."
    assert report(one, ingot.tensor([1])) == text.format("dtype", "torch.float32", "torch.int64")
    assert_close(one, ingot.tensor([1]), check_dtype=False)
    assert report(one, ingot.ones(2)) == text.format("shape", "torch.Size([1])", "torch.Size([2])")
    assert report(one, ingot.ones(1, device="meta")) == text.format("device", "cpu", "meta")
    turned, straight = ingot.ones(2, 3).t(), ingot.ones(3, 2)
    assert_close(turned, straight)
    assert report(turned, straight, check_stride=True) == text.format("stride()", "(1, 3)", "(2, 1)")


def test_containers():
    assert_close([1, (2.0,)], [1, (2.0,)])
    assert_close((1, 2), [1, 2])
    assert report([1, 2], [1]) == "The length of the sequences mismatch: 2 != 1"
    assert report({"a": 1}, {"b": 1}) == (
        "The keys of the mappings do not match:\n"
        "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"
    )
    assert report({"a": [1, 2]}, {"a": [1, 3]}).endswith("\n\nThe failure occurred for item ['a'][1]")


def test_messages_and_errors():
    one, two = ingot.tensor([1.0]), ingot.tensor([2.0])
    assert report(one, two, msg="mine") == "mine"
    assert report(one, two, msg=lambda text: "more: " + text).startswith("more: Tensor-likes are not close!")
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"):
        assert_close(one, two, rtol=1.0)
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close("a", "a")
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(one, [1.0])


def test_parameters_and_arrays():
    np = pytest.importorskip("numpy")
    assert_close(ingot.nn.Parameter(ingot.ones(2)), ingot.ones(2))
    assert_close(np.ones(2), np.ones(2))
    report(np.ones(2), np.zeros(2))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16", "float32", "float64"])
def test_make_tensor(dtype):
    dtype = getattr(ingot, dtype)
    x = make_tensor(3, 4, dtype=dtype)
    assert x.shape == (3, 4) and x.dtype == dtype
    values = x.to(ingot.float64)
    assert bool((values >= -9).all()) and bool((values < 10).all())
    assert not make_tensor((3, 4), dtype=dtype, noncontiguous=True).is_contiguous()
    if dtype.is_floating_point:
        assert make_tensor(2, dtype=dtype, requires_grad=True).requires_grad
        y = make_tensor((100,), dtype=dtype, low=1, high=2).to(ingot.float64)
        assert bool((y >= 1).all()) and bool((y <= 2).all())
    else:
        with pytest.raises(ValueError, match="requires_grad=True"):
            make_tensor(2, dtype=dtype, requires_grad=True)


TEXT = "a b\nfoo bar\nfoo baz\nend\n"


@pytest.mark.parametrize(
    "build",
    [
        lambda f: f.check("foo").check("baz"),
        lambda f: f.check_not("qux"),
        lambda f: f.check("a").check_not("end").check("baz"),
        lambda f: f.check("foo bar").check_next("baz"),
        lambda f: f.check("foo").check_same("bar"),
        lambda f: f.check_count("foo", 2),
        lambda f: f.check_count("foo", 2, exactly=True),
        lambda f: f.check_count("foo", 1).check("baz"),
        lambda f: f.check_dag("baz").check_dag("bar").check("end"),
        lambda f: f.check_regex("fo+ b.z"),
        lambda f: f.check_not("end").check("foo"),
        lambda f: f.check("foo").check_not("foo bar"),
    ],
)
def test_filecheck_passes(build):
    assert build(FileCheck()).run(TEXT) is None


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda f: f.check("baz").check("foo"), 'Expected to find "foo" but did not find it'),
        (lambda f: f.check_not("foo"), 'Expected to not find "foo" but found it'),
        (lambda f: f.check("a").check_not("bar").check("baz"), 'Expected to not find "bar" but found it'),
        (lambda f: f.check("a").check_next("baz"), 'Expected to find "baz" on the next line'),
        (lambda f: f.check("foo bar").check_next("bar"), 'Expected to find "bar"'),
        (lambda f: f.check("a").check_same("bar"), 'Expected to find "bar" on the same line'),
        (lambda f: f.check_count("foo", 1, exactly=True), 'Expected to not find "foo" but found it'),
        (lambda f: f.check_count("foo", 3), 'Expected to find "foo" but did not find it'),
        (lambda f: f.check_dag("baz").check_dag("nope"), 'Expected to find "nope" but did not find it'),
        (lambda f: f.check_regex("q+"), 'Expected to find regex "q\\+" but did not find it'),
        (lambda f: f.check_count("foo", 1, True).check("baz"), 'Expected to not find "foo" but found it'),
        (lambda f: f, "No checks have been added"),
    ],
)
def test_filecheck_fails(build, message):
    with pytest.raises(RuntimeError, match=message):
        build(FileCheck()).run(TEXT)


def test_filecheck_in_text():
    FileCheck().run("# CHECK: a\n# CHECK-NEXT: foo bar\n# CHECK-NOT: qux\n# CHECK-DAG: end", TEXT)
    FileCheck().run("# CHECK-COUNT-2: foo", TEXT)
    with pytest.raises(RuntimeError, match="From CHECK-COUNT-3: foo"):
        FileCheck().run("# CHECK-COUNT-3: foo", TEXT)
    with pytest.raises(RuntimeError, match="CHECK-NOT: foo"):
        FileCheck().run("# CHECK-COUNT-EXACTLY-1: foo", TEXT)


def test_filecheck_highlight():
    FileCheck().check_source_highlighted("foo").run("foo bar\n~~~ <--- HERE\n")
    with pytest.raises(RuntimeError, match="foo"):
        FileCheck().check_source_highlighted("foo").run("foo bar\n ~~~\n")


def test_logged_calls():
    from ingot.testing._internal.logging_tensor import LoggingTensor, capture_logs, log_input

    with capture_logs() as logs:
        x = LoggingTensor(ingot.ones(2))
        log_input("x", x)
        ingot.cat([x * x, x], dim=0)
    assert logs == [
        "$0 = input('x')",
        "$1 = torch._ops.aten.mul.Tensor($0, $0)",
        "$2 = torch._ops.aten.cat.default([$1, $0])",
    ]


def test_pairs_of_tensors():
    from ingot.testing._internal.two_tensor import TwoTensor

    pair = TwoTensor(ingot.ones(2), ingot.zeros(2)) * 2 + 1
    assert isinstance(pair, TwoTensor) and pair.a.tolist() == [3, 3] and pair.b.tolist() == [1, 1]
    pair.add_(1)
    assert pair.a.tolist() == [4, 4] and pair.b.tolist() == [2, 2]
    with pytest.raises(AssertionError):
        TwoTensor(ingot.ones(2), ingot.ones(3))


def test_weak_keys():
    from ingot.utils.weak import WeakTensorKeyDictionary

    table = WeakTensorKeyDictionary()
    a, b = ingot.ones(1), ingot.ones(1)
    table[a], table[b] = 1, 2
    assert len(table) == 2 and table[a] == 1 and ingot.ones(1) not in table
    del a
    assert list(table.values()) == [2]


def test_groups_of_dtypes():
    from ingot.testing._internal import common_dtype

    assert common_dtype.floating_types_and(ingot.half) == (ingot.float32, ingot.float64, ingot.float16)
    assert set(common_dtype.all_types()) == set(common_dtype.integral_types()) | set(common_dtype.floating_types())
    with pytest.raises(AssertionError):
        common_dtype.all_types_and(3)
