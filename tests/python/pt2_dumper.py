# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: every program that a test saves also goes to $INGOT_DUMP, with the results for its examples, as
NAME.pt2 and NAME.pkl (a list of arrays and numbers). See test_pt2_conformance.py."""

import io
import itertools
import os
import pathlib
import pickle

numbers = itertools.count()


def plain(leaf):
    import ingot

    if not isinstance(leaf, ingot.Tensor):
        return leaf if isinstance(leaf, (int, float, str)) else None
    wide = ingot.complex128 if leaf.dtype.is_complex else ingot.float64
    return leaf.detach().to(wide).contiguous().numpy().copy()


def dump(real, program, name):
    import ingot
    from ingot.utils import _pytree as pytree

    out = io.BytesIO()
    real(program, out)
    copies = pytree.tree_map(
        lambda x: x.detach().clone() if isinstance(x, ingot.Tensor) else x, program.example_inputs
    )  # calls may write to them
    args, kwargs = copies
    with ingot.no_grad():
        results = ingot.export.load(io.BytesIO(out.getvalue())).module()(*args, **kwargs)
    leaves = [plain(leaf) for leaf in pytree.tree_leaves(results)]
    path = pathlib.Path(os.environ["INGOT_DUMP"]) / f"{name}-{os.getpid()}-{next(numbers)}"
    path.with_suffix(".pt2").write_bytes(out.getvalue())
    path.with_suffix(".pkl").write_bytes(pickle.dumps(leaves))


current = {"name": ""}


def watch():
    """Callers may keep the first function that they find: it is replaced once."""
    import ingot.export

    real = ingot.export.save

    def save(program, f, **options):
        real(program, f, **options)
        try:
            dump(real, program, current["name"])
        except Exception:  # noqa: BLE001, S110: a program whose examples it refuses, or that are fake
            pass

    ingot.export.save = save


def pytest_runtest_setup(item):
    if not current["name"]:
        watch()
    current["name"] = item.name
