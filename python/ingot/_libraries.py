# SPDX-License-Identifier: Apache-2.0
"""torch.ops.load_library: shared libraries that define operators.

A library is loaded into the process; it may define operators through ingot/library.h. Libraries that are built for
PyTorch need its C++ libraries and cannot be loaded. Where Ingot has the operators of such a library itself, loading it
defines them.
"""

from __future__ import annotations

import importlib
import os

# Libraries that need not be loaded, by folder and stem, and the module that defines their operators.
_OWN = {
    ("torchvision", "_C"): "ingot._vision",
    ("torchvision", "_C_stable"): "ingot._vision",  # since torchvision 0.27
}
loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike) -> None:
    """Load a library by its path; OSError: it cannot be loaded."""
    import ctypes

    whole = os.path.realpath(path)
    folder, name = os.path.split(whole)
    known = (os.path.basename(folder), name.partition(".")[0])
    module = _OWN.get(known) if os.path.isfile(whole) else None
    if module is not None:
        importlib.import_module(module)
    else:
        try:
            ctypes.CDLL(whole)
        except OSError as error:
            raise OSError(f"Could not load this library: {whole}") from error
    loaded_libraries.add(whole)
