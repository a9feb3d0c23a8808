# SPDX-License-Identifier: Apache-2.0
"""Replays recorded programs (programs.json.gz: what PyTorch printed for them) with Ingot in place of torch and
reports which fields agree. Run as a program: `program_replay.py RECORDS [NAME ...]` prints a JSON object
"name mode field" -> null (agrees with one of the recorded versions) or [found, expected]. A NAME like 3/24 is a part of
all records, "list" gives their names."""

import copy
import gzip
import json
import linecache
import os
import re
import sys
import traceback
import types

import ingot.as_torch  # noqa: F401

import torch  # isort: skip  # means Ingot from here on

MODES = ("nonstrict", "strict", "training", "training_nonstrict", "pre_dispatch", "post_dispatch", "capture")
FIELDS = (
    "code", "sub_code", "graph", "inputs", "outputs", "range_constraints", "constants", "state_dict", "nodes",
    "module_code", "unflatten", "decomposed_code", "empty_table_code", "out", "calls", "post",
)  # fmt: skip


# What stands in an error text that goes on for frames of PyTorch or for guards.
QUOTES = r"Suggested fixes:|from user code|File \"|Traceback|Potential framework code caller|Constraints violated"


def load(source):
    name = "program.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = types.ModuleType("program")
    sys.modules["program"] = module
    torch.manual_seed(0)
    exec(compile(source, name, "exec"), module.__dict__)
    return module.__dict__


def number(v):
    if isinstance(v, complex):
        return [number(v.real), number(v.imag)]
    if isinstance(v, float):
        return (
            "nan"
            if v != v
            else ("inf" if v > 0 else "-inf")
            if v in (float("inf"), -float("inf"))
            else float(f"{v:.9g}")
        )
    return v


def nested(v):
    return [nested(x) for x in v] if isinstance(v, list) else number(v)


def value(o):
    if isinstance(o, torch.Tensor):
        d = {"dtype": str(o.dtype).replace("torch.", ""), "shape": list(o.shape), "stride": list(o.stride())}
        x = o.detach()
        if x.numel() <= 48:
            d["values"] = nested((x.to(torch.float64) if x.is_floating_point() else x).tolist())
        else:
            y = x.reshape(-1).to(torch.float64)
            weights = torch.arange(y.numel(), dtype=torch.float64) % 7 + 1
            d["sum"], d["abs_sum"] = number(y.sum().item()), number(y.abs().sum().item())
            d["weighted_sum"] = number((y * weights).sum().item())
            d["head"], d["tail"] = nested(y[:4].tolist()), nested(y[-4:].tolist())
        return d
    if isinstance(o, (list, tuple)):
        return [value(x) for x in o]
    if isinstance(o, dict):
        return {str(k): value(v) for k, v in o.items()}
    if dataclass_fields(o):
        return clean(repr(o))
    return number(o) if isinstance(o, (int, float, bool, str, complex)) or o is None else clean(repr(o))


def dataclass_fields(o):
    return getattr(o, "__dataclass_fields__", None)


def clean(text):
    """Without addresses; a class of Ingot's is named after the package that it stands for."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x0", str(text))
    return text.replace("<class 'ingot.", "<class 'torch.")


def error_of(e):
    cls = type(e)
    return {"error": {"class": f"{cls.__module__}.{cls.__qualname__}".replace("ingot.", "torch."), "text": clean(e)}}


def argument(a):
    n = type(a).__name__
    if hasattr(a, "value"):
        return f"{n}({a.name}={a.value!r})"
    return a.name if n == "TensorArgument" else f"{n}({getattr(a, 'name', '')})"


def val_text(v):
    if isinstance(v, torch.Tensor):
        return f"{str(v.dtype).replace('torch.', '')}[{', '.join(str(s) for s in v.shape)}]"
    if isinstance(v, (list, tuple)):
        return [val_text(x) for x in v]
    return None if v is None else clean(str(v))


def class_text(c):
    return c if isinstance(c, str) else f"{c.__module__}.{c.__qualname__}"


def nodes(ep):
    rows = []
    for name, gm in ep.graph_module.named_modules():
        if not isinstance(gm, torch.fx.GraphModule):
            continue
        for n in gm.graph.nodes:
            if n.op != "call_function":
                continue
            stack = n.meta.get("nn_module_stack")
            sources = n.meta.get("source_fn_stack") or []
            rows.append({
                "graph": name, "node": n.name, "target": clean(n.target),
                "nn_module_stack": None if stack is None else [[k, v[0], class_text(v[1])] for k, v in stack.items()],
                "torch_fn": n.meta.get("torch_fn") and list(n.meta["torch_fn"]),
                "source_fn": [[a, b if isinstance(b, str) else b.__name__] for a, b in sources] or None,
                "val": val_text(n.meta.get("val")),
            })  # fmt: skip
    return rows


def unflatten(ep):
    found = {k: getattr(m, "graph", None) for k, m in torch.export.unflatten(ep).named_modules()}
    return {k: clean(g) for k, g in found.items() if g is not None}


def calls(ep, ns):
    module, out = ep.module(), []
    for call in ns["calls"]:
        split = len(call) == 2 and isinstance(call[0], tuple) and isinstance(call[1], dict)
        args, kwargs = call if split else (call, {})
        out.append(attempt(lambda: value(module(*args, **kwargs))))  # noqa: B023  called at once
    return out


def attempt(fn):
    try:
        return fn()
    except Exception as e:
        return error_of(e)


def export(mode, mod, args, kwargs, shapes):
    trace = torch.export._trace
    if mode in ("nonstrict", "strict"):
        return torch.export.export(mod, args, kwargs, dynamic_shapes=shapes, strict=mode == "strict")
    if mode in ("training", "training_nonstrict"):
        return trace._export_for_training(mod, args, kwargs, dynamic_shapes=shapes, strict=mode == "training")
    return trace._export(mod, args, kwargs, dynamic_shapes=shapes, pre_dispatch=mode == "pre_dispatch")


def field(name, ep, ns, fresh):
    signature = ep.graph_signature
    if name == "code":
        return clean(ep.graph_module.code)
    if name == "sub_code":
        found = ep.graph_module.named_modules()
        return {k: clean(m.code) for k, m in found if k and isinstance(m, torch.fx.GraphModule)}
    if name == "graph":
        return clean(ep.graph)
    if name == "inputs":
        return [[s.kind.name, argument(s.arg), s.target] + ([s.persistent] if s.persistent is not None else [])
                for s in signature.input_specs]  # fmt: skip
    if name == "outputs":
        return [[s.kind.name, argument(s.arg), s.target] for s in signature.output_specs]
    if name == "range_constraints":
        return str(ep.range_constraints)
    if name == "constants":
        return sorted(ep.constants)
    if name == "state_dict":
        return list(ep.state_dict)
    if name == "module_code":
        return clean(ep.module().code)
    if name == "decomposed_code":
        return clean(ep.run_decompositions().graph_module.code)
    if name == "empty_table_code":
        return clean(ep.run_decompositions({}).graph_module.code)
    if name == "out":
        return value(ep.module()(*fresh[0], **fresh[1]))
    if name == "post":
        return clean(ns["post"](ep))
    return {"nodes": nodes, "unflatten": unflatten}[name](ep) if name != "calls" else calls(ep, ns)


def whole(modes, mode):
    record = modes.get(mode) or {}
    if "same_as" not in record:
        return record
    base = dict(whole(modes, record["same_as"]))
    return base | {k: v for k, v in record.items() if k != "same_as"}


def close(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= 1e-6 + 1e-5 * abs(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b


def same_error(a, b):
    """The class and the text. Of a text that quotes frames or lists guards, the first line and the suggested fixes: the
    lines between tell where in PyTorch it was raised."""
    if not isinstance(a, dict) or "error" not in a:
        return False
    a, b = a["error"], b["error"]
    if a["class"] != b["class"]:
        return False
    found, expected = a["text"].strip(), b["text"].strip()
    if found == expected:
        return True
    if not re.search(QUOTES, expected):
        return False
    fixes = [t.partition("Suggested fixes:")[2].split() for t in (found, expected)]
    first = [t.partition("\n")[0].strip() for t in (found, expected)]
    return first[0] == first[1] and fixes[0] == fixes[1]


def agrees(name, found, expected):
    if isinstance(expected, dict) and "error" in expected:
        return same_error(found, expected)
    if name == "calls":
        return len(found) == len(expected) and all(agrees("call", a, b) for a, b in zip(found, expected, strict=True))
    return close(found, expected) if name in ("out", "call") else found == expected


def in_child(fn):
    """What fn returns, computed in a process of its own: programs register operators and classes."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            out = fn()
        except BaseException:
            out = {"- crash": [traceback.format_exc(), ""]}
        with os.fdopen(write, "w") as file:
            json.dump(out, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"- crash": ["the process ended", ""]}


def replay(records):
    """records: of one name, newest first."""
    out = {}
    for mode in MODES:
        found = in_child(lambda: replay_mode(records, mode))  # noqa: B023
        out |= {f"{records[0]['name']} {mode} {key}" if key[0] == "-" else key: v for key, v in found.items()}
    return out


def replay_mode(records, mode):
    """A field agrees with either release. A program that cannot be exported fails in the error that was recorded, or,
    where a release exported it, in each field."""
    wanted = [w for w in (whole(r["modes"], mode) for r in records) if w]
    if not wanted:
        return {}
    ns = load(records[0]["source"])
    args, kwargs, shapes = ns.get("args", ()), ns.get("kwargs") or {}, ns.get("dynamic_shapes")
    mod = ns["M"]()
    fresh = attempt(lambda: copy.deepcopy((args, kwargs)))
    if isinstance(fresh, dict):
        fresh = args, kwargs
    if mode == "capture":
        from torch._export import capture_pre_autograd_graph

        ep = attempt(lambda: {"code": clean(capture_pre_autograd_graph(mod, args, kwargs, shapes).code)})
    else:
        ep = attempt(lambda: export(mode, mod, args, kwargs, shapes))
    start = f"{records[0]['name']} {mode} "
    failed = isinstance(ep, dict) and "error" in ep
    errors = [w for w in wanted if "error" in w]
    if failed and any(same_error(ep, w) for w in errors):
        return {start + "error": None}
    if len(errors) == len(wanted):
        return {start + "error": [ep if failed else "no error", *({"error": w["error"]} for w in errors)]}
    out = {}
    for name in FIELDS:
        given = [w[name] for w in wanted if name in w]
        if not given or (mode == "capture" and name != "code"):
            continue
        if failed:
            found = ep
        else:
            found = ep["code"] if mode == "capture" else attempt(lambda: field(name, ep, ns, fresh))  # noqa: B023
        ok = not failed and any(attempt(lambda: agrees(name, found, g)) is True for g in given)  # noqa: B023
        out[start + name] = None if ok else [found, *given]
    return out


def chosen(every, names):
    """The names that are meant: all, those given, or the third of four parts for 3/4."""
    if not names:
        return set(every)
    parts = [n for n in names if re.fullmatch(r"\d+/\d+", n)]
    cut = [every[int(p.split("/")[0]) :: int(p.split("/")[1])] for p in parts]
    return set(names) | {n for part in cut for n in part}


def main(path, names):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        records = [json.loads(line) for line in file]
    by_name = {}
    for record in records:
        by_name.setdefault(record["name"], []).append(record)
    torch.export.export(torch.nn.ReLU(), (torch.ones(2),)).run_decompositions()  # load all once, not in every child
    out = {}
    if names == ["list"]:
        print(json.dumps(list(by_name)))
        return
    names = chosen(list(by_name), names)
    for name, group in by_name.items():
        if name not in names:
            continue
        try:
            out |= replay(group)
        except Exception:
            out[f"{name} - crash"] = [traceback.format_exc(), ""]
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
