# SPDX-License-Identifier: Apache-2.0
"""Errors of the engine with the messages of a strict capture."""

from __future__ import annotations

import dis
import os
import traceback

from ingot._C import ConstraintViolationError, GuardOnDataDependentSymNode, trace_stack
from ingot._dynamo.exc import TorchRuntimeError, Unsupported, UserError, UserErrorType
from ingot._explain import carry_code
from ingot._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

_CASE = "https://pytorch.org/docs/main/generated/exportdb/index.html#constrain-as-size-example"

_INSIDE = (
    "Tried to use data-dependent value in the subsequent computation. This can happen when we encounter unbounded "
    "dynamic value that is unknown during tracing time.  You will need to explicitly give hint to the compiler. Please "
    "take a look at torch._check OR torch._check_is_size APIs."
)

_BRANCH = (
    "Dynamic control flow is not supported at the moment. Please use functorch.experimental.control_flow.cond to "
    "explicitly capture the control flow. For more information about this error, see: "
    "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-operands"
)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LOGS = 'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information'


def from_user_code(text: str, stack: str) -> str:
    """A message followed by the user's frames."""
    indented = stack.removeprefix("  ").rstrip("\n")
    return f"{text}\n\nfrom user code:\n   {indented}\n\n{_LOGS}\n"


def _user_stack(error: BaseException) -> str:
    """The user's frames of a traceback, from the capture inwards. PyTorch knows their lines, not their columns, so
    that nothing is underlined."""
    frames = [
        traceback.FrameSummary(f.filename, f.lineno, f.name, line=f.line)
        for f in traceback.extract_tb(error.__traceback__)
        if not os.path.abspath(f.filename).startswith(_PACKAGE)
    ]
    return "".join(traceback.format_list(frames))


def _is_raised_by_program(error: BaseException) -> bool:
    """Whether it was raised by a raise statement of the program, not by an operator."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_lasti < 0:
        return False
    code = last.tb_frame.f_code
    ours = os.path.abspath(code.co_filename).startswith(_PACKAGE)
    return not ours and code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


# What operators raise when they reject a call.
_REFUSALS = (RuntimeError, IndexError, ValueError, AssertionError)

_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "&": "and_", "|": "or_", "^": "xor", "<<": "lshift", ">>": "rshift",
    "<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge",
}  # fmt: skip


def _operator(error: BaseException) -> str | None:
    """The operator of Python at which the user's code failed, by its name in the operator module."""
    at, user = error.__traceback__, None
    while at is not None:
        if not os.path.abspath(at.tb_frame.f_code.co_filename).startswith(_PACKAGE):
            user = at
        at = at.tb_next
    if user is None:
        return None
    for step in dis.get_instructions(user.tb_frame.f_code):
        if step.offset == user.tb_lasti:
            text = step.argrepr
            if step.opname == "BINARY_OP" and text.endswith("=") and text[:-1] in _OPERATORS:
                return "i" + _OPERATORS[text[:-1]].rstrip("_")
            return _OPERATORS.get(text) if step.opname in ("BINARY_OP", "COMPARE_OP") else None
    return None


def _failed_call(error: BaseException) -> str | None:
    """The call that failed, as in PyTorch's message; None: unknown."""
    call = getattr(error, "_call", None)
    if call is None:
        return None
    fn, args, kwargs = call
    name, operator = getattr(fn, "__name__", fn), _operator(error)
    if isinstance(fn, str):
        shown = f"call_function {fn}" if fn.startswith("<") else f"call_module {fn}"
    elif operator is not None:
        shown = f"call_function <built-in function {operator}>"
    elif type(fn).__name__ == "Method":
        shown = f"call_method {name}"
    elif type(fn).__name__ != "Function":  # an operator by its own name
        shown = f"call_function {fn}"
    elif fn._is_nn:
        shown = f"call_function {fn}"
    else:
        shown = f"call_function <built-in method {name} of type object at {id(fn):#x}>"
    return f"Failed running {shown}(*{args}, **{kwargs}):\n{error}"


def refuse_plain_result(fn: object, result: object) -> None:
    """In a strict capture a function of torch does not answer with a plain number."""
    text = f"torch.* op returned non-Tensor {type(result).__name__} call_function {fn}"
    raise Unsupported(from_user_code(text, trace_stack()))


def _unknown_result(error: BaseException) -> str | None:
    """How PyTorch's front end words that the result of an operator stands in the data; None: that is not the error.
    The text of such an error is the name of the operator."""
    if isinstance(error, DataDependentOutputException):
        return f"data dependent operator: {error}; to enable, set torch._dynamo.config.capture_scalar_outputs = True"
    if isinstance(error, DynamicOutputShapeException):
        return (
            f"dynamic shape operator: {error}; Operator does not have a meta kernel that supports dynamic output "
            "shapes, please report an issue to PyTorch"
        )
    return None


def strict_error(error: BaseException) -> Exception | None:
    """The error that a strict capture raises instead; None: the same one."""
    failed = _failed_call(error) if type(error) in _REFUSALS else None
    if failed is not None:
        return TorchRuntimeError(from_user_code(failed, _user_stack(error)))
    unknown = _unknown_result(error)
    if unknown is not None:
        return Unsupported(from_user_code(unknown, _user_stack(error)))
    if isinstance(error, Exception) and _is_raised_by_program(error):
        return Unsupported(from_user_code("Observed exception", _user_stack(error)))
    if isinstance(error, GuardOnDataDependentSymNode) and getattr(error, "_on_tensor", False):
        return UserError(UserErrorType.DYNAMIC_CONTROL_FLOW, from_user_code(_BRANCH, _user_stack(error)))
    if isinstance(error, GuardOnDataDependentSymNode):
        # a query of an operator, not of the program itself
        inside = any(issue["op"] for issue in getattr(error, "issues", ()))
        text = f"{error}\n\n{_INSIDE}" if inside else f"Consider annotating your code using torch._check*(). {error}"
        text += f"\nFor more information about this error, see: {_CASE}"
        return UserError(UserErrorType.ANTI_PATTERN, text)
    if isinstance(error, ConstraintViolationError):
        return UserError(UserErrorType.CONSTRAINT_VIOLATION, f"{error}\n\n{_LOGS}\n")
    return None


def carry_issues(error: BaseException, other: Exception) -> None:
    """Copies the engine's data about an error to the one that is raised instead."""
    for known in ("issues", "fixes"):
        if hasattr(error, known):
            setattr(other, known, getattr(error, known))
    carry_code(error, other)
