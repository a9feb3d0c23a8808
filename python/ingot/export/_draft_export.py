# SPDX-License-Identifier: Apache-2.0
"""draft_export: an export that always produces a program. What export would reject is decided by the example inputs
instead, and reported with the user's source line and a suggested edit."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any

from ingot import _C, nn
from ingot.export import _trace
from ingot.export.exported_program import ExportedProgram

__all__ = ["DraftExportReport", "FailureReport", "FailureType", "OpProfile", "TensorMetadata", "draft_export"]


class FailureType(enum.IntEnum):
    """The kind of an issue."""

    MISSING_FAKE_KERNEL = 1
    DATA_DEPENDENT_ERROR = 2
    GUARD_ADDED = 3
    MISMATCHED_FAKE_KERNEL = 4

    def __str__(self) -> str:
        return self.name


_TYPES = {
    "missing_fake": FailureType.MISSING_FAKE_KERNEL,
    "data_dependent": FailureType.DATA_DEPENDENT_ERROR,
    "constraint": FailureType.GUARD_ADDED,
    "mismatched_fake": FailureType.MISMATCHED_FAKE_KERNEL,
}


@dataclasses.dataclass
class FailureReport:
    """One issue: `data` has file, line, function, source, op, operands, expr, result, reason, fix, occurrences."""

    failure_type: FailureType
    data: dict[str, Any]
    xfail: bool = False

    @property
    def fixes(self) -> list[str]:
        """Edits that would resolve it: one text per check, or one text that is a whole function."""
        text = self.data["fix"].rstrip("\n")
        if self.data["kind"] in ("missing_fake", "mismatched_fake"):
            return [text] if text else []
        return text.split("\n") if text else []


@dataclasses.dataclass(frozen=True)
class TensorMetadata:
    rank: int
    dtype: Any
    device: Any
    layout: Any


@dataclasses.dataclass(frozen=True)
class OpProfile:
    """Operands and results of an operator without a fake kernel in the draft."""

    args_profile: tuple
    out_profile: Any


class DraftExportReport:
    """What a draft found; print it."""

    def __init__(self, failures: list[FailureReport], text: str, json_text: str, op_profiles: dict[str, set]) -> None:
        self.failures = failures
        self.op_profiles = op_profiles
        self._text = text
        self._json = json_text

    def successful(self) -> bool:
        """Whether torch.export.export would have returned the same program."""
        return all(failure.xfail for failure in self.failures)

    def to_json(self) -> str:
        """The issues as JSON."""
        return json.dumps(json.loads(self._json))

    def __repr__(self) -> str:
        return f"DraftExportReport({self.failures})"

    def __str__(self) -> str:
        if self.successful():
            line = "#" * 94
            return (
                f"{line}\nCongratulations: No issues are found during export, and it was able to soundly produce a "
                f"graph.\nYou can now change back to torch.export.export()\n{line}\n"
            )
        line = "#" * 99
        return (
            f"{line}\nWARNING: {len(self.failures)} issue(s) found during export, and it was not able to soundly "
            f"produce a graph.\nPlease follow the instructions to fix the errors.\n{line}\n\n{self._text}"
        )


def _metadata(value: Any) -> Any:
    if isinstance(value, _C.Tensor):
        return TensorMetadata(value.dim(), value.dtype, value.device, value.layout)
    if isinstance(value, (list, tuple)):
        return tuple(_metadata(v) for v in value)
    return None


def _profiles(program: ExportedProgram, failures: list[FailureReport]) -> dict[str, set]:
    kinds = (FailureType.MISSING_FAKE_KERNEL, FailureType.MISMATCHED_FAKE_KERNEL)
    out: dict[str, set] = {f.data["op"]: set() for f in failures if f.failure_type in kinds}
    for node in program.graph.nodes:
        name = str(node.target)
        if node.op == "call_function" and name in out:
            args = tuple(_metadata(a.meta["val"]) if hasattr(a, "meta") else None for a in node.args)
            out[name].add(OpProfile(args, _metadata(node.meta["val"])))
    return out


def draft_export(
    mod: nn.Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: tuple[str, ...] = (),
    strict: bool = False,
    pre_dispatch: bool = True,
) -> ExportedProgram:
    """A program and, in `._report`, the issues that prevent torch.export.export."""
    run = _trace._run(mod, args, kwargs, dynamic_shapes, strict, level="dispatched", draft=True)
    program = _trace.program_of(run)
    issues, text, json_text = _C.program_report(run.result)
    failures = [FailureReport(_TYPES[issue["kind"]], issue) for issue in issues]
    for failure in failures:
        if failure.failure_type is FailureType.GUARD_ADDED:
            failure.data["new_dynamic_shapes"] = run.shapes
    program._report = DraftExportReport(failures, text, json_text, _profiles(program, failures))
    return program
