# SPDX-License-Identifier: Apache-2.0
"""The test case of files that test compilation."""
from __future__ import annotations

import ingot
from ingot.testing._internal import common_utils

__all__ = ["TestCase", "run_tests"]


class TestCase(common_utils.TestCase):
    """Every test starts without compiled code."""

    def setUp(self) -> None:  # noqa: N802 (unittest's name)
        super().setUp()
        ingot._dynamo.reset()

    def tearDown(self) -> None:  # noqa: N802
        ingot._dynamo.reset()
        super().tearDown()


def run_tests(needs: object = ()) -> None:
    common_utils.run_tests()
