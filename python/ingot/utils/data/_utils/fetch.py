# SPDX-License-Identifier: Apache-2.0
"""From keys to a batch, for both kinds of datasets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any


class Fetcher:
    """`batched`: keys come as lists, and samples are collated; else sample by sample, and converted."""

    def __init__(self, dataset: Any, iterable: bool, batched: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset = dataset
        self.iterator = iter(dataset) if iterable else None
        self.batched = batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, keys: Any) -> Any:
        """The batch of these keys; StopIteration at the end of an iterable dataset."""
        return self.collate_fn(self._by_iteration(keys) if self.iterator is not None else self._by_key(keys))

    def _by_key(self, keys: Any) -> Any:
        if not self.batched:
            return self.dataset[keys]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(keys)
        return [self.dataset[key] for key in keys]

    def _by_iteration(self, keys: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.batched:
            return next(self.iterator)
        samples = list(islice(self.iterator, len(keys)))
        self.ended = len(samples) < len(keys)
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return samples
