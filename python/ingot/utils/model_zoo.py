# SPDX-License-Identifier: Apache-2.0
"""torch.utils.model_zoo: the older place of torch.hub.load_state_dict_from_url."""

from ingot.hub import load_state_dict_from_url as load_url

__all__ = ["load_url", "tqdm"]


class _Bar:
    """A progress bar that shows nothing, where the package tqdm is not installed."""

    def __init__(self, total: object = None, **unused: object) -> None:
        self.total, self.n = total, 0

    def update(self, n: int = 1) -> None:
        self.n += n

    def close(self) -> None:
        """Nothing to close."""

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *unused: object) -> None:
        return None


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Bar
