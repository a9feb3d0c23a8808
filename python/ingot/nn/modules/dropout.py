# SPDX-License-Identifier: Apache-2.0
"""Dropout."""

from __future__ import annotations

from typing import Any

from ingot.nn.modules._simple import SimpleModule


class _DropoutNd(SimpleModule):
    arguments = "p=0.5, inplace=False"
    modal = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    function = "dropout"


class Dropout1d(_DropoutNd):
    function = "dropout1d"


class Dropout2d(_DropoutNd):
    function = "dropout2d"


class Dropout3d(_DropoutNd):
    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    function = "feature_alpha_dropout"
