# SPDX-License-Identifier: Apache-2.0
"""The command, by transcripts: tests/cli/*.t holds command lines and what they print.

    $ ingot info mlp.pt2          a line for bash, in a folder with the files of tests/pt2/data and tests/model/data
    mlp.pt2: exported ...         its stdout; a line that ends in " (re)" is a regular expression
    2> ingot: ...                 its stderr, the same way
    [3]                           its exit status, if it is not 0

INGOT_UPDATE=1 regenerates the transcripts; lines with (re) that still match stay.
"""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys

import numpy
import pytest

import ingot

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release"))
INGOT = BUILD / "ingot"
GOLDENS = pathlib.Path(os.environ.get("INGOT_GOLDENS", ROOT.parent / "shared/goldens"))
UPDATE = os.environ.get("INGOT_UPDATE")

pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")


def environment() -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NO_COLOR")}
    path = os.pathsep.join([str(BUILD), os.path.dirname(sys.executable), env["PATH"]])
    return dict(env, PATH=path, TERM="dumb", LC_ALL="C.UTF-8")


def cases(path: pathlib.Path) -> list[tuple[str, list[str]]]:
    """(comments and the command line, expected lines) in order. A comment stands after a blank line."""
    found: list[tuple[str, list[str]]] = []
    lead = ""
    blank = True
    for line in path.read_text().splitlines():
        if line.startswith("$ "):
            found.append((lead + line, []))
            lead = ""
        elif (line.startswith("#") and (blank or lead)) or not found:
            lead += line + "\n"
        else:
            found[-1][1].append(line)
        blank = not line
    return found


def actual(command: str, folder: pathlib.Path) -> list[str]:
    env = environment()
    preload = os.environ.get("LD_PRELOAD")
    if preload:  # under sanitizers the interpreter needs their runtime, and the command must not have it twice
        wrapper = folder / ".bin" / "python3"
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text(f'#!/bin/sh\nLD_PRELOAD="{preload}" exec "{sys.executable}" "$@"\n')
        wrapper.chmod(0o755)
        env["PATH"] = f"{wrapper.parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=180)
    lines = done.stdout.splitlines()
    lines += [f"2> {line}" for line in done.stderr.splitlines()]
    return lines + ([f"[{done.returncode}]"] if done.returncode else [])


def matches(expected: str, line: str) -> bool:
    if expected.endswith(" (re)"):
        return re.fullmatch(expected.removesuffix(" (re)"), line) is not None
    return expected == line


def merged(expected: list[str], got: list[str]) -> list[str]:
    """The new transcript: patterns that match the line in their place stay."""
    return [e if e.endswith(" (re)") and matches(e, g) else g
            for e, g in zip(expected + [""] * len(got), got, strict=False)]


@pytest.mark.parametrize("path", sorted((ROOT / "tests/cli").glob("*.t")), ids=lambda path: path.stem)
def test_transcript(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for folder in ("tests/pt2/data", "tests/model/data"):
        for file in (ROOT / folder).iterdir():
            if file.is_file():
                shutil.copyfile(file, tmp_path / file.name)
    text = ""
    wrong = []
    for head, expected in cases(path):
        command = head.rsplit("$ ", 1)[1]
        while expected and not expected[-1]:
            expected.pop()
        got = actual(command, tmp_path)
        same = len(got) == len(expected) and all(map(matches, expected, got))
        if not same:
            wrong.append("\n".join([f"$ {command}", *(f"- {x}" for x in expected), *(f"+ {x}" for x in got)]))
        text += "\n".join([head, *merged(expected, got)]) + "\n\n"
    if UPDATE:
        path.write_text(text.rstrip("\n") + "\n")
    else:
        assert not wrong, "\n\n".join(wrong)


COMMANDS = ["info", "show", "run", "convert", "diff", "bisect", "verify", "shapes", "stats", "view", "bench", "score"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_page_has_every_option(command: str) -> None:
    page = (ROOT / "docs/ingot.1").read_text().replace("\\-", "-")
    section = page.split(f".SS {command} ")[1].split(".SS ")[0].split(".SH ")[0]
    common = page.split(".SH COMMON OPTIONS")[1]
    if "options for inputs of" in section:
        common += page.split(".SS run ")[1]
    printed = subprocess.run([INGOT, command, "--help"], env=environment(), capture_output=True, text=True).stdout
    options = re.findall(r"^ +(?:-\w, )?(--[\w-]+)", printed, re.M)
    assert "--help" in options
    for option in options:
        assert option in section or option in common, f"{command}: {option} is not in docs/ingot.1"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_valid_scripts(shell: str, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(subprocess.run([INGOT, "completion", shell], capture_output=True, check=True).stdout)
    text = script.read_text()
    for command in [*COMMANDS, "explain", "completion"]:
        options = subprocess.run([INGOT, command, "--help"], capture_output=True, text=True, check=True).stdout
        for option in re.findall(r"^ +(?:-\w, )?--([\w-]+)", options, re.M):
            assert f"-l {option} " in text if shell == "fish" else f"--{option}" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "-n", script], capture_output=True, text=True).stderr == ""
    if shell == "fish":
        asked = f"source {script}; complete -C 'ingot stats --fi'; complete -C 'ingot compl'"
        env = environment() | {"HOME": str(tmp_path)}
        done = subprocess.run(["fish", "-c", asked], capture_output=True, text=True, env=env)
        assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["--finite", "completion"]


class Flawed(ingot.nn.Module):
    def forward(self, x, mask):
        y = x.masked_fill(mask, float("-inf")).softmax(-1)  # an infinity that is meant
        z = x.exp()
        return y + (z - z), x[0]


@pytest.mark.parametrize(("third", "nan", "overflow"), [(3, None, None), (1000, "sub", "exp"), (numpy.nan, "x", None)])
def test_debug_nan(third: float, nan: str | None, overflow: str | None, tmp_path: pathlib.Path) -> None:
    mask = numpy.array([[True, False, False]] * 2)
    example = (ingot.ones(2, 3), ingot.tensor(mask))
    path = tmp_path / "m.pt2"
    ingot.export.save(ingot.export.export(Flawed(), example), str(path))
    ingot.onnx.export(Flawed(), example, str(tmp_path / "m.onnx"), dynamo=True)
    numpy.savez(tmp_path / "x.npz", arg0=numpy.float32([[1, 2, third], [1, 2, 3]]), arg1=mask)
    command = [INGOT, "run", path, "--inputs", tmp_path / "x.npz", "--debug-nan", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == (1 if nan else 0), done.stderr
    found = json.loads(done.stdout)
    assert (found["first_nan"] and found["first_nan"]["name"]) == nan
    assert (found["first_overflow"] and found["first_overflow"]["name"]) == overflow
    if overflow:
        assert found["first_overflow"]["operator"] == "aten.exp.default" and found["first_overflow"]["infinite"] == 1
        assert found["first_overflow"]["source"] == "z = x.exp()"
        assert found["first_nan"]["source"] == "return y + (z - z), x[0]"
    command[2] = tmp_path / "m.onnx"
    done = subprocess.run(command[:-1], capture_output=True, text=True, env=environment())
    assert done.returncode == (1 if nan else 0) and ("first NaN" in done.stdout) == bool(nan)
    assert ("first overflow" in done.stdout) == bool(overflow)


def on_a_terminal(*words: str, env: dict[str, str] | None = None, reads: bool = False) -> str:
    """What a person sees: stdout and stderr are one terminal; reads: stdin too."""
    master, slave = pty.openpty()
    env = environment() | {"TERM": "xterm"} | (env or {})
    done = subprocess.Popen([INGOT, *words], stdin=slave if reads else None, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            block = os.read(master, 4096)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        seen += block
    os.close(master)
    assert done.wait(60) == 0
    return seen.decode()


def test_colours_are_for_terminals_that_want_them() -> None:
    model = str(ROOT / "tests/pt2/data/mlp.pt2")
    assert "\x1b[1m" in on_a_terminal("info", model)
    assert "\x1b[" not in on_a_terminal("info", model, env={"NO_COLOR": "1"})
    assert "\x1b[" not in on_a_terminal("info", model, env={"TERM": "dumb"})
    assert "\x1b[" not in on_a_terminal("info", model, "--color=never")
    assert "\x1b[" in on_a_terminal("info", model, "--color=always", env={"NO_COLOR": "1"})


def test_long_output_goes_through_a_pager(tmp_path: pathlib.Path) -> None:
    model = str(ROOT / "tests/pt2/data/mlp.pt2")
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/PAGED /'\n")
    pager.chmod(0o755)
    seen = on_a_terminal("info", model, env={"PAGER": str(pager)}, reads=True)
    assert "PAGED " in seen and "\x1b[1m" in seen  # colours stay
    assert "\x1b[" not in on_a_terminal("info", model, env={"PAGER": str(pager), "NO_COLOR": "1"}, reads=True)
    for quiet in ({"PAGER": "cat"}, {"PAGER": ""}, {"PAGER": str(pager), "TERM": "dumb"}):
        assert "PAGED" not in on_a_terminal("info", model, env=quiet, reads=True)
    assert "PAGED" not in on_a_terminal("info", model, env={"PAGER": str(pager)})  # stdin is no terminal
    assert "PAGED" not in on_a_terminal("verify", model, env={"PAGER": str(pager)}, reads=True)
    env = environment() | {"PAGER": str(pager)}
    piped = subprocess.run([INGOT, "info", model], env=env, capture_output=True, text=True)
    assert "PAGED" not in piped.stdout


def test_progress_appears_after_a_second_and_goes() -> None:
    model = str(ROOT / "tests/pt2/data/mlp.pt2")
    for seconds in ("1.6", "5"):  # a busy machine may not get round to drawing
        seen = on_a_terminal("bench", model, "--seconds", seconds, "--threads", "1")
        drawn = re.findall(r"\r\x1b\[K(measuring [^\r]*)", seen)
        if drawn:
            break
    assert drawn and all(re.fullmatch(r"measuring \d+ s", line) for line in drawn)
    assert seen.split("\r\x1b[K")[-1].lstrip("\x1b[1m").startswith(str(ROOT))


def test_inputs_that_a_model_writes_are_results(tmp_path: pathlib.Path) -> None:
    class Writer(ingot.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", ingot.zeros(2, dtype=ingot.bfloat16))

        def forward(self, x: ingot.Tensor, h: ingot.Tensor) -> ingot.Tensor:
            x.mul_(2)
            self.seen.add_(h)
            return x.sum() + self.seen.sum()

    x, h = ingot.arange(3.0), ingot.ones(2, dtype=ingot.bfloat16)
    path = tmp_path / "writer.pt2"
    ingot.export.save(ingot.export.export(Writer(), (x.clone(), h)), path)
    one = numpy.full(2, 0x3F80, dtype=numpy.uint16)  # bfloat16 as its bits
    arrays = {"arg0": x.numpy(), "arg1": one, "mut_arg0": x.numpy() * 2, "mut_buf.seen": one,
              "out0": numpy.float32(8)}
    numpy.savez(tmp_path / "io.npz", **arrays)
    command = [INGOT, "run", path, "--inputs", tmp_path / "io.npz", "--check", tmp_path / "io.npz"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["mut_arg0", "mut_buf.seen", "out0"]
    numpy.savez(tmp_path / "io.npz", **arrays | {"mut_arg0": x.numpy()})
    assert subprocess.run(command, env=environment(), capture_output=True).returncode == 1


def test_numbers_go_in_and_come_out(tmp_path: pathlib.Path) -> None:
    class Numbers(ingot.nn.Module):
        def forward(self, x: ingot.Tensor, n: int, scale: float) -> tuple:
            return x * n * scale, x.shape[0] * n, None, n

    x = ingot.ones(3, 2)
    shapes = {"x": {0: ingot.export.Dim("rows")}, "n": None, "scale": None}
    path = tmp_path / "numbers.pt2"
    ingot.export.save(ingot.export.export(Numbers(), (x, 4, 0.5), dynamic_shapes=shapes), path)
    given = numpy.ones((5, 2), numpy.float32)
    numpy.savez(tmp_path / "io.npz", arg0=given, arg1=4, arg2=0.5, out0=given * 2, out1=20, out3=4)
    command = [INGOT, "run", path, "--inputs", tmp_path / "io.npz", "--check", tmp_path / "io.npz"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["out0", "out1", "out3"]
    numpy.savez(tmp_path / "io.npz", arg0=given, arg1=5, arg2=0.5)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 5 and "to be equal to 4, but got 5" in done.stderr


# ---- files of other releases


def releases() -> list[str]:
    return sorted(p.name for p in GOLDENS.iterdir() if p.is_dir()) if GOLDENS.exists() else []


def static_models(release: str) -> set[str]:
    """Models that the release could export for one set of sizes only: the second set does not fit."""
    rows = json.loads((GOLDENS / release / "manifest.json").read_text())
    return {row["model"] for row in rows if row.get("pt2_dynamic") is False}


def only_some_under_sanitizers(release: str) -> None:
    if "INGOT_SANITIZED" in os.environ and release not in ("2.1.2", "2.7.1", "2.8.0", "2.13.0"):
        pytest.skip("other releases are run without sanitizers")


@pytest.mark.skipif(not GOLDENS.exists(), reason="the golden files of PyTorch's releases are not here")
@pytest.mark.parametrize("kind", ["pt2", "ts.onnx", "dynamo.onnx"])
@pytest.mark.parametrize("release", releases())
def test_goldens_run_and_agree(release: str, kind: str) -> None:
    only_some_under_sanitizers(release)
    wrong = []
    count = 0
    static = static_models(release) if kind == "pt2" else set()
    for model in sorted((GOLDENS / release).glob(f"*.{kind}")):
        name = model.name.removesuffix(f".{kind}")
        for io in sorted((GOLDENS / release).glob(f"{name}.io*.npz")):
            if name in static and "io2" in io.name:
                continue
            done = subprocess.run([INGOT, "run", model, "--inputs", io, "--check", io], env=environment(),
                                  capture_output=True, text=True, timeout=60)
            count += 1
            if done.returncode:
                wrong.append(f"{model.name} {io.name}: {done.stdout[-300:]}{done.stderr[:300]}")
    assert count > 0
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not GOLDENS.exists(), reason="the golden files of PyTorch's releases are not here")
@pytest.mark.parametrize("release", releases())
def test_goldens_are_sound(release: str) -> None:
    only_some_under_sanitizers(release)
    for pattern in ("*.pt2", "*.onnx", "*.ts.pt", "*.ptl", "*.state.pt", "*.state.legacy.pt"):
        for file in sorted((GOLDENS / release).glob(pattern)):
            done = subprocess.run([INGOT, "verify", file], env=environment(), capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


def test_the_package_has_the_same_command():
    """What pip installs as `ingot` prints and returns what the program does."""
    start = "import sys; from ingot._command import main; sys.exit(main())"
    # Under sanitizers the interpreter needs their runtime and the options that the tests run with.
    interpreter = {k: v for k, v in os.environ.items() if k in ("LD_PRELOAD", "ASAN_OPTIONS")}
    for words in (["--version"], ["info", "tests/pt2/data/mlp.pt2"], ["info", "no such file"], ["no-such-command"]):
        runs = [([INGOT, *words], {}), ([sys.executable, "-c", start, *words], interpreter)]
        program, package = (
            subprocess.run(run, cwd=ROOT, capture_output=True, env=environment() | more) for run, more in runs
        )
        assert (package.returncode, package.stdout, package.stderr) == (
            program.returncode, program.stdout, program.stderr,
        )  # fmt: skip
