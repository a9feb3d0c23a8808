# SPDX-License-Identifier: Apache-2.0
"""NumPy, DLPack, buffers, pickle, deepcopy: memory is shared where it can be, and copies are whole."""

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import ingot

DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_both_ways(name):
    a = np.array([[0, 1, 1], [1, 0, 1]], dtype=name)
    x = ingot.from_numpy(a)
    assert x.dtype is getattr(ingot, name)
    assert x.shape == (2, 3)
    a[0, 0] = 1
    assert x[0, 0].item() == a[0, 0]
    b = x.numpy()
    assert b.dtype == a.dtype
    b[1, 1] = 1
    assert a[1, 1] == b[1, 1]


def test_numpy_strides():
    a = np.arange(24).reshape(2, 3, 4)
    x = ingot.from_numpy(a.transpose(2, 0, 1)[1:3])
    assert x.stride() == (1, 12, 4)
    assert np.array_equal(x.numpy(), a.transpose(2, 0, 1)[1:3])
    y = ingot.arange(6).reshape(2, 3).t()
    assert y.numpy().strides == (8, 24)
    assert np.shares_memory(y.numpy(), y.t().numpy())


def test_array_outlives_tensor():
    a = ingot.arange(1000).numpy()
    gc.collect()
    assert a.sum() == 499500
    x = ingot.from_numpy(np.arange(1000))
    gc.collect()
    assert x.sum().item() == 499500


def test_array_is_released():
    a = np.zeros(3)
    before = sys.getrefcount(a)
    x = ingot.from_numpy(a)
    assert sys.getrefcount(a) == before + 1
    del x
    assert sys.getrefcount(a) == before


def test_zero_dim_and_empty():
    assert ingot.from_numpy(np.array(3.5)).item() == 3.5
    assert ingot.from_numpy(np.zeros((0, 3))).shape == (0, 3)
    assert ingot.zeros(0, 3).numpy().shape == (0, 3)
    assert ingot.tensor(2).numpy() == 2


def test_array_protocol():
    x = ingot.tensor([1.5, 2.5])
    assert np.asarray(x).tolist() == [1.5, 2.5]
    assert np.array(x, dtype=np.int64).tolist() == [1, 2]
    assert isinstance(x + np.ones(2), ingot.Tensor)
    assert np.add(np.ones(2), x).tolist() == [2.5, 3.5]
    assert ingot.tensor(np.array([[1, 2], [3, 4]], dtype=np.int32)).dtype is ingot.int32
    assert ingot.tensor([np.float32(1.5), np.float32(2)]).dtype is ingot.float32
    assert ingot.as_tensor(np.arange(3)).tolist() == [0, 1, 2]


def test_tensor_copies_and_as_tensor_shares():
    a = np.zeros(2)
    copied, shared = ingot.tensor(a), ingot.as_tensor(a)
    a[0] = 1
    assert copied[0].item() == 0
    assert shared[0].item() == 1


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "bool"])
def test_dlpack(name):
    x = ingot.tensor([[1, 2], [3, 4]], dtype=getattr(ingot, name))
    y = ingot.from_dlpack(x)
    assert y.data_ptr() == x.data_ptr()
    assert y.dtype is x.dtype
    a = np.from_dlpack(x)
    assert a.tolist() == x.tolist()
    back = ingot.from_dlpack(np.array([[1, 2], [3, 4]], dtype=name))
    assert back.tolist() == x.tolist()


def test_dlpack_capsule_is_used_once():
    capsule = ingot.ones(2).__dlpack__()
    assert ingot.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid capsule"):
        ingot.from_dlpack(capsule)
    ingot.ones(3).__dlpack__()  # a capsule that is not consumed frees its tensor


def test_dlpack_refuses_gradients():
    with pytest.raises(BufferError, match="require gradient"):
        ingot.ones(2, requires_grad=True).__dlpack__()


def test_frombuffer():
    buffer = bytearray(b"\x01\x00\x00\x00\x02\x00\x00\x00")
    x = ingot.frombuffer(buffer, dtype=ingot.int32)
    buffer[0] = 7
    assert x.tolist() == [7, 2]
    assert ingot.frombuffer(buffer, dtype=ingot.int32, offset=4).tolist() == [2]
    assert ingot.frombuffer(buffer, dtype=ingot.int32, count=1).tolist() == [7]
    with pytest.raises(ValueError):
        ingot.frombuffer(buffer, dtype=ingot.int32, count=9)


def test_pickle():
    x = ingot.arange(6.0).reshape(2, 3)
    pair = pickle.loads(pickle.dumps([x, x[1], x.t(), x]))
    assert pair[0].tolist() == x.tolist()
    assert pair[0] is pair[3]
    assert pair[2].stride() == (1, 3)
    pair[0][1, 0] = 9
    assert pair[1][0].item() == 9
    y = ingot.ones(2, requires_grad=True)
    assert pickle.loads(pickle.dumps(y)).requires_grad
    for thing in (
        ingot.float32,
        ingot.device("cuda:1"),
        ingot.Size([2, 3]),
        ingot.strided,
        ingot.ops.aten.add.Tensor,
        ingot.ops.aten.add,
    ):
        assert pickle.loads(pickle.dumps(thing)) == thing
    assert pickle.loads(pickle.dumps(ingot.float32)) is ingot.float32


def test_pickle_refuses_history():
    with pytest.raises(RuntimeError):
        pickle.dumps(ingot.ones(2, requires_grad=True) * 2)


def test_deepcopy():
    x = ingot.arange(4.0)
    x.note = [1]
    y = copy.deepcopy([x, x[:2]])
    y[0][0] = 9
    assert y[1][0].item() == 9
    assert x[0].item() == 0
    assert y[0].note == [1] and y[0].note is not x.note
    leaf = ingot.ones(2, requires_grad=True)
    (leaf * 2).sum().backward()
    twin = copy.deepcopy(leaf)
    assert twin.requires_grad and twin.grad.tolist() == [2, 2] and twin.grad is not leaf.grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(leaf * 2)


def test_storage():
    x = ingot.zeros(4)
    s = x.untyped_storage()
    assert s.nbytes() == 16 and len(s) == 16 and s.data_ptr() == x.data_ptr()
    assert x[1:].untyped_storage()._cdata == s._cdata
    assert x[1:].untyped_storage() is s
    assert x.clone().untyped_storage() != s
    typed = x[2:].storage()
    assert (
        len(typed) == typed.size() == 4
        and typed.dtype is ingot.float32
        and typed.data_ptr() == x.data_ptr()
        and list(typed) == [0, 0, 0, 0]
    )


def test_weakref_and_gc():
    x = ingot.ones(2)
    ref = weakref.ref(x)
    x.itself = x
    del x
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("n", [7, 256, 300, 3019])
def test_conversions_of_long_rows(n):
    """Blocks with numbers that no 32-bit or 64-bit integer holds among them, and 16-bit floats of every size."""
    odd = [0, -0.0, 1e9, -1e9, 2**31 - 1, -(2**31), 3e9, -3e9, 1e19, -1e19, 9.2e18, 0.5, 65504, 65519, 6e-8, -2.5e-8]
    values = np.concatenate([np.random.default_rng(0).standard_normal(3019) * 100, odd])[-n:]
    for dtype in (np.float32, np.float64):
        x = values.astype(dtype)
        t = ingot.from_numpy(x)
        whole = np.array([int(v) if -(2.0**63) <= v < 2.0**63 else -(2**63) for v in x.astype(np.float64)])
        assert np.array_equal(t.to(ingot.int64).numpy(), whole)
        assert np.array_equal(t.to(ingot.int32).numpy(), whole.astype(np.int32))
        assert np.array_equal(t.to(ingot.uint8).numpy(), whole.astype(np.uint8))
        with np.errstate(over="ignore"):
            half = x.astype(np.float32).astype(np.float16)
        assert np.array_equal(t.to(ingot.float16).numpy(), half)
        assert np.array_equal(ingot.from_numpy(half).to(ingot.float32).numpy(), half.astype(np.float32))
    a, b = values > 0, np.arange(n) % 3 > 0
    s, t = ingot.from_numpy(a), ingot.from_numpy(b)
    assert np.array_equal((s & t).numpy(), a & b) and np.array_equal((s | t).numpy(), a | b)
    assert np.array_equal((~s).numpy(), ~a)
