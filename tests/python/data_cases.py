# SPDX-License-Identifier: Apache-2.0
"""Batches, samplers and splits, and what the real PyTorch gives for them.

Run with an installed PyTorch and NumPy, this file prints golden_data.json: `python data_cases.py > golden_data.json`.
test_data.py runs the same cases with Ingot.
"""

import json
import random
from collections import namedtuple

Pair = namedtuple("Pair", "a b")


def flat(torch, value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {k: flat(torch, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [flat(torch, v) for v in value]
    return value


def datasets(torch):
    data = torch.utils.data

    class Squares(data.Dataset):
        def __init__(self, n=20):
            self.n = n

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            return torch.tensor([float(i), float(i) ** 2]), i

    class Draws(Squares):
        def __getitem__(self, i):
            info = data.get_worker_info()
            return [torch.rand(2), random.random(), info.seed if info else -1]

    class Shares(data.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            info = data.get_worker_info()
            return iter(float(i) for i in (range(info.id, self.n, info.num_workers) if info else range(self.n)))

    return Squares, Draws, Shares


def loaders(torch, **more):
    """Two epochs of each loader."""
    squares, draws, shares = datasets(torch)
    found = {}

    def run(name, dataset, **options):
        torch.manual_seed(5)
        random.seed(1)
        loader = torch.utils.data.DataLoader(dataset, **options, **(more if options.get("num_workers") else {}))
        found[name] = [[flat(torch, b) for b in loader] for _ in range(2)]

    for n in (0, 2):
        run(f"in order, {n}", squares(), batch_size=6, num_workers=n)
        run(f"shuffled, {n}", squares(), batch_size=6, shuffle=True, drop_last=True, num_workers=n)
        run(f"not batched, {n}", squares(5), batch_size=None, num_workers=n)
        run(f"iterable, {n}", shares(11), batch_size=3, num_workers=n)
        run(f"kept, {n}", squares(), batch_size=4, shuffle=True, num_workers=n, persistent_workers=n > 0)
    if not more:
        run("random, 2", draws(8), batch_size=2, num_workers=2)
    return found


def samplers(torch):
    squares, _, _ = datasets(torch)
    data = torch.utils.data
    torch.manual_seed(3)
    return {
        "fractions": [list(s.indices) for s in data.random_split(squares(), [0.3, 0.7])],
        "lengths": [
            list(s.indices) for s in data.random_split(squares(), [5, 15], generator=torch.Generator().manual_seed(1))
        ],
        "with replacement": list(data.RandomSampler(squares(10), replacement=True, num_samples=70)),
        "more than there are": list(data.RandomSampler(squares(10), num_samples=25)),
        "subset": list(data.SubsetRandomSampler([3, 5, 9, 11])),
        "weighted": list(data.WeightedRandomSampler([0.1, 0.4, 2.0, 1.0], 20)),
        "share": list(data.DistributedSampler(squares(11), 3, 1)),
    }


def batches(torch):
    tensors = [{"a": 1, "b": torch.ones(2)}, {"a": 2, "b": torch.zeros(2)}]
    samples = [
        [1, 2], [1.5, 2], ["a", "b"], tensors, [Pair(1, 2.0), Pair(3, 4.0)], [(1, [2, 3]), (4, [5, 6])], [True, False],
    ]  # fmt: skip
    found = []
    for batch in samples:
        made = torch.utils.data.default_collate(batch)
        found.append([flat(torch, made), type(made).__name__, str(getattr(made, "dtype", ""))])
    return found


def main():
    import torch

    golden = {"loaders": loaders(torch), "samplers": samplers(torch), "batches": batches(torch)}
    print(json.dumps(golden, separators=(",", ":")))


if __name__ == "__main__":
    main()
