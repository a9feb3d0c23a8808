#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of PyTorch's recorded calls and programs Ingot agrees with, field by field, and what kinds of difference are
the most frequent.

    python tools/measure_records.py [--known]         (with the package of a build on PYTHONPATH)

A text agrees when it is, byte for byte, that of PyTorch 2.5.1 or of 2.4.1; where a program has symbolic sizes, or only
2.5.1 was recorded, what the releases are known to number, place and clear differently does not count. --known writes
tests/python/recorded_known.json anew: every difference with its reason, by the rules below; a difference without a
reason is an error.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests/python"

ASSERTS = "range checks of unbacked numbers: the documents stand between the releases (0 <= u0, ranges kept as nodes)"
STRICT = "the original's strict front end refuses this or words it otherwise; Ingot captures it as non-strict does"
TABLE = "the first lowering of a training program takes no notice of the table, as the documents have it"
PRE = "capture_pre_autograd_graph of the releases prints a form of its own (arg0_1, _param_constant0)"
HOP = "torch_fn and source_fn of higher-order operators are those of the call before"
NAMES = "the releases number, order or place sizes and their arithmetic otherwise"
SUBS = "sub-graphs are modules of the unflattened program, as in later releases"
WRITES = "the unflattened module writes to its inputs; in the original it returns the new values instead"
ERRORS = "the same is refused with a text of Ingot's own, or of the operator's eager form"
AUTOCAST = "the casts of autocast are calls of the program; the releases forget them before dispatch"
FQN = "a weight with several names is called by another of them"

# (pattern of "name field" or "name mode field", pattern in found or expected, reason); the first that fits counts
OPS = (
    (r"(quantize|q_scale|dequantize)", "", "there are no quantized dtypes"),
    ("", r"has no attribute|no operator is called", "the operator does not exist here"),
    (r"code_strict", r"_dynamo\.exc|_shape_as_tensor|'error'", STRICT),
    ("", r"sym_constrain_range|_assert_scalar|VR\[", ASSERTS),
    ("", r"data is not allocated yet", "the original reads elements of a fake tensor; Ingot answers or refuses"),
    (r"(cov|corrcoef|quantile|nanquantile)_", r"aten\.equal", "the original compares elements while it captures"),
    ("", r"Constraints violated", "another decision about a dynamic size: one side keeps what the other specializes"),
    (r"(vander|pad)_\d", "", "the original writes into an empty tensor and is functionalized; Ingot joins or indexes"),
    (r"lstm_", "", "the original drops the wrong dimension of the last states of a batch"),
    (r"(rrelu|alpha_dropout|native_dropout|multinomial|topk)", "", "random, or an order that is not told"),
    (r"conj", "", "conjugates are copies, not lazy"),
    (r"instance_norm", "", "running statistics are written only when they change"),
    (r"pack", "", "packed sequences have lengths that stand in the data: Ingot does not capture them"),
    (r"(error_|int_mean|combinations|random_|embedding_renorm)", "", ERRORS),
    (r"(sym_|numel|scaled_dot)", "", NAMES),
    (r"as_tensor|lift_fresh|tensor_", "", "literals and fresh tensors are lifted otherwise"),
    (r" grads", "", "the gradient differs: an argument that is not differentiated here, or another subgradient"),
    (r"_strict$", "", STRICT),
)
PROGRAMS = (
    (r"^autocast_region (?!capture)", "", AUTOCAST),
    (r" capture (code|error)", "", PRE),
    (r" training\w* decomposed_code", "", TABLE),
    (r"^(unbacked|err_two_unbacked|custom_unbacked)", "", ASSERTS),
    ("", r"sym_constrain_range|_assert_scalar", ASSERTS),
    (r" (calls|error)$", "", ERRORS),
    (r"^(sub_two_names|tied_weights|sub_interaction_deep)", "", FQN),
    (r"^(cond|map)_\w* \w+ unflatten", "", SUBS),
    (r"^(in_|out_is_input|conv_mutate|buf_|const_mutated|view_chain)\w* \w+ unflatten", "", WRITES),
    (r"^(cond|map|grad)_\w* \w+ nodes", "", HOP),
    (r"^cond_", "", "operands of cond come in another order, or a constant condition stays a cond"),
    (r"^(map|grad)_", "", "higher-order operators are placed or named otherwise"),
    (r"^const_list_of_tensors", "", "tensors in lists of a module have no names of their own"),
    (r"^(const_literals|scatter_gather_mix|dc_registered|host_)", "", "literals are lifted otherwise"),
    (r"^nn_lstm", "", "the original drops the wrong dimension of the last states of a batch"),
    (r" nodes$", "", "metadata of nodes that lowering or a second capture made differs"),
    (r" unflatten$", "", "the unflattened program differs as its code or its metadata does"),
    ("", "", NAMES),
)  # fmt: skip


def replay(script: str, records: str) -> dict:
    command = [sys.executable, str(TESTS / script), str(TESTS / records)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def reason(key: str, value: list, rules: tuple) -> str | None:
    text = " ".join(v if isinstance(v, str) else str(v) for v in value)
    return next((why for name, content, why in rules if re.search(name, key) and re.search(content, text)), None)


def report(title: str, found: dict, rules: tuple) -> dict[str, str | None]:
    fields: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for key, value in found.items():
        parts = key.split(" ", 2)
        for part in parts[1:]:
            fields[part][0] += value is None
            fields[part][1] += 1
    print(title, f"{sum(v is None for v in found.values())} of {len(found)} fields agree")
    for field, (good, every) in fields.items():
        print(f"  {field:22} {good:5} of {every:5}  {100 * good / every:5.1f} %")
    reasons = {key: reason(key, value, rules) for key, value in found.items() if value is not None}
    for why, n in collections.Counter(reasons.values()).most_common():
        print(f"  {n:5} {why}")
    return reasons


def main() -> None:
    parts = {
        "ops": report("calls:", replay("ops_replay.py", "recorded_ops.json.gz"), OPS),
        "programs": report("programs:", replay("program_replay.py", "programs.json.gz"), PROGRAMS),
    }
    bare = [key for reasons in parts.values() for key, why in reasons.items() if why is None]
    if bare:
        print("without a reason:", *bare, sep="\n  ")
    if "--known" not in sys.argv or bare:
        sys.exit(1 if bare else 0)
    texts = sorted({why for reasons in parts.values() for why in reasons.values()})
    known = {part: {key: texts.index(why) for key, why in sorted(reasons.items())} for part, reasons in parts.items()}
    text = json.dumps({"reasons": texts, **known}, indent=0, separators=(",", ":"))
    (TESTS / "recorded_known.json").write_text(text + "\n")


main()
