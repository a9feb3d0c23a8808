# SPDX-License-Identifier: Apache-2.0
"""Replays recorded TorchScript programs (script_records.jsonl.gz) with Ingot in place of torch, each in a process of
its own, because the counter behind mangled names starts at 0. Prints one JSON object: "name field" -> null if
Ingot gives what PyTorch 2.5.1 or 2.4.1 gave, else [found, expected].

    python script_replay.py RECORDS.jsonl[.gz]... [NAME... | PART/PARTS | list]

Fields: outcome (runs or refuses), error (class and first line of a refusal), place (the marked lines of its text),
values (results of calls; where the original's differ from Python's own result, either counts), call_errors, grad,
stdout, warnings, code (exact but for the order of Final lines), graph and inlined_graph (normal form), schema, type,
archive_code, post, out (of a program that tells facts).
"""

from __future__ import annotations

import contextlib
import enum
import gzip
import io
import json
import linecache
import math
import os
import re
import signal
import sys
import tempfile
import types
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import ingot.as_torch  # noqa: F401

import torch  # isort: skip  # means Ingot from here on

SECONDS = 60  # for one program
TOLERANCE = (1e-5, 1e-6)  # relative, absolute
HOME = os.path.dirname(os.path.dirname(os.path.realpath(ingot.__file__))) + "/"
SITE = os.path.dirname(os.path.dirname(ingot.__file__)) + "/"
NUMBERED = re.compile(r"%[\w.]+")


# ---- what a program gives


def clean(text: Any) -> str:
    text = str(text).replace(SITE, "").replace(HOME, "")
    text = re.sub(r"\bingot(?=[./])", "torch", text)
    text = re.sub(r"(?<![\w.*)\]])/(?:work|tmp|usr|root|home|opt|var)/[^\s\"',:)]*", "<path>", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x0", text)


def error_of(error: BaseException, stage: str) -> dict[str, str]:
    kind = type(error)
    home = "" if kind.__module__ == "builtins" else clean(kind.__module__) + "."
    home = home.replace("torch._C.", "torch.jit.") if kind.__name__ == "Error" else home
    return {"stage": stage, "class": home + kind.__qualname__, "text": clean(error)}


def number_of(value: Any) -> Any:
    if isinstance(value, complex):
        return [number_of(value.real), number_of(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def numbers_of(value: Any) -> Any:
    return [numbers_of(item) for item in value] if isinstance(value, list) else number_of(value)


def tensor_of(value: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"tensor": str(value.dtype).replace("torch.", ""), "shape": list(value.shape)}
    if getattr(value, "is_quantized", False):
        row["scale"], row["zero_point"] = number_of(float(value.q_scale())), int(value.q_zero_point())
        value = value.int_repr()
    if value.requires_grad:
        row["requires_grad"] = True
    value = value.detach()
    if value.dtype in (torch.bfloat16, torch.float16):
        value = value.float()
    if value.numel() <= 64:
        row["v"] = numbers_of(value.tolist())
    else:
        flat = value.reshape(-1).to(torch.complex128 if value.is_complex() else torch.float64)
        row["sum"] = number_of(flat.sum().item())
        row["head"], row["tail"] = numbers_of(flat[:8].tolist()), numbers_of(flat[-4:].tolist())
    return row


def value_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor_of(value)
    if isinstance(value, enum.Enum):
        return {"enum": str(value)}
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": number_of(value)}
    if isinstance(value, complex):
        return {"complex": number_of(value)}
    if isinstance(value, torch.Size):
        return {"size": list(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = {name: value_of(item) for name, item in zip(value._fields, value)}
        return {"namedtuple": type(value).__name__, "fields": fields}
    if isinstance(value, tuple):
        return {"tuple": [value_of(item) for item in value]}
    if isinstance(value, list):
        return [value_of(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[value_of(key), value_of(item)] for key, item in value.items()]}
    if isinstance(value, (torch.device, torch.dtype, torch.layout)):
        return {type(value).__name__: clean(value)}
    return object_of(value)


def object_of(value: Any) -> Any:
    if type(value).__name__ == "Future":
        return {"future": value_of(value.wait())}
    if type(value).__name__ == "ScriptObject":
        return {"object": value._type().qualified_name()}
    return {"python": type(value).__name__, "repr": clean(repr(value))[:2000]}


def fresh(value: Any) -> Any:
    """The arguments of one call: tensors and containers that no other call sees."""
    if isinstance(value, torch.Tensor):
        if getattr(value, "is_quantized", False):
            return value.clone()
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(fresh, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(fresh, value))
    return {key: fresh(item) for key, item in value.items()} if type(value) is dict else value


def floats_of(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        plain = not getattr(value, "is_quantized", False)
        return [value] if plain and (value.is_floating_point() or value.is_complex()) else []
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in floats_of(item)] if isinstance(value, (list, tuple)) else []


def gradient(function: Callable, args: Any) -> Any:
    args = fresh(tuple(args))
    leaves = [leaf for leaf in floats_of(args) if leaf.is_leaf and not leaf.is_complex()]
    if not leaves:
        return None
    leaves[0].requires_grad_(True)
    losses = []
    for out in floats_of(function(*args)):
        if out.requires_grad:
            out = torch.view_as_real(out) if out.is_complex() else out
            weights = (torch.arange(out.numel()) % 7 + 1).to(out.dtype).reshape(out.shape)
            losses.append((out * weights).sum())
    if not losses:
        return None
    sum(losses[1:], losses[0]).backward()
    return leaves[0].grad


@contextlib.contextmanager
def capture(found: dict) -> Iterator[None]:
    """What the process writes to its standard output, and Python's warnings."""
    sys.stdout.flush()
    old = os.dup(1)
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(old, 1)
            os.close(old)
            file.seek(0)
            text = clean(file.read().decode(errors="replace"))
            if text:
                found["stdout"] = found.get("stdout", "") + text
            for row in caught:
                warning = {"class": row.category.__name__, "text": clean(row.message), "file": clean(row.filename)}
                deprecated = "deprecat" in warning["text"].lower() and "torch.jit" not in warning["text"]
                if not (deprecated and "program.py" not in warning["file"]):
                    rows = found.setdefault("warnings", [])
                    rows += [] if warning in rows else [warning]


def attempt(found: dict, stage: str, run: Callable, *args: Any) -> Any:
    try:
        return run(*args)
    except Exception as error:
        found.setdefault("failed", []).append(error_of(error, stage))


def module_texts(module: Any, found: dict) -> None:
    graphs, inlined, codes = found.setdefault("graph", {}), found.setdefault("inlined_graph", {}), {}
    found["code"] = codes

    def one(method: Any, key: str, top: bool) -> None:
        graphs[key] = clean(method.graph)
        if top:
            copy = method.graph.copy()
            torch._C._jit_pass_inline(copy)
            inlined[key] = clean(copy)
        codes[key] = clean(method.code)

    def walk(part: Any, path: str, depth: int) -> None:
        for name in sorted(part._method_names()):
            attempt(found, "texts " + path + name, one, part._get_method(name), path + name, not path)
        for name, child in torch._C.ModuleDict(part).items():
            if depth < 3:
                walk(child, f"{path}{name}.", depth + 1)

    walk(module._c, "", 0)
    found["type"] = module._c._type().qualified_name()


def archive_texts(what: Any) -> dict[str, str]:
    file = io.BytesIO()
    torch.jit.save(what, file)
    archive = zipfile.ZipFile(io.BytesIO(file.getvalue()))
    paths = [(name, name.split("/", 1)[1]) for name in archive.namelist()]
    codes = [(name, path) for name, path in paths if path.startswith("code/") and path.endswith(".py")]
    return {path: clean(archive.read(name).decode()) for name, path in codes}


def texts(what: Any, found: dict) -> None:
    if isinstance(what, torch.jit.ScriptModule):
        attempt(found, "texts", lambda: module_texts(what, found))
        found["archive_code"] = attempt(found, "archive", lambda: archive_texts(what))
    elif isinstance(what, torch.jit.ScriptFunction):
        for name in ("graph", "inlined_graph", "code", "schema"):
            text = attempt(found, name, getattr, what, name)
            found[name] = None if text is None else clean(text)
        found["archive_code"] = attempt(found, "archive", lambda: archive_texts(what))


def call_all(target: Callable, calls: list) -> list:
    outs: list = []
    for call in calls:
        args, options = call if isinstance(call, list) and call else (call, {})
        given = fresh(tuple(args))
        try:
            out = value_of(target(*given, **fresh(options)))
            changed = repr(value_of(given)) != repr(value_of(fresh(tuple(args))))
            outs.append({"out": out, "args_after": value_of(given)} if changed else out)
        except Exception as error:
            outs.append({"error": error_of(error, "call")})
    return outs


def load(source: str) -> dict[str, Any]:
    linecache.cache["program.py"] = (len(source), None, source.splitlines(True), "program.py")
    module = types.ModuleType("program")
    module.__file__ = "program.py"
    sys.modules["program"] = module
    torch.manual_seed(0)
    exec(compile(source, "program.py", "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def build(space: dict) -> Any:
    if "M" not in space:
        return space["fn"]
    module = space["M"]()
    module = space["fill"](module) if isinstance(module, torch.nn.Module) else module
    return module.eval() if space.get("eval_mode") else module


def convert(space: dict, kind: str) -> Any:
    what = build(space)
    if kind == "trace":
        options = space.get("trace_kwargs", {})
        if "inputs" in space:
            made = torch.jit.trace_module(what, fresh(space["inputs"]), **options)
        else:
            made = torch.jit.trace(what, fresh(space["args"]), **options)
    else:
        made = torch.jit.script(what, **space.get("script_kwargs", {}))
    if space.get("freeze"):
        made = torch.jit.freeze(made.eval(), **space.get("freeze_kwargs", {}))
    return space["transform"](made) if space.get("transform") else made


def refused(found: dict, error: Exception, stage: str) -> dict:
    found["error"] = error_of(error, stage)
    return found


def replay(record: dict) -> dict[str, Any]:
    found: dict[str, Any] = {}
    stage = "define"
    try:
        with capture(found):
            space = load(record["source"])
            if "run" in space:
                stage = "run"
                found["out"] = [value_of(space["run"]())]
                return found
            stage = "trace" if record["kind"] == "trace" else "script"
            made = convert(space, record["kind"])
    except Exception as error:
        return refused(found, error, stage)
    texts(made, found)
    calls = space.get("calls") or ([space["args"]] if "args" in space else [])
    if callable(made):
        with capture(found):
            torch.manual_seed(0)
            found["out"] = call_all(made, calls)
        first = calls[0] if calls else []
        if "grad" in record and not isinstance(first, list):
            with capture({}):
                grad = attempt(found, "grad", lambda: gradient(made, first))
            found["grad"] = None if grad is None else value_of(grad)
    if "post" in space:
        with capture(found):
            found["post"] = attempt(found, "post", lambda: value_of(space["post"](made)))
    return found


# ---- comparison


def close(a: Any, b: Any) -> bool:
    """Equal, but for the rounding of floating-point numbers."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if type(a) is not type(b) or isinstance(a, int):
            return type(a) is type(b) and a == b
        return abs(a - b) <= TOLERANCE[1] + TOLERANCE[0] * abs(b) or a == b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b


def normal_graph(text: str) -> str:
    """Without places and scopes, leading constants sorted, values numbered in order of definition."""
    lines = [re.sub(r"( # [^\"]*:\d+:\d+)?$", "", line) for line in text.rstrip("\n").split("\n")]
    lines = [re.sub(r", scope: \S+$", "", line) for line in lines]
    out: list[str] = []
    at = 0
    while at < len(lines):
        start = at
        while at < len(lines) and re.match(r"  %[\w.]+ : [^=]*= prim::Constant", lines[at]):
            at += 1
        if at > start:
            out += sorted(lines[start:at], key=lambda line: line.split(" : ", 1)[1])
        else:
            out.append(lines[at])
            at += 1
    names: dict[str, str] = {}
    return NUMBERED.sub(lambda m: names.setdefault(m.group(), f"%{len(names)}"), "\n".join(out))


def normal_code(text: str) -> list[str]:
    """Runs of Final lines in sorted order."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and " : Final[" in lines[end]:
            end += 1
        lines[at:end] = sorted(lines[at:end])
        at = max(end, at + 1)
    return lines


def same_texts(found: Any, wanted: Any, form: Callable) -> bool:
    if isinstance(wanted, dict):
        same = isinstance(found, dict) and found.keys() == wanted.keys()
        return same and all(same_texts(found[key], wanted[key], form) for key in wanted)
    return isinstance(found, str) and form(found) == form(wanted)


def first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def last_line(text: str) -> str:
    return first_line("\n".join(reversed(text.split("\n"))))


def is_error(out: Any) -> bool:
    return isinstance(out, dict) and set(out) == {"error"}


def same_values(found: list, wanted: list) -> bool:
    if len(found) != len(wanted):
        return False
    return all(is_error(a) == is_error(b) and (is_error(b) or close(a, b)) for a, b in zip(found, wanted))


def call_errors(outs: Any) -> list:
    rows = [out["error"] for out in outs or [] if is_error(out)]
    return [[row["class"], first_line(row["text"]), last_line(row["text"])] for row in rows]


def marked(text: str) -> list[str]:
    lines = text.split("\n")
    return [lines[i - 1] + "\n" + line for i, line in enumerate(lines) if i and "<--- HERE" in line]


def plain_warning(row: dict) -> list[str]:
    """The file counts if it is the user's."""
    return [row["class"], row["text"], row["file"] if row["file"] == "program.py" else "library"]


def refusal_of(record: dict) -> dict | None:
    rows = [row for row in record.get("errors", []) if row["stage"] in ("define", "script", "trace", "run")]
    return rows[0] if rows else None


def compare(found: dict, record: dict) -> dict[str, Any]:
    """Field -> None, or what was found and what was expected."""
    fields: dict[str, Any] = {}

    def put(field: str, same: bool, got: Any, wanted: Any) -> None:
        fields[field] = None if same else [got, wanted]

    if "crashed" in record:  # the original's process ended: nothing to agree with
        return {}
    wanted, got = refusal_of(record), found.get("error")
    put("outcome", (wanted is None) == (got is None), got or "runs", wanted or "runs")
    if wanted:
        got = got or {"class": "", "text": ""}
        pair = [[row["class"], first_line(row["text"])] for row in (got, wanted)]
        put("error", pair[0] == pair[1], *pair)
        if marked(wanted["text"]):
            put("place", marked(got["text"]) == marked(wanted["text"]), marked(got["text"]), marked(wanted["text"]))
        return fields
    if record["kind"] == "run" or "graph" not in record and "out" in record:
        put("out", close(found.get("out"), record["out"]), found.get("out"), record["out"])
        return fields
    for field in ("graph", "inlined_graph"):
        if field in record:
            same = same_texts(found.get(field), record[field], normal_graph)
            put(field, same, found.get(field), record[field])
    for field in ("code", "archive_code"):
        if field in record:
            put(field, same_texts(found.get(field), record[field], normal_code), found.get(field), record[field])
    for field in ("schema", "type"):
        if field in record:
            put(field, found.get(field) == record[field], found.get(field), record[field])
    if "warnings" in record:
        rows = [[plain_warning(row) for row in side.get("warnings", [])] for side in (found, record)]
        put("warnings", rows[0] == rows[1], *rows)
    for field in ("grad", "post"):
        if field in record:
            put(field, close(found.get(field), record[field]), found.get(field), record[field])
    if "stdout" in record or "stdout" in found:
        put("stdout", found.get("stdout") == record.get("stdout"), found.get("stdout"), record.get("stdout"))
    if record.get("out"):
        outs = found.get("out") or []
        answers = [record["out"]] + ([record["eager_out"]] if "eager_out" in record else [])
        put("values", any(same_values(outs, answer) for answer in answers), outs, record["out"])
        if call_errors(record["out"]):
            put("call_errors", call_errors(outs) == call_errors(record["out"]), call_errors(outs), record["out"])
    return fields


def compare_all(found: dict, releases: list[dict]) -> dict[str, Any]:
    fields = compare(found, releases[0])
    for release in releases[1:]:
        for field, difference in compare(found, {**releases[0], **release}).items():
            if difference is None:
                fields[field] = None
    return fields


# ---- running


def in_child(work: Callable[[], Any]) -> Any:
    """The result of work in a process of its own; a text if that process ended early."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            result = json.dumps(work())
        except BaseException as error:
            result = json.dumps(f"harness: {type(error).__name__}: {error}")
        with os.fdopen(writer, "w") as file:
            file.write(result)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else f"the process ended with status {status}"


def replay_child(record: dict) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("program.py", "w") as file:
            file.write(record["source"])
        result = in_child(lambda: replay(record))
        os.chdir("/")
    if isinstance(result, str):
        result = {"error": {"stage": "process", "class": "", "text": result}}
    return result


def records_of(paths: list[str]) -> dict[str, list[dict]]:
    """Name -> the records of each release, the first of them complete."""
    rows: dict[str, list[dict]] = {}
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
            for line in file:
                record = json.loads(line)
                rows.setdefault(record["name"], []).append(record)
    return rows


def select(rows: dict, names: list[str]) -> dict:
    if not names:
        return rows
    if re.fullmatch(r"\d+/\d+", names[0]):
        part, parts = map(int, names[0].split("/"))
        return {name: row for i, (name, row) in enumerate(sorted(rows.items())) if i % parts == part}
    return {name: row for name, row in rows.items() if name in names}


def main(argv: list[str]) -> None:
    paths = [arg for arg in argv if re.search(r"\.jsonl(\.gz)?$", arg)]
    names = [arg for arg in argv if arg not in paths]
    rows = records_of([os.path.abspath(path) for path in paths])
    if names == ["list"]:
        print(json.dumps(sorted(rows)))
        return
    torch.set_num_threads(1)
    results: dict[str, Any] = {}
    for name, releases in select(rows, names).items():
        fields = compare_all(replay_child(releases[0]), releases)
        results |= {f"{name} {field}": difference for field, difference in fields.items()}
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
