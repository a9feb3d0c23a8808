# SPDX-License-Identifier: Apache-2.0
"""How a strict capture words the errors of the engine."""

from __future__ import annotations

import dis
import os
import traceback

from ingot._C import ConstraintViolationError, GuardOnDataDependentSymNode
from ingot._dynamo.exc import Unsupported, UserError, UserErrorType

_CASE = "https://pytorch.org/docs/main/generated/exportdb/index.html#constrain-as-size-example"

_INSIDE = (
    "Tried to use data-dependent value in the subsequent computation. This can happen when we encounter unbounded "
    "dynamic value that is unknown during tracing time.  You will need to explicitly give hint to the compiler. Please "
    "take a look at torch._check OR torch._check_is_size APIs.  "
)


_LOGS = 'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information'


def from_user_code(text: str, stack: str) -> str:
    """A message with the frames of the user behind it."""
    indented = stack.removeprefix("  ").rstrip("\n")
    return f"{text}\n\nfrom user code:\n   {indented}\n\n{_LOGS}\n"


def _user_stack(error: BaseException) -> str:
    """The user's frames of a traceback, from the capture inwards."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if not os.path.abspath(f.filename).startswith(package)
    ]
    return "".join(traceback.format_list(frames))


def _is_raised_by_program(error: BaseException) -> bool:
    """Whether a raise statement of the program made it, and no operator."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_lasti < 0:
        return False
    code = last.tb_frame.f_code
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    ours = os.path.abspath(code.co_filename).startswith(package)
    return not ours and code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def strict_error(error: BaseException) -> Exception | None:
    """The error that a strict capture raises instead; None: the same one."""
    if isinstance(error, Exception) and _is_raised_by_program(error):
        return Unsupported(from_user_code("Observed exception", _user_stack(error)))
    if isinstance(error, GuardOnDataDependentSymNode):
        inside = "\n\nWhile calling " in str(error)  # a question that an operator asked, not the program itself
        advice = _INSIDE if inside else "Consider annotating your code using torch._check*(). "
        text = f"{advice}{error}\nFor more information about this error, see: {_CASE}"
        return UserError(UserErrorType.ANTI_PATTERN, text)
    if isinstance(error, ConstraintViolationError):
        return UserError(UserErrorType.CONSTRAINT_VIOLATION, f"{error}\n\n{_LOGS}\n")
    return None


def carry_issues(error: BaseException, other: Exception) -> None:
    """What the engine knows of an error is known of the one that is raised instead."""
    if hasattr(error, "issues"):
        other.issues = error.issues
    for note in getattr(error, "__notes__", []):
        other.add_note(note)
