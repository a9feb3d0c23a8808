# SPDX-License-Identifier: Apache-2.0
"""Marks of tests that need an engine of quantized operators."""

from __future__ import annotations

import unittest

from ingot import backends

__all__ = ["skipIfNoFBGEMM", "skipIfNoONEDNN", "skipIfNoQNNPACK", "skipIfNoX86"]


def _needs(engine: str, title: str):
    return unittest.skipIf(
        engine not in backends.quantized.supported_engines, f"Quantized operations require {title}."
    )


skipIfNoFBGEMM = _needs("fbgemm", "FBGEMM")  # noqa: N816
skipIfNoQNNPACK = _needs("qnnpack", "QNNPACK")  # noqa: N816
skipIfNoX86 = _needs("x86", "X86")  # noqa: N816
skipIfNoONEDNN = _needs("onednn", "ONEDNN")  # noqa: N816
