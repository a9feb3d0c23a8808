# SPDX-License-Identifier: Apache-2.0
"""Property tests draw the same examples in every run; INGOT_HYPOTHESIS=random draws fresh ones. Programs are verified
after every stage of an export."""
import os

os.environ.setdefault("INGOT_VERIFY", "1")  # before the package is imported

try:
    from hypothesis import settings
except ImportError:  # those tests are skipped then
    settings = None

if settings and os.environ.get("INGOT_HYPOTHESIS") != "random":
    settings.register_profile("repeatable", derandomize=True)
    settings.load_profile("repeatable")
