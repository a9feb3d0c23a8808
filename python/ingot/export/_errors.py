# SPDX-License-Identifier: Apache-2.0
"""How a strict capture words the errors of the engine."""
from __future__ import annotations

from ingot._C import ConstraintViolationError, GuardOnDataDependentSymNode
from ingot._dynamo.exc import UserError, UserErrorType

_CASE = "https://pytorch.org/docs/main/generated/exportdb/index.html#constrain-as-size-example"

_INSIDE = (
    "Tried to use data-dependent value in the subsequent computation. This can happen when we encounter unbounded "
    "dynamic value that is unknown during tracing time. You will need to explicitly give hint to the compiler. Please "
    "take a look at torch._check OR torch._check_is_size APIs. "
)


def strict_error(error: BaseException) -> Exception | None:
    """The error that a strict capture raises instead; None: the same one."""
    if isinstance(error, GuardOnDataDependentSymNode):
        # A question that an operator asked, not the program itself: its name stands in front of the text.
        inside = not str(error).startswith("Could not")
        advice = _INSIDE if inside else "Consider annotating your code using torch._check*(). "
        text = f"{advice}{error}\nFor more information about this error, see: {_CASE}"
        return UserError(UserErrorType.ANTI_PATTERN, text)
    if isinstance(error, ConstraintViolationError):
        return UserError(UserErrorType.CONSTRAINT_VIOLATION, str(error))
    return None
