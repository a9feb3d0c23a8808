# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data against values of the real PyTorch (golden_data.json), and workers that fail, hang and die."""

import gc
import json
import os
import pathlib
import time

import pytest

import data_cases
import ingot
from ingot.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    StackDataset,
    Subset,
    TensorDataset,
    default_collate,
    get_worker_info,
    random_split,
)  # fmt: skip

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden_data.json").read_text())


def test_loaders_are_pytorchs():
    assert data_cases.loaders(ingot) == GOLDEN["loaders"]


def test_threads_give_the_same_batches():
    found = data_cases.loaders(ingot, multiprocessing_context="thread")
    assert found == {k: v for k, v in GOLDEN["loaders"].items() if k in found}


def test_samplers_and_splits_are_pytorchs():
    assert data_cases.samplers(ingot) == GOLDEN["samplers"]


def test_batches_are_pytorchs():
    assert json.loads(json.dumps(data_cases.batches(ingot))) == GOLDEN["batches"]


class Numbers(Dataset):
    def __init__(self, n, act=None):
        self.n = n
        self.act = act

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.act is not None:
            self.act(i)
        return ingot.full((3,), float(i))


def fail_at_3(i):
    if i == 3:
        raise KeyError("three")


def die_at_3(i):
    if i == 3:
        os._exit(7)


def hang_at_3(i):
    if i == 3:
        time.sleep(60)


@pytest.mark.parametrize("context", [None, "spawn", "thread"])
def test_an_exception_of_a_worker_is_raised_here(context):
    loader = DataLoader(Numbers(6, fail_at_3), batch_size=2, num_workers=2, multiprocessing_context=context)
    batches = iter(loader)
    assert next(batches)[1].tolist() == [1, 1, 1]
    where = "thread" if context == "thread" else "process"
    with pytest.raises(KeyError) as error:
        next(batches)
    text = str(error.value)
    assert text.startswith(
        f"Caught KeyError in DataLoader worker {where} 1.\nOriginal Traceback (most recent call last):"
    )
    assert "fail_at_3" in text
    assert next(batches)[0].tolist() == [4, 4, 4]


def test_an_exception_before_the_first_task():
    loader = DataLoader(Numbers(4), num_workers=1, worker_init_fn=fail_at_3)
    assert len(list(loader)) == 4

    def fail(i):
        raise ValueError("not today")

    loader = DataLoader(Numbers(4), num_workers=1, worker_init_fn=fail)
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        next(iter(loader))


def test_a_dead_worker_is_an_error():
    loader = DataLoader(Numbers(8, die_at_3), num_workers=2)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(loader)


def test_timeout():
    loader = DataLoader(Numbers(8, hang_at_3), num_workers=2, timeout=1)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(loader)


def open_files():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def test_large_batches_leave_nothing_behind():
    """Bytes of tensors travel in files without names, which the batch keeps as long as it lives."""
    big = TensorDataset(ingot.arange(600_000.0).reshape(6, 100_000), ingot.arange(6))
    before = open_files()
    kept = [x for x, _ in DataLoader(big, batch_size=2, num_workers=2)]
    assert [k[0, 0].item() for k in kept] == [0, 200_000, 400_000]
    kept[0].add_(1)  # it is ours to write
    assert kept[0][0, 0].item() == 1
    half = iter(DataLoader(big, batch_size=1, num_workers=2))
    next(half)
    del half, kept
    assert open_files() == before


def test_everything_that_a_batch_may_hold():
    samples = [
        {"x": ingot.ones(2, dtype=ingot.bfloat16), "none": ingot.zeros(0, 3), "p": ingot.nn.Parameter(ingot.ones(2))}
    ]
    (found,) = DataLoader(samples, batch_size=None, num_workers=1)
    assert found["x"].dtype == ingot.bfloat16 and found["none"].shape == (0, 3)
    assert isinstance(found["p"], ingot.nn.Parameter) and found["p"].requires_grad
    many = [[ingot.tensor(float(i)) for i in range(300)] + ["x" * 100_000]]
    (found,) = DataLoader(many, batch_size=None, num_workers=1)
    assert sum(found[:300]).item() == sum(range(300)) and len(found[300]) == 100_000
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(DataLoader(Numbers(1), num_workers=1, collate_fn=lambda b: b[0].requires_grad_() * 2))


def test_worker_info():
    class Info(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            info = get_worker_info()
            return info.id, info.num_workers, ingot.get_num_threads()

    assert get_worker_info() is None
    assert [[v.item() for v in b] for b in DataLoader(Info(), num_workers=2)] == [[0, 2, 1], [1, 2, 1]]


def test_datasets():
    a, b = TensorDataset(ingot.arange(3)), TensorDataset(ingot.arange(10, 12))
    both = a + b
    assert isinstance(both, ConcatDataset) and len(both) == 5
    assert both[4][0].item() == 11 and both[-5][0].item() == 0
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-6]
    assert [x[0].item() for x in Subset(both, [4, 0])] == [11, 0]
    stack = StackDataset(x=a, y=[7, 8, 9])
    assert stack[1]["y"] == 8 and len(stack) == 3
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(ingot.ones(2), ingot.ones(3))

    class Three(IterableDataset):
        def __iter__(self):
            return iter([1, 2, 3])

    assert isinstance(Three() + Three(), ChainDataset)
    assert list(Three() + Three()) == [1, 2, 3, 1, 2, 3]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        random_split(a, [1, 1])
    with pytest.raises(RuntimeError, match="give num_replicas and rank"):
        DistributedSampler(a)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"num_workers": 1, "multiprocessing_context": "none"}, "should specify a valid start method"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
        ({"batch_size": 0}, "batch_size should be a positive integer value"),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(Numbers(3), **options)


def test_options_are_fixed_and_memory_is_not_pinned():
    loader = DataLoader(Numbers(3), pin_memory=True)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 2
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        list(loader)
    assert len(loader) == 3 and len(DataLoader(Numbers(5), batch_size=2, drop_last=True)) == 2
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        RandomSampler([])
    with pytest.raises(ValueError, match="drop_last should be a boolean"):
        BatchSampler([1], 1, 0)
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1, 2], [3]])
