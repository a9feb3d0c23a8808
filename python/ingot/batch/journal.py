# SPDX-License-Identifier: Apache-2.0
"""What a job has done so far: a folder beside its output with a file per finished part.

A part is a range of rows. Its file appears under its name when it is complete and on the disk, and holds the results
and the bad rows of the range together: a part is done or not, whenever the process ends. Doing one twice, because two
machines were asked to, replaces a file by one of the same contents. The name has a digest of the job's description, so
that what a late worker of another job writes is never taken for a part of this one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from typing import Any

import numpy

from ingot.batch.files import replacing, sync_folder

Group = tuple[numpy.ndarray, dict[str, numpy.ndarray]]  # row numbers, results of these rows


class Journal:
    """The folder of a job. Picklable."""

    def __init__(self, output: str, job: dict[str, Any]) -> None:
        """job: what makes its results what they are, in types of JSON."""
        self.folder = output + ".parts"
        self.job = job
        self.digest = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()[:16]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"folder": os.path.abspath(self.folder)}  # other processes are in other folders

    def open(self, fresh: bool) -> None:
        """Begin the job, or take it up where it stopped; fresh: forget what was done."""
        job = self.job
        path = os.path.join(self.folder, "job.json")
        if fresh:
            self.remove()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            differs = [key for key in job if found.get(key) != job[key]]
            if differs:
                raise ValueError(
                    f"{self.folder}: holds the beginning of another job, whose {differs[0]} is "
                    f"{found.get(differs[0])!r} instead of {job[differs[0]]!r}. --fresh discards it"
                )
            return
        parent = os.path.dirname(os.path.abspath(self.folder))
        if not os.path.isdir(parent):
            raise FileNotFoundError(f"{parent}: no such folder; the results and the parts that are done go there")
        self.remove()  # parts without a job are what is left of one whose removal was interrupted
        os.makedirs(self.folder, exist_ok=True)
        with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump(job, file, indent=1)
        sync_folder(parent)

    def _path(self, part: int) -> str:
        return os.path.join(self.folder, f"{self.digest}-{part:09d}.npz")

    def done(self) -> set[int]:
        """The finished parts."""
        begin = self.digest + "-"
        names = [name for name in os.listdir(self.folder) if name.startswith(begin) and name.endswith(".npz")]
        return {int(name[len(begin) : -4]) for name in names}

    def put(self, part: int, groups: list[Group], bad: dict[int, str]) -> None:
        """Finish a part."""
        arrays: dict[str, numpy.ndarray] = {}
        for index, (rows, results) in enumerate(groups):
            arrays[f"{index}/"] = rows
            arrays.update({f"{index}/{name}": value for name, value in results.items()})
        shapes = {name: sorted({r[name].shape[1:] for _, r in groups}) for name in (groups[0][1] if groups else {})}
        note = json.dumps({"bad": sorted(bad.items()), "shapes": shapes})
        arrays["note"] = numpy.frombuffer(note.encode(), dtype=numpy.uint8)
        with replacing(self._path(part)) as temporary, open(temporary, "wb") as file:
            numpy.savez(file, **arrays)

    def note(self, part: int) -> tuple[list[tuple[int, str]], dict[str, set[tuple[int, ...]]]]:
        """Of a finished part: its bad rows in order, with the reasons, and the shapes of the results by output."""
        with numpy.load(self._path(part), allow_pickle=False) as archive:
            note = json.loads(archive["note"].tobytes().decode())
        bad = [(int(row), reason) for row, reason in note["bad"]]
        return bad, {name: {tuple(shape) for shape in found} for name, found in note["shapes"].items()}

    def get(self, part: int) -> list[Group]:
        """The results of a finished part."""
        groups: dict[str, Group] = {}
        with numpy.load(self._path(part), allow_pickle=False) as archive:
            for key in archive.files:
                index, slash, name = key.partition("/")
                if slash and not name:
                    groups[index] = (archive[key], {})
                elif slash:
                    groups[index][1][name] = archive[key]
        return list(groups.values())

    def remove(self) -> None:
        """The job is complete, or forgotten. The description goes first: without it the rest counts for nothing."""
        if not os.path.isdir(self.folder):
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, "job.json"))
        sync_folder(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
