# SPDX-License-Identifier: Apache-2.0
"""Replays recorded calls (recorded_ops.json.gz: what PyTorch 2.5.1 and 2.4.1 gave and printed for single calls) with
Ingot in place of torch and reports which fields agree. Run as a program: `ops_replay.py RECORDS [NAME ...]` prints a
JSON object "name field" -> null (agrees with one of the versions) or [found, expected ...]. A NAME like 3/24 is a part
of all records, "list" gives their names."""

import gzip
import json
import linecache
import math
import sys
import types

from program_replay import attempt, chosen, clean, in_child, same_error
from recorded_calls import make_inputs

import torch  # isort: skip  # means Ingot: program_replay has put it in place
import torch.export._trace  # isort: skip  # once, not in every child

TEXTS = ("training_code", "code", "code_strict", "core_code", "empty_table_code")
FIELDS = ("out", "grads", "grad_ops", *TEXTS, "range_constraints", "mutations")
TOLERANCE = {"float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float64": (1e-7, 1e-9), "complex128": (1e-7, 1e-9)}
# Uninitialized elements, or that PyTorch draws with another library's generator (dropout).
UNSET = {
    "dropout", "native_dropout", "alpha_dropout", "feature_dropout", "rrelu", "rrelu_with_noise", "multinomial",
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted",
}  # fmt: skip


def module(record):
    """The module class whose forward is the recorded function, with the same lines as its source."""
    names = [spec["name"] for spec in record["inputs"]]
    body = record["source"].partition("\n")[2].rstrip("\n").splitlines()
    text = f"class M(torch.nn.Module):\n    def forward({', '.join(['self', *names])}):\n"
    text += "".join(f"    {line}\n" for line in body)
    file = record["name"] + ".py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    made = types.ModuleType("program")
    made.torch, made.F = torch, torch.nn.functional
    sys.modules["program"] = made
    exec(compile(text, file, "exec"), made.__dict__)
    return made.M


def dims(record):
    if not record["dynamic"]:
        return None
    made = {}
    out = {spec["name"]: None for spec in record["inputs"]}
    for part in record["dynamic"].split():
        place, _, what = part.partition("=")
        name, _, bounds = what.partition(":")
        low, _, high = bounds.partition("..")
        if name not in made:
            made[name] = torch.export.Dim(name, **({"min": int(low), "max": int(high)} if bounds else {}))
        argument, _, dim = place.partition(".")
        out[argument] = {**(out[argument] or {}), int(dim): made[name]}
    return out


# ---- values ----


def flat(values):
    if isinstance(values, list):
        return [x for v in values for x in flat(v)]
    return [float(values)]


def numbers(t):
    t = t.detach().resolve_conj()
    if t.dtype.is_complex:
        t = torch.view_as_real(t)
    return [float(x) for x in t.to(torch.float64).flatten().tolist()]


def near(found, expected, dtype, scale=1.0):
    rtol, atol = TOLERANCE.get(dtype, (1e-5, 1e-6))

    def same(a, b):
        return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= scale * (atol + rtol * abs(b))

    return len(found) == len(expected) and all(map(same, found, expected))


def compare(found, expected, where, values=True):
    """Where found is not what was recorded and how; None: it is."""
    if isinstance(expected, list):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return f"{where}: {found!r:.80}, not a list of {len(expected)}"
        parts = (compare(a, b, f"{where}[{i}]", values) for i, (a, b) in enumerate(zip(found, expected, strict=True)))
        return next((p for p in parts if p), None)
    if not isinstance(expected, dict):
        if isinstance(expected, float) or expected in ("nan", "inf", "-inf"):
            return None if near([float(found)], [float(expected)], "float32") else f"{where}: {found}, not {expected}"
        return None if found == expected else f"{where}: {found}, not {expected}"
    if not isinstance(found, torch.Tensor):
        return f"{where}: {found!r:.80} is no tensor"
    dtype = str(found.dtype).rpartition(".")[2]
    for key, mine in (("dtype", dtype), ("shape", list(found.shape)), ("stride", list(found.stride()))):
        if mine != expected[key]:
            return f"{where}: {key} {mine}, not {expected[key]}"
    return compare_elements(found, expected, where) if values else None


def compare_elements(found, expected, where):
    mine = numbers(found)
    dtype = expected["dtype"]
    if "values" in expected:
        wanted = flat(expected["values"])
        return None if near(mine, wanted, dtype) else f"{where}: {mine}, not {wanted}"
    width = 2 if found.dtype.is_complex else 1
    for key, part in (("head", mine[: 4 * width]), ("tail", mine[-4 * width :])):
        if not near(part, flat(expected[key]), dtype):
            return f"{where}: {key} {part}, not {expected[key]}"
    if width == 2:
        return None
    size = sum(abs(x) for x in mine)
    weighted = sum(x * (i % 7 + 1) for i, x in enumerate(mine))
    for key, total in (("sum", sum(mine)), ("abs_sum", size), ("weighted_sum", weighted)):
        if not near([total], [float(expected[key])], dtype, 1 + size):
            return f"{where}: {key} {total}, not {expected[key]}"
    return None


def leaves(out):
    if isinstance(out, torch.Tensor):
        return [out]
    if isinstance(out, dict):
        out = list(out.values())
    return [t for o in out for t in leaves(o)] if isinstance(out, (list, tuple)) else []


def differentiable(cls, record):
    """The inputs and the results that have a history."""
    floats = [t.is_floating_point() or t.is_complex() for t in make_inputs(record, torch)]
    inputs = [t.detach().requires_grad_() if f else t for t, f in zip(make_inputs(record, torch), floats, strict=True)]
    torch.manual_seed(record["seed"])
    outs = [o for o in leaves(cls()(*inputs)) if o.grad_fn is not None]
    return inputs, outs


def gradients(cls, record):
    """The gradients of the float inputs."""
    inputs, outs = differentiable(cls, record)
    loss = 0
    for o in outs:
        o = torch.view_as_real(o) if o.is_complex() else o
        loss = loss + (o * (torch.arange(o.numel()) % 7 + 1).to(o.dtype).reshape(o.shape)).sum()
    wanted = [t for t in inputs if t.requires_grad]
    return torch.autograd.grad(loss, wanted, allow_unused=True)


def grad_names(outs):
    seen, order, queue = set(), [], [o.grad_fn for o in outs]
    while queue:
        f = queue.pop(0)
        if f is not None and f not in seen:
            seen.add(f)
            order.append(f.name())
            queue += [g for g, _ in f.next_functions]
    return [n for n in order if "AccumulateGrad" not in n]


# ---- one record ----


def export(cls, record, strict):
    return torch.export.export(cls(), make_inputs(record, torch), dynamic_shapes=dims(record), strict=strict)


def text(field, cls, record, box):
    if field == "training_code":
        trace = torch.export._trace._export_for_training
        ep = trace(cls(), make_inputs(record, torch), dynamic_shapes=dims(record), strict=False)
        return clean(ep.graph_module.code)
    if field == "code_strict":
        return clean(export(cls, record, True).graph_module.code)
    if "ep" not in box:
        box["ep"] = export(cls, record, False)
    ep = box["ep"]
    if field == "code":
        return clean(ep.graph_module.code)
    if field == "range_constraints":
        return str(ep.range_constraints)
    if field == "mutations":
        specs = [s for s in ep.graph_signature.output_specs if s.kind.name != "USER_OUTPUT"]
        return [[s.kind.name, s.arg.name, s.target] for s in specs]
    return clean(ep.run_decompositions(*[{}] * (field == "empty_table_code")).graph_module.code)


def versions(records, field):
    """What the versions recorded: texts, or errors as {"error": ...}."""
    out = []
    for r in records:
        failed = r.get("error", {})
        if field == "grads" and "grad_error" in r:
            out.append({"error": r["grad_error"]})
        elif field in r:
            out.append(r[field])
        elif field in failed:
            out.append({"error": failed[field]})
        elif field == "code_strict" and ("code" in r or "code" in failed):  # recorded where it differs
            out += versions([r], "code")
    return out


def values(field, cls, record):
    if field == "out":
        torch.manual_seed(record["seed"])
        return cls()(*make_inputs(record, torch))
    return gradients(cls, record) if field == "grads" else grad_names(differentiable(cls, record)[1])


def one_field(cls, records, field, box):
    record = records[0]
    given = versions(records, field)
    if field in ("out", "grads", "grad_ops"):
        found = attempt(lambda: values(field, cls, record))
        if isinstance(given[0], dict) and "error" in given[0]:
            return None if same_error(found, given[0]) else [str(found), given[0]]
        if isinstance(found, dict) and "error" in found:
            return [found, given[0]]
        if field == "grad_ops":
            return None if found == given[0] else [found, given[0]]
        why = compare(found, given[0], field, record["op"] not in UNSET)
        return [why, ""] if why else None
    found = attempt(lambda: text(field, cls, record, box))
    same = [same_error(found, g) if isinstance(g, dict) else found == g for g in given]
    return None if any(same) else [found, *given]


def replay(records):
    """records: of one name, newest first."""
    cls, box, out = module(records[0]), {}, {}
    for field in FIELDS:
        if versions(records, field):
            if field == "grads" and records[0]["op"] in UNSET:
                continue
            out[f"{records[0]['name']} {field}"] = one_field(cls, records, field, box)
    return out


def load(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    by_name = {}
    with opened as file:
        for line in file:
            record = json.loads(line)
            by_name.setdefault(record["name"], []).append(record)
    return by_name


def main(path, names):
    out = {}
    torch.export.export(torch.nn.ReLU(), (torch.ones(2),)).run_decompositions()  # load all once, not in every child
    recorded = load(path)
    if names == ["list"]:
        print(json.dumps(list(recorded)))
        return
    names = chosen(list(recorded), names)
    for name, records in recorded.items():
        if name in names:
            found = in_child(lambda: replay(records))  # noqa: B023
            out |= {f"{name} {key}" if key[0] == "-" else key: v for key, v in found.items()}
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
