# SPDX-License-Identifier: Apache-2.0
"""Arguments that are out of all proportion, operands of other shapes, objects that change while they are read: the call
is refused or answered, and the interpreter lives."""

import gc
import subprocess
import sys
import textwrap

import pytest

import ingot

HUGE = 2**62
X = ingot.arange(6, dtype=ingot.float32)
FEW = 2**22  # more than a reduction lays out when the elements repeat


def survives(code: str) -> None:
    """The code runs in an interpreter of its own, which must end well."""
    command = [sys.executable, "-c", "import ingot\n" + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- sizes


@pytest.mark.parametrize("sizes", [(2, 2**61), (HUGE,), (HUGE, HUGE), (2**57,)])
def test_expanding_beyond_what_can_be_addressed(sizes):
    with pytest.raises(RuntimeError, match="overflow"):
        ingot.zeros(()).expand(sizes)


@pytest.mark.parametrize("name", "sum mean max min amax amin argmax argmin prod any all aminmax".split())
def test_reducing_what_repeats_needs_no_memory(name):
    x = ingot.tensor([1.0]).expand(2**50)
    got = getattr(x, name)()
    want = {"sum": 2.0**50, "argmax": 0, "argmin": 0}.get(name, 1)
    assert all(float(part) == want for part in (got if isinstance(got, tuple) else (got,)))


def test_sums_of_more_elements_than_fit_into_memory():
    assert float(ingot.ones(()).expand(2**31 + 7).sum()) == float(2**31 + 7) // 256 * 256
    assert int(ingot.ones((), dtype=ingot.int64).expand(2**31 + 7).sum()) == 2**31 + 7
    assert int(ingot.tensor(3, dtype=ingot.uint8).expand(FEW, 2).prod()) % 2**64 == pow(3, 2 * FEW, 2**64)


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.int32, ingot.bool, ingot.complex64])
def test_repeated_elements_count_as_often_as_they_stand(dtype):
    x = ingot.tensor([[1, 0, 1], [0, 1, 1]]).to(dtype)
    wide = x.unsqueeze(1).expand(2, FEW, 3)
    for dim in (1, (0, 1), (1, 2), None):
        few = {1: x, (0, 1): x.sum(0), (1, 2): x.sum(1), None: x.sum()}[dim]
        got = wide.sum() if dim is None else wide.sum(dim)
        assert got.tolist() == (few * FEW).tolist()
    if not dtype.is_complex:
        assert wide.argmax(1).tolist() == [[0] * 3] * 2
        assert wide.argmax() == 0
        assert wide.permute(1, 0, 2).argmin() == 1
        assert wide.permute(0, 2, 1).argmin() == FEW
        assert wide.permute(0, 2, 1).max(2).indices.tolist() == [[0] * 3] * 2
        assert wide.amax((0, 1)).tolist() == x.amax(0).tolist()


@pytest.mark.parametrize("name", "mode median sort std cumsum unique logsumexp softmax contiguous nonzero".split())
def test_other_reductions_refuse_in_words(name):
    x = ingot.zeros(()).expand(2**50)
    with pytest.raises((MemoryError, RuntimeError), match="memory|overflow|budget|limit"):
        getattr(x, name)(*([0] if name in ("cumsum", "logsumexp", "softmax") else []))


@pytest.mark.parametrize(
    "call",
    [
        lambda: ingot.tensor_split(X, HUGE),
        lambda: ingot.zeros(0).chunk(HUGE),
        lambda: X.split([HUGE, HUGE]),
        lambda: X.repeat(HUGE),
        lambda: X.repeat(HUGE, HUGE),
        lambda: X.tile(HUGE),
        lambda: X.repeat_interleave(HUGE),
        lambda: X.repeat_interleave(ingot.tensor([HUGE] * 6)),
        lambda: ingot.nn.functional.one_hot(ingot.tensor([1]), HUGE),
        lambda: ingot.tensor([1]).bincount(minlength=HUGE),
        lambda: ingot.tensor([HUGE]).bincount(),
        lambda: ingot.arange(HUGE),
        lambda: ingot.arange(0, 1e300, 1),
        lambda: ingot.linspace(0, 1, HUGE),
        lambda: ingot.logspace(0, 1, HUGE),
        lambda: ingot.eye(HUGE),
        lambda: ingot.nn.functional.pad(X, (HUGE, HUGE)),
        lambda: ingot.nn.functional.pad(X[None], (HUGE, 0), mode="reflect"),
        lambda: X.unfold(0, HUGE, 1),
        lambda: X.unfold(0, 1, -HUGE),
        lambda: ingot.tril_indices(HUGE, HUGE),
        lambda: ingot.triu_indices(HUGE, HUGE),
        lambda: ingot.combinations(ingot.arange(70), 35),
        lambda: ingot.fft.fft(X, n=HUGE),
        lambda: ingot.fft.rfft(X, n=HUGE),
        lambda: ingot.histc(X, bins=HUGE),
        lambda: ingot.hann_window(HUGE),
        lambda: ingot.randperm(HUGE),
        lambda: ingot.zeros(3).resize_(HUGE),
        lambda: X.as_strided((HUGE,), (0,)),
        lambda: X.as_strided((2,), (HUGE,)),
        lambda: X.as_strided((1,), (1,), HUGE),
        lambda: ingot.vander(X, HUGE),
        lambda: ingot.diag_embed(X, HUGE),
        lambda: ingot.nn.functional.unfold(ingot.zeros(1, 1, 4, 4), HUGE),
        lambda: ingot.nn.functional.fold(ingot.zeros(1, 4, 4), (HUGE, HUGE), 2),
        lambda: ingot.nn.functional.interpolate(ingot.zeros(1, 1, 4), size=HUGE),
        lambda: ingot.nn.functional.max_pool1d(ingot.zeros(1, 1, 4), HUGE),
        lambda: ingot.nn.functional.adaptive_avg_pool1d(ingot.zeros(1, 1, 4), HUGE),
        lambda: ingot.cartesian_prod(*[ingot.zeros(2**10)] * 6),
    ],
)
def test_counts_that_nobody_means(call):
    with pytest.raises((RuntimeError, MemoryError, OverflowError, ValueError, IndexError)) as refused:
        call()
    assert str(refused.value)


def test_more_chunks_than_elements():
    assert [part.tolist() for part in X.chunk(HUGE)] == [[float(i)] for i in range(6)]


def test_rolling_far():
    assert X.roll(HUGE).tolist() == X.roll(HUGE % 6).tolist()
    assert X.roll(-HUGE, 0).tolist() == X.roll(-HUGE % 6).tolist()


# ---- operands of other shapes


def test_probabilities_are_expanded_to_what_is_drawn():
    assert ingot.zeros(4).bernoulli_(ingot.ones(1)).tolist() == [1.0] * 4
    assert ingot.zeros(3, 4).bernoulli_(ingot.ones(4)).tolist() == [[1.0] * 4] * 3
    assert ingot.zeros(4).bernoulli_(ingot.ones(())).tolist() == [1.0] * 4
    with pytest.raises(RuntimeError, match=r"expanded size of the tensor \(4\) must match the existing size \(2\)"):
        ingot.zeros(4).bernoulli_(ingot.ones(2))
    with pytest.raises(RuntimeError, match="the number of sizes provided"):
        ingot.zeros(4).bernoulli_(ingot.ones(4, 4))
    with pytest.raises(RuntimeError, match="expanded size of the tensor"):
        ingot.zeros(4).bernoulli_(ingot.ones(0))


# ---- objects that change while they are read


def test_lists_that_shrink_while_they_are_read():
    survives("""
        class Evil:
            def __init__(self, items): self.items = items
            def __index__(self):
                self.items.clear()
                return 1
        for call in (ingot.zeros, ingot.ones(1).expand, ingot.ones(1).reshape, ingot.ones(4).repeat):
            sizes = [1]
            sizes += [Evil(sizes)] + [1] * 50
            try:
                call(sizes)
            except (RuntimeError, TypeError):
                pass
    """)


def test_tensors_that_go_away_while_later_arguments_are_read():
    survives("""
        class Evil:
            def __init__(self, items): self.items = items
            def __index__(self):
                self.items.clear()
                [ingot.zeros(1000) for _ in range(100)]
                return 0
        for _ in range(20):
            items = [ingot.ones(1000) for _ in range(20)]
            assert ingot.cat(items, Evil(items)).sum() == 20000
            items = [ingot.ones(3) for _ in range(20)]
            assert ingot.stack(items, dim=Evil(items)).shape == (20, 3)
            outs = [ingot.empty(3), ingot.empty(3, dtype=ingot.int64)]
            try:
                ingot.max(ingot.ones(3, 4), Evil(outs), out=outs)
            except TypeError:
                pass
    """)


def test_nested_lists_that_shrink():
    survives("""
        class Evil:
            def __init__(self, items): self.items = items
            def __index__(self):
                self.items.clear()
                return 1
            __int__ = __index__
            def __float__(self): return float(self.__index__())
        rows = [[1, 2], [3, 4]]
        rows[0][1] = Evil(rows)
        try:
            ingot.tensor(rows)
        except (RuntimeError, TypeError, ValueError, IndexError):
            pass
        index = [0]
        index += [Evil(index)] + [1] * 20
        try:
            ingot.ones(30)[index]
        except (RuntimeError, TypeError, ValueError, IndexError):
            pass
    """)


def test_lists_give_back_what_they_held():
    class Number:
        def __index__(self):
            return 2

    items = [Number(), Number()]
    before = sys.getrefcount(items[0])
    for _ in range(10):
        ingot.zeros(items)
    gc.collect()
    after = sys.getrefcount(items[0])
    assert after == before


def test_names_of_operators_are_there():
    for name in dir(ingot.ops.aten):
        getattr(ingot.ops.aten, name)
