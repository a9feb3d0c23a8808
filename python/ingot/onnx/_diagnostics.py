# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of an export, as SARIF."""
from __future__ import annotations

import dataclasses
import json
import os
from typing import Any


@dataclasses.dataclass
class Diagnostic:
    """One finding: an operator without translation, an output that differs."""

    rule: str
    level: str  # "none", "note", "warning", "error"
    message: str
    file: str | None = None
    line: int | None = None

    def sarif(self) -> dict[str, Any]:
        out: dict[str, Any] = {"ruleId": self.rule, "level": self.level, "message": {"text": self.message}}
        if self.file is not None:
            place = {"artifactLocation": {"uri": self.file}, "region": {"startLine": self.line}}
            out["locations"] = [{"physicalLocation": place}]
        return out


@dataclasses.dataclass
class DiagnosticContext:
    """All findings of one export."""

    name: str
    version: str
    diagnostics: list[Diagnostic] = dataclasses.field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def sarif_log(self) -> dict[str, Any]:
        rules = [{"id": rule} for rule in sorted({d.rule for d in self.diagnostics})]
        driver = {"name": self.name, "version": self.version, "rules": rules}
        run = {"tool": {"driver": driver}, "results": [d.sarif() for d in self.diagnostics]}
        return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}

    def dump(self, file_path: str | os.PathLike, compress: bool = False) -> None:
        text = json.dumps(self.sarif_log(), indent=2)
        if compress:
            import gzip

            with gzip.open(file_path, "wt") as stream:
                stream.write(text)
        else:
            with open(file_path, "w") as stream:
                stream.write(text)
