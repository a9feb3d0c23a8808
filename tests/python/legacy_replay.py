# SPDX-License-Identifier: Apache-2.0
"""Replays recorded exports (what torch.onnx.export(dynamo=False) of PyTorch 2.5.1 and 2.4.1 wrote) with Ingot in place
of torch and reports which fields agree. Run as a program: `legacy_replay.py RECORDS [NAME ...]` prints a JSON object
"name opset field" or "name variant field" -> null (agrees with one of the recorded versions) or [found, expected]. A
NAME like 3/24 is a part of all records, "list" gives their names.

Fields: outcome (written or refused), runs (where the original's model runs in onnxruntime and agrees with eager, so
does ours), checker, inputs, outputs (element types and sizes), names (of the outputs), inits, opsets, ops (no operator
that the original lacks, none more often), nodes (the same operators), error (class), message, warnings, result."""

import collections
import contextlib
import gzip
import io
import json
import linecache
import re
import sys
import types
import warnings
import zlib

import numpy as np
import onnx
import onnx.checker
import onnxruntime
from onnx import numpy_helper

from program_replay import chosen, in_child
from recorded_calls import make_inputs

import torch  # isort: skip  # means Ingot: program_replay has put it in place
import torch.nn.functional as F  # isort: skip
import torch.onnx  # isort: skip

TOLERANCE = 1e-4
SMALL = 32
IR_VERSIONS = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9}


# ---- models as the records describe them ----


def number(v):
    if isinstance(v, float):
        if v != v:
            return "nan"
        return ("inf" if v > 0 else "-inf") if v in (float("inf"), -float("inf")) else float(f"{v:.7g}")
    return v.decode("utf-8", "replace") if isinstance(v, bytes) else v


def tensor_text(t):
    out = {"dtype": onnx.TensorProto.DataType.Name(t.data_type), "shape": list(t.dims)}
    a = numpy_helper.to_array(t).reshape(-1)
    if a.size <= SMALL:
        return {**out, "values": [number(v) for v in a.tolist()]}
    return {**out, "head": [number(v) for v in a[:4].tolist()], "sum": number(float(a.astype(np.float64).sum()))}


def dim_text(d):
    kind = d.WhichOneof("value")
    return str(d.dim_value) if kind == "dim_value" else f"'{d.dim_param}'" if kind else "?"


def type_text(t):
    kind = t.WhichOneof("value")
    if kind == "tensor_type":
        name = onnx.TensorProto.DataType.Name(t.tensor_type.elem_type)
        dims = ",".join(map(dim_text, t.tensor_type.shape.dim))
        return f"{name}[{dims}]" if t.tensor_type.HasField("shape") else name
    if kind == "sequence_type":
        return f"seq({type_text(t.sequence_type.elem_type)})"
    return f"optional({type_text(t.optional_type.elem_type)})" if kind == "optional_type" else str(kind)


def attribute_text(a):
    value = onnx.helper.get_attribute_value(a)
    if a.type == onnx.AttributeProto.GRAPH:
        return {"g": graph_text(value)}
    return None


def graph_text(g):
    nodes = []
    for n in g.node:
        attr = {a.name: text for a in n.attribute if (text := attribute_text(a)) is not None}
        nodes.append({"op": n.op_type, "domain": n.domain, "name": n.name, "attr": attr})
    return {
        "inputs": [[v.name, type_text(v.type)] for v in g.input],
        "outputs": [[v.name, type_text(v.type)] for v in g.output],
        "inits": [{"name": t.name, **tensor_text(t)} for t in g.initializer],
        "nodes": nodes,
    }


def model_text(m):
    out = {"ir": m.ir_version, "imports": {o.domain: o.version for o in m.opset_import}, **graph_text(m.graph)}
    if m.functions:
        out["functions"] = sorted(f.name for f in m.functions)
    return out


# ---- running ----


def tensors(o):
    """What the records count as values of a result or of arguments."""
    if isinstance(o, torch.Tensor):
        return [o]
    if isinstance(o, (list, tuple)):
        return [t for v in o for t in tensors(v)]
    if isinstance(o, dict):
        return [t for v in o.values() for t in tensors(v)]
    return [torch.tensor(o)] if isinstance(o, (int, float, bool)) else []


def array(t):
    t = t.detach()
    if getattr(t, "is_quantized", False):
        t = t.dequantize()
    return (t.float() if t.dtype == torch.bfloat16 else t).numpy()


def run_model(data, feeds, want):
    """None: it runs and gives what eager gave."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        given = {k: v for k, v in feeds.items() if k in names} if isinstance(feeds, dict) else dict(zip(names, feeds))
        got = session.run(None, given)
    except Exception as error:
        return str(error)[:300]
    if want is None:
        return None
    if len(got) != len(want):
        return f"{len(got)} outputs, expected {len(want)}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if isinstance(a, list):
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {i} is {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not np.allclose(a, b, rtol=1e-3, atol=TOLERANCE, equal_nan=True):
            return f"output {i} differs by {np.max(np.abs(a - b))}"
    return None


def export(model, args, options, fn):
    """What one export gives: {"model"}, {"error"} or both."""
    sink, out = io.BytesIO(), {}
    torch.manual_seed(0)
    text = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(text):
        warnings.simplefilter("always")
        try:
            (fn or torch.onnx.export)(model, args, sink, **options)
        except Exception as error:
            c = type(error)
            out["error"] = {"class": f"{c.__module__}.{c.__qualname__}", "text": str(error)}
    out["warnings"] = list({f"{w.category.__name__}: {w.message}": None for w in caught})
    if sink.getvalue():
        out["data"] = sink.getvalue()
        out["model"] = onnx.load_from_string(out["data"])
    return out


# ---- comparing ----


def good_run(record):
    """Whether the original's model runs and agrees."""
    ort = record.get("ort") or {}
    bad = ("refused", "failed", "not_run", "dtype", "shape", "outputs", "random")
    return not any(key in ort for key in bad) and isinstance(ort.get("err"), float) and ort["err"] < 1e-2


def operators(graph):
    """How often each operator occurs, sub-graphs included."""
    out = collections.Counter()
    for n in graph["nodes"]:
        out[n["op"]] += 1
        for value in n.get("attr", {}).values():
            if isinstance(value, dict) and "g" in value:
                out += operators(value["g"])
    return out


def close(a, b):
    if isinstance(a, float) or isinstance(b, float):
        both = isinstance(a, (int, float)) and isinstance(b, (int, float))
        return a == b or (both and abs(a - b) <= 1e-5 + 1e-5 * abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    return a == b


def first_line(text):
    return re.sub(r"\d+", "N", text.strip().splitlines()[0]).replace("ingot.", "torch.") if text.strip() else ""


def short_class(name):
    return name.replace("ingot.", "torch.").replace("builtins.", "")


def compare(found, record, opset, want, feeds):
    """field -> None or [found, expected]; the record is one export."""
    out = {}

    def put(field, a, b, same):
        out[field] = None if same else [a, b]

    said = {re.sub(r"0x[0-9a-f]+", "0x0", text) for text in found["warnings"]}
    theirs_said = {f"{kind}: {text}" for kind, text in record.get("warnings", ()) if not kind.startswith("stderr")}
    put("warnings", sorted(said - theirs_said), sorted(theirs_said - said), said == theirs_said)
    refused = "model" not in found
    put("outcome", found.get("error", "written"), "refused" if "nodes" not in record else "written",
        refused == ("nodes" not in record))  # fmt: skip
    if "error" in record:
        mine = found.get("error") or {"class": "none", "text": ""}
        theirs = record["error"]
        put("error", mine["class"], theirs["class"], short_class(mine["class"]) == short_class(theirs["class"]))
        put("message", mine["text"][:400], theirs["text"][:400], first_line(mine["text"]) == first_line(theirs["text"]))
    if "nodes" not in record:
        return out
    fields = ["checker", "inputs", "outputs", "inits", "opsets", "ops", "nodes"]
    if good_run(record):
        fields.append("runs")
    if refused:
        return {**out, **{field: ["refused", ""] for field in fields}}
    mine = model_text(found["model"])
    put("inputs", mine["inputs"], record["inputs"], mine["inputs"] == record["inputs"])
    types_of = [t for _, t in mine["outputs"]], [row[1] for row in record["outputs"]]
    put("outputs", *types_of, types_of[0] == types_of[1])
    names = [n for n, _ in mine["outputs"]], [row[0] for row in record["outputs"]]
    put("names", *names, names[0] == names[1])
    put("inits", mine["inits"], record["inits"], close(mine["inits"], record["inits"]))
    imports = {**record["imports"], **({"": opset} if opset else {})}
    ir = IR_VERSIONS[opset] if opset else record["ir"]
    put("opsets", [mine["ir"], mine["imports"]], [ir, imports], mine["ir"] == ir and mine["imports"] == imports)
    ours, theirs = operators(mine), operators(record)
    put("ops", dict(ours - theirs), "", not ours - theirs)
    put("nodes", dict(ours), dict(theirs), ours == theirs)
    try:
        onnx.checker.check_model(found["model"])
        put("checker", True, True, True)
    except Exception as error:
        put("checker", str(error)[:200], record.get("checker"), record.get("checker") is not True)
    if good_run(record):
        said = run_model(found["data"], feeds, want)
        put("runs", said, None, said is None)
    return out


def best(every):
    """Of comparisons with several releases the one with the fewest differences; a field of it that differs agrees if it
    does so with another release."""
    chosen_one = min(every, key=lambda one: sum(value is not None for value in one.values()), default={})
    agreed = {field for one in every for field, value in one.items() if value is None}
    return {field: None if field in agreed else value for field, value in chosen_one.items()}


# ---- single calls ----


def call_module(record):
    source, names = record["source"], [s["name"] for s in record["inputs"]]
    torch.manual_seed(record["seed"])
    if source.startswith("nn."):
        made = eval(source, {"torch": torch, "nn": torch.nn, "F": F})
    else:
        body = [f"return {source}"] if not re.search(r"(^|; *)return ", source) else re.split(r";\s*", source)
        text = f"class M(torch.nn.Module):\n    def forward({', '.join(['self', *names])}):\n"
        made = load(text + "".join(f"        {line.strip()}\n" for line in body)).M()
    return made


def load(text, **extra):
    name = "program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    module = types.ModuleType("program")
    module.__dict__.update(torch=torch, F=F, nn=torch.nn, **extra)
    sys.modules["program"] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def parse_input(spec):
    name, dtype, shape, how = re.fullmatch(r"(\w+):(\w+)\[([\d,]*)\](.*)", spec).groups()
    return {"name": name, "dtype": dtype, "shape": [int(s) for s in shape.split(",") if s], "how": how}


def axes_of(text):
    out = {}
    for part in (text or "").split():
        place, _, name = part.partition("=")
        argument, _, dim = place.partition(".")
        out.setdefault(argument, {})[int(dim)] = name.partition(":")[0]
    return out


def replay_call(records):
    record = dict(records[0])
    record["inputs"] = [parse_input(s) for s in record["inputs"].split()]
    record["seed"] = zlib.crc32(record["name"].encode()) % 100000
    names = [s["name"] for s in record["inputs"]]
    model = call_module(record)
    model = model if record.get("train") else model.eval()
    if record.get("scripted"):
        model = torch.jit.script(model)
    args = make_inputs(record, torch)
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            want = [array(t) for t in tensors(model(*make_inputs(record, torch)))]
    except Exception:
        want = None
    options = {"input_names": names, "dynamo": False}
    if record["dynamic"]:
        options["dynamic_axes"] = axes_of(record["dynamic"])
    if record.get("train"):
        options["training"] = torch.onnx.TrainingMode.PRESERVE
    out = {}
    feeds = {n: array(a) for n, a in zip(names, args, strict=True)}
    for group in records[0]["opsets"]:
        for opset in (group["opset"], *group.get("also", ())):
            found = export(model, make_inputs(record, torch), dict(options, opset_version=opset), None)
            others = [g for r in records for g in r["opsets"] if opset in (g["opset"], *g.get("also", ()))]
            fields = best([compare(found, g, opset, want, feeds) for g in others])
            out.update({f"{record['name']} {opset} {field}": value for field, value in fields.items()})
    return out


# ---- programs with options ----


def replay_program(records):
    record = records[0]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = load(record["source"], onnx=onnx, np=np, io=io, warnings=warnings).__dict__
    if "run" in program:
        return {f"{record['name']} run {field}": value for field, value in replay_run(program, records).items()}
    out = {}
    for k, variant in enumerate(program.get("variants", [{}])):
        done = in_child(lambda k=k, variant=variant: replay_variant(program, records, k, dict(variant)))
        if "- crash" in done:
            done = {"outcome": done["- crash"]}
        out.update({f"{record['name']} {k} {field}": value for field, value in done.items()})
    return out


def replay_run(program, records):
    with warnings.catch_warnings(record=True), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            found = {"result": plain(program["run"]())}
        except Exception as error:
            c = type(error)
            found = {"error": {"class": f"{c.__module__}.{c.__qualname__}", "text": str(error)}}

    def one(record):
        out = {}
        if "error" in record:
            mine, theirs = found.get("error") or {"class": "none", "text": ""}, record["error"]
            out["error"] = None if short_class(mine["class"]) == short_class(theirs["class"]) else [mine, theirs]
            same = first_line(mine["text"]) == first_line(theirs["text"])
            out["message"] = None if same else [mine["text"], theirs["text"]]
        elif "result" in record:
            want = reduced(record["result"])
            out["result"] = None if close(found.get("result"), want) else [found, want]
        return out

    return best([one(r) for r in records])


def reduced(v):
    """A recorded result with models as model_text gives them, and names of PyTorch's classes as those of Ingot."""
    if isinstance(v, dict) and "nodes" in v and "ir" in v:
        nodes = [{"op": n["op"], "domain": n.get("domain", ""), "name": n["name"]} for n in v["nodes"]]
        out = {key: v[key] for key in ("ir", "imports", "inputs", "inits")}
        return {**out, "outputs": [row[:2] for row in v["outputs"]], "nodes": nodes}
    if isinstance(v, dict):
        return {key: reduced(item) for key, item in v.items()}
    return [reduced(item) for item in v] if isinstance(v, list) else short_class(v) if isinstance(v, str) else v


def plain(v):
    if isinstance(v, str):
        return short_class(v)
    if isinstance(v, (int, float, bool, type(None))):
        return v
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, torch.Tensor):
        return v.tolist()
    if isinstance(v, (onnx.ModelProto, bytes)):
        text = model_text(v if isinstance(v, onnx.ModelProto) else onnx.load_from_string(v))
        nodes = [{key: n[key] for key in ("op", "domain", "name")} for n in text["nodes"]]
        return {**{key: text[key] for key in ("ir", "imports", "inputs", "inits", "outputs")}, "nodes": nodes}
    return re.sub(r"0x[0-9a-f]{6,}", "0x0", repr(v))


def eager(model, args, kwargs=None):
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return [array(t) for t in tensors(model(*args, **(kwargs or {})))]
    except Exception:
        return None


def copied(a):
    if isinstance(a, torch.Tensor):
        return a.clone()
    if isinstance(a, tuple) and hasattr(a, "_fields"):
        return type(a)(*map(copied, a))
    if isinstance(a, (list, tuple)):
        return type(a)(map(copied, a))
    return {k: copied(v) for k, v in a.items()} if isinstance(a, dict) else a


def recorded_export(record, k):
    entry = record["exports"][k] if k < len(record.get("exports", ())) else {}
    return record["exports"][entry["same_as"]] if "same_as" in entry else entry


def replay_variant(program, records, k, variant):
    args = variant.pop("args", program["args"])
    own = args is not program["args"]
    feeds = variant.pop("feeds", program.get("feeds"))
    fn = variant.pop("fn", program.get("fn"))
    make = (lambda: program["model"]()) if "fresh" in program else (lambda: program["model"])
    torch.manual_seed(0)
    call = args if isinstance(args, tuple) else (args,)
    if own and call and isinstance(call[-1], dict):
        want = eager(make(), copied(call[:-1]), {**copied(call[-1]), **variant.get("kwargs", {})})
    elif own:
        want = eager(make(), copied(call), variant.get("kwargs"))
    else:
        want = eager(make(), copied(program.get("call_args", call)), program.get("call_kwargs"))
    if feeds is None:
        feeds = [array(t) for t in tensors((args, list(variant.get("kwargs", {}).values()))) if t is not None]
        feeds = [f for f in feeds] if "kwargs" in variant else [array(t) for t in only_tensors(args)]
    else:
        feeds = (
            {n: array(t) for n, t in feeds.items()} if isinstance(feeds, dict) else [array(t) for t in tensors(feeds)]
        )
    torch.manual_seed(0)
    options = dict(variant) if fn else dict({"dynamo": False}, **variant)
    found = export(make(), copied(args), options, fn)
    every = [r for r in (recorded_export(record, k) for record in records) if r and "as_2.5.1" not in r]
    return best([compare(found, r, None, want, feeds) for r in every if "crashed" not in r])


def only_tensors(o):
    if isinstance(o, torch.Tensor):
        return [o]
    if isinstance(o, dict):
        o = list(o.values())
    return [t for v in o for t in only_tensors(v)] if isinstance(o, (list, tuple)) else []


def main(path, names):
    onnxruntime.set_default_logger_severity(4)
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        every = collections.defaultdict(list)
        for line in file:
            record = json.loads(line)
            every[record["name"]].append(record)
    if names == ["list"]:
        print(json.dumps(list(every)))
        return
    # The first export loads most of the package: here once, and not in every process that starts from this one.
    export(torch.nn.Identity(), (torch.ones(1),), {"dynamo": False}, None)
    out = {}
    wanted = chosen(list(every), names)
    for name in [n for n in every if n in wanted]:
        records = every[name]
        replay = replay_call if "opsets" in records[0] else replay_program
        done = in_child(lambda records=records, replay=replay: replay(records))
        if "- crash" in done:
            done = {f"{name} all outcome": done["- crash"]}
        out.update(done)
    print(json.dumps(out))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
