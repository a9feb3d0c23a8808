# SPDX-License-Identifier: Apache-2.0
"""`assert tensor`, and `assert number > 3` of a number from the data, in a strict capture: the assertion becomes part
of the program."""

from __future__ import annotations

import dis
import functools
import os
import sys
import types

from ingot import _C
from ingot._ops import ops

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@functools.lru_cache(maxsize=256)
def _message_at(code: types.CodeType, offset: int) -> str | None:
    """The message of the assertion that the instruction at an offset tests; None: it tests none. A message that is
    computed is not known before the assertion fails."""
    steps = [i for i in dis.get_instructions(code) if i.offset >= offset and i.opname not in ("CACHE", "TO_BOOL")]
    if len(steps) < 3 or "JUMP" not in steps[0].opname or steps[1].opname != "LOAD_ASSERTION_ERROR":
        return None
    named = steps[2].opname == "LOAD_CONST" and isinstance(steps[2].argval, str)
    return steps[2].argval if named else "assertion error"


def message() -> str | None:
    """The message of the assertion that the user's program is at; None: it asks for something else."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    return None if frame is None else _message_at(frame.f_code, frame.f_lasti)


def asserted(tensor: _C.Tensor) -> bool:
    """Records the assertion that the user's program is at; False: it asks for something else."""
    text = message()
    if text is None:
        return False
    ops.aten._assert_async.msg(tensor, text)
    return True
