# SPDX-License-Identifier: Apache-2.0
"""`python -m ingot.score`: what `ingot score` starts; docs/command.md describes it."""

from __future__ import annotations

import argparse
import json
import sys
import time

from ingot.batch import Report, score

FAILED, REFUSED, IO, INTERRUPTED = 5, 3, 4, 130  # exit codes of the command


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ingot score")
    parser.add_argument("model")
    parser.add_argument("--data", required=True)
    parser.add_argument("--output", "-o", required=True)
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--outputs")
    parser.add_argument("--keep")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--part", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--bad")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--precision")
    parser.add_argument("--mean")
    parser.add_argument("--std")
    parser.add_argument("--json", action="store_true")
    return parser


def _words(text: str | None) -> tuple[str, ...] | None:
    return tuple(text.split(",")) if text is not None else None


def _numbers(option: str, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        raise ValueError(f"{option}: found {text!r}, expected three numbers: 0.485,0.456,0.406")
    return numbers


def _columns(words: list[str]) -> dict[str, list[str]]:
    pairs = [word.partition("=") for word in words]
    for name, equals, columns in pairs:
        if not (name and equals and columns):
            found = name + equals + columns
            raise ValueError(f"--input: found {found!r}, expected INPUT=COLUMN or INPUT=COLUMN,COLUMN,...")
    return {name: columns.split(",") for name, _, columns in pairs}


class _Progress:
    """A line on a terminal after the first second: rows, rate, remaining time."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.first: int | None = None
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        seconds = time.monotonic() - self.begin
        self.first = done if self.first is None else self.first
        if not sys.stderr.isatty() or seconds < 1:
            return
        rate = max(done - self.first, 1) / seconds
        left = (total - done) / rate
        print(f"\rscoring {done:,} of {total:,} rows, {rate:,.0f} per second, {left:.0f} s left \x1b[K", end="",
              file=sys.stderr)
        self.shown = True

    def end(self) -> None:
        """Remove the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr)


def _tell(report: Report, output: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"output": output, **report._asdict()}, indent=2))
        return
    again = f", {report.taken_up} of {report.parts} parts were done before" if report.taken_up else ""
    print(f"{output}: {report.scored} of {report.rows} rows{again}")
    if report.bad:
        print(f"  {report.bad} bad {'row' if report.bad == 1 else 'rows'}, with reasons in the file beside it")


def _fail(error: BaseException, code: int) -> int:
    text = str(error).encode("unicode_escape").decode() if not str(error).isprintable() else str(error)
    print(f"ingot: {text}", file=sys.stderr)
    return code


def main(argv: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    options = _arguments().parse_args(argv)
    progress = _Progress()
    try:
        report = score(
            options.model, options.data, options.output, inputs=_columns(options.input),
            outputs=_words(options.outputs), keep=_words(options.keep), batch=options.batch, part_rows=options.part,
            threads=options.threads,
            engine=options.engine, workers=options.workers, bad=options.bad, fresh=options.fresh,
            precision=options.precision, mean=_numbers("--mean", options.mean), std=_numbers("--std", options.std),
            progress=progress,
        )
    except ModuleNotFoundError as error:
        return _fail(error, FAILED)
    except OSError as error:
        return _fail(error, IO)
    except ValueError as error:
        return _fail(error, REFUSED)
    except KeyboardInterrupt:
        return _fail(RuntimeError("stopped; the same command goes on where it stopped"), INTERRUPTED)
    except (RuntimeError, MemoryError, TypeError) as error:
        return _fail(error, FAILED)
    finally:
        progress.end()
    _tell(report, options.output, options.json)
    if report.rows and not report.scored:
        return _fail(RuntimeError(f"{options.data}: no row has a result"), FAILED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
