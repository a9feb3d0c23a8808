#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of PyTorch's recorded calls and programs Ingot agrees with, field by field, and what kinds of difference are
the most frequent.

    python tools/measure_records.py [--known] [ops | programs]     (with the package of a build on PYTHONPATH)

A text agrees when it is, byte for byte, that of PyTorch 2.5.1 or of 2.4.1; where a program has symbolic sizes, or only
2.5.1 was recorded, what the releases are known to number, place and clear differently does not count. --known writes
tests/python/recorded_known.json anew: every difference with its reason, by the rules below; a difference without a
reason is an error. A rule that is a function looks at the texts: it gives its reason only if nothing else differs.
"""

import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests/python"
sys.path.insert(0, str(TESTS))

# The documents that Ingot follows contradict both releases here.
CHECKS = "range checks of unbacked numbers: the documents stand between the releases (0 <= u0, ranges kept as nodes)"
TABLE = "the first lowering of a training program takes no notice of the table, as the documents have it"
BOTH = "range checks as the documents have them, and sizes that the releases number or place otherwise"
REFUSED = "the documents refuse this, the later release lets it pass or words it otherwise"
CONSTANT = "a constant condition stays a cond, as the documents have it"
DOCUMENTS = (CHECKS, TABLE, BOTH, REFUSED, CONSTANT)

# The releases make a program that computes something else, or cannot be called.
AUTOCAST = "the casts of autocast are calls of the program; the releases forget them before dispatch"
MAXIMUM = "torch.sym_max stays in the program; the releases decide it by the example, wrongly for other sizes"
FAILS = "the original cannot unflatten the program"
MAP = "the original specializes what is mapped over, and takes the calls of the body for operators"
STATES = "the original drops the wrong dimension of the last states of a batch"
TREES = "the module takes and returns registered classes; the original's cannot be called with them"
TWICE = "a tensor that is given several times is several inputs; the original reads the last of them for all"
INFINITE = "ranges without an end print int_oo; the records of this program say 9223372036854775806"
ACROSS = "other sizes are handed from module to module"
CONTIGUOUS = "the original copies a view in order to ask for its length"
ABSENT = "an input that was None has to be None again; the releases take no notice of it"

STRICT = "the original's strict front end refuses this or words it otherwise; Ingot captures it as non-strict does"
CRASH = "the original fails inside of itself; Ingot captures the program"
LOWER = "capture_pre_autograd_graph of the releases goes on below batch_norm, keeps results that nobody reads, or"
LOWER += " does not say what is a size"
REGIONS = "the original leaves idle regions of a grad mode behind, and counts readers in graphs that it has dissolved"
GIVES_WAY = "the attributes of sub-graphs give way to names of inputs, also where those are numbers"
SWITCHES = "below autograd the original refuses switches of the grad mode; Ingot makes regions of them"
IN_PLACE = "what is written in place may be assigned again (self.n += 1); the releases refuse it"
NAMES = "the releases number, order or place sizes and their arithmetic otherwise"
ERRORS = "the same is refused with a text of Ingot's own, or of the operator's eager form"
FQN = "a weight with several names is called by another of them"
LITERALS = "literals are lifted otherwise"
AGAIN = "metadata of a second capture, or of views that functionalization made, differs"
CHECK_WORDS = r"sym_constrain_range|_assert_scalar|_assert_async"
MADE = r"^ *%?(\w+)(?: : \[num_users=\d+\])? = "
# a line that makes a size, computes with sizes, or compares them; one that makes a tensor of such an answer
SIZE = re.compile(
    MADE + r"(?:[\w.-]+ (?:>=|<=|>|<|==|!=|\*|\+|-|//) [\w.-]+$"
    r"|call_function\[target=operator\.(?!getitem)|\S*(?:sym_size|sym_numel|sym_stride|sym_max)\b)"
)  # fmt: skip
SCALAR = re.compile(MADE + r".*scalar_tensor")


# ---- rules that look at the texts ----


def lines_without_checks(text: str) -> list[str]:
    """The lines of code or of a graph without range checks and what only they read, numbered by appearance."""
    from program_replay import renumbered

    rows = [line.partition(";  ")[0] for line in text.splitlines() if not re.search(CHECK_WORDS, line)]
    while True:
        names = {m[1]: i for i, row in enumerate(rows) if (m := SIZE.match(row) or SCALAR.match(row))}
        rest = "\n".join(row.partition(" = ")[2] or row for row in rows)
        listed = [row for row in rows if row.lstrip().startswith("return")] if "%" in rest else [rest]
        read = set(re.findall(r"%(\w+)", rest)) | set(re.findall(r"\w+", "\n".join(listed)))
        dead = [i for name, i in names.items() if name not in read]
        if not dead:
            return renumbered(re.sub(r"\[num_users=\d+\]", "", "\n".join(rows))).splitlines()
        rows = [row for i, row in enumerate(rows) if i not in dead]


def same_but_checks(field: str, found: Any, expected: Any) -> bool:
    if isinstance(found, str) and isinstance(expected, str):
        return lines_without_checks(found) == lines_without_checks(expected)
    if field == "calls":
        words = r"Invalid value range|Runtime assertion failed|inline constraint"
        return all(a == b or (re.search(words, str(a)) and re.search(words, str(b))) for a, b in zip(found, expected))
    if field == "outputs":
        return re.sub(r"_\d+\b", "", str(found)) == re.sub(r"_\d+\b", "", str(expected))
    if field == "nodes":
        checked = re.compile(CHECK_WORDS + r"|scalar_tensor|sym_size|built-in function")
        sides = [[r for r in side if not checked.search(r["target"])] for side in (found, expected)]
        texts = [[r | {"node": re.sub(r"_\d+$", "", r["node"])} for r in side] for side in sides]
        return texts[0] == texts[1]
    return (
        isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys()
        and all(same_but_checks(field, found[k], expected[k]) for k in found)
    )  # fmt: skip


def only_checks(key: str, value: list) -> bool:
    field = key.split()[-1]
    if not re.search(CHECK_WORDS + r"|Invalid value range|Runtime assertion failed", str(value)) and field != "outputs":
        return False
    return any(same_but_checks(field, value[0], expected) for expected in value[1:])


def lines_without_sizes(text: str) -> list[str]:
    """The lines without sizes and their arithmetic, which appear as #, numbered by appearance."""
    from program_replay import renumbered

    rows = [line.partition(";  ")[0] for line in text.splitlines() if not re.search(CHECK_WORDS, line)]
    names = {m[1] for row in rows if (m := SIZE.match(row))}
    rest = "\n".join(re.sub(r"\[num_users=\d+\]", "", row) for row in rows if not SIZE.match(row))
    shown = re.sub(r"(?<![\w.])%?\w+", lambda m: "#" if m[0].lstrip("%") in names else m[0], rest)
    return renumbered(shown).splitlines()


def same_but_sizes(field: str, found: Any, expected: Any) -> bool:
    if isinstance(found, str) and isinstance(expected, str):
        return lines_without_sizes(found) == lines_without_sizes(expected)
    if field == "outputs":
        return [row[0] for row in found] == [row[0] for row in expected]
    if field == "nodes":
        other = re.compile(r"sym_\w+|built-in|_assert")
        sides = [[r["target"] for r in rows if not other.search(r["target"])] for rows in (found, expected)]
        return sides[0] == sides[1]
    return (
        isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys()
        and all(same_but_sizes(field, found[k], expected[k]) for k in found)
    )  # fmt: skip


def only_sizes(key: str, value: list) -> bool:
    return any(same_but_sizes(key.split()[-1], value[0], expected) for expected in value[1:])


def only_checks_and_sizes(key: str, value: list) -> bool:
    return "_assert_scalar" in str(value[1:]) and only_sizes(key, value)


def no_table(key: str, value: list) -> bool:
    """Whether the code is what PyTorch prints when the table is empty."""
    from program_replay import agrees, whole

    name, mode, _ = key.split(" ", 2)
    for record in recorded_programs().get(name, []):
        expected = whole(record["modes"], mode).get("empty_table_code")
        if not isinstance(expected, str) or not isinstance(value[0], str):
            continue
        if agrees("empty_table_code", value[0], expected, True) or same_but_checks("", value[0], expected):
            return True
    return False


def recorded_programs(known: dict = {}) -> dict[str, list]:  # noqa: B006  read once
    if not known:
        with gzip.open(TESTS / "programs.json.gz", "rt") as file:
            for record in map(json.loads, file):
                known.setdefault(record["name"], []).append(record)
    return known


# (pattern of "name field" or "name mode field", pattern in found or expected, reason); the first that fits counts
OPS = (
    (r"(quantize|q_scale|dequantize)", "", "there are no quantized dtypes"),
    ("", r"has no attribute|no operator is called", "the operator does not exist here"),
    (r"code_strict", r"_dynamo\.exc|_shape_as_tensor|'error'", STRICT),
    ("", r"sym_constrain_range|_assert_scalar|VR\[", CHECKS),
    ("", r"data is not allocated yet", "the original reads elements of a fake tensor; Ingot answers or refuses"),
    (r"(cov|corrcoef|quantile|nanquantile)_", r"aten\.equal", "the original compares elements while it captures"),
    ("", r"Constraints violated", "another decision about a dynamic size: one side keeps what the other specializes"),
    (r"(vander|pad)_\d", "", "the original writes into an empty tensor and is functionalized; Ingot joins or indexes"),
    ("", r"illegal argument|is not a constant or a node|DynamicOutputShape", "the original fails to capture this"),
    (r"range_0", "", "the original spells the options of range out"),
    (r"lstm_", "", STATES),
    (r"(rrelu|alpha_dropout|native_dropout|multinomial|topk)", "", "random, or an order that is not told"),
    (r"conj", "", "conjugates are copies, not lazy"),
    (r"instance_norm", "", "running statistics are written only when they change"),
    (r"pack", "", "packed sequences have lengths that stand in the data: Ingot does not capture them"),
    (r"(error_|int_mean|combinations|random_|embedding_renorm)", "", ERRORS),
    (r"(sym_|numel|scaled_dot)", "", NAMES),
    (r"as_tensor|lift_fresh|tensor_", "", "literals and fresh tensors are lifted otherwise"),
    (r"upsample_\w+_dyn", "", "the factor between two sizes is known; the original divides one by the other"),
    (r" grad_ops$", "", "other parts: Ingot has a rule where PyTorch composes, composes otherwise, or has a gradient"),
    (r" grads", "", "the gradient differs: an argument that is not differentiated here, or another subgradient"),
    (r"_strict$", "", STRICT),
)
PROGRAMS = (
    (r" (code|sub_code|graph|nodes|module_code|unflatten|\w+_code|calls)$", only_checks, CHECKS),
    (r"^(unbacked_size_chain|unbacked_eq_two|err_two_unbacked_bcast) \w+ outputs", only_checks, CHECKS),
    (r" training\w* decomposed_code", no_table, TABLE),
    (r"^(dims_on_scalar|dims_index_too_big|scatter_gather_mix) training\w* error", "", REFUSED),
    (r"^host_attr_tensor_assign ", r"was assigned during export", REFUSED),
    (r" error$", r"Mutating module attribute (\w+) during export.*self\.\1 \+=", IN_PLACE),
    (r"^autocast_region ", "", AUTOCAST),
    (r"^(sym_max_bounded|unbacked_max_sym) ", "", MAXIMUM),
    (r" unflatten$", r"\{'error': ", FAILS),
    (r"^dc_registered \w+ out", r"flatten_fn_spec", TREES),
    (r"^host_loop_zip training_nonstrict ", "", TWICE),
    (r"^const_int_str \w+ calls", r"args\[5\] to be equal to None, but got 1", ABSENT),
    (r"^(host_loop_zip|in_mutate_dynamic|err_shape_op) ", r"exc\.(Unsupported|TorchRuntimeError)", STRICT),
    (r"^(map_params_dynamic|host_state|sym_arith|int_output_sym|unbacked_expand_cat) \w+ error", "", CRASH),
    (r"^(nn_cnn|nn_lstm|fsum_many_outputs|int_output_sym) capture code", "", LOWER),
    (r"^(in_mutate_dynamic|dims_conflicting_names|err_unbacked_view|err_specialised_mod) \w+ error", "", ERRORS),
    (r"^(sub_two_names|tied_weights|sub_interaction_deep) ", "", FQN),
    (r"^cond_bool_static training", "", CONSTANT),
    (r"^cond_closure_buffer capture code", "", LITERALS),
    (r"^cond_twice_same_names capture code", "", GIVES_WAY),
    (r"^cond_two_outputs_dynamic training\w* \w+_code", "", NAMES),
    (r"^map_", "", MAP),
    (r"^grad_\w+ post_dispatch error", "Encountered autograd state manager", SWITCHES),
    (r"^grad_nested_regions (nonstrict|strict|pre_dispatch) |^grad_decorator \w+ graph", "", REGIONS),
    (r"^const_list_of_tensors capture code", "", LITERALS),
    (r"^(retrace_dynamic|view_chain_alias|name_clash_inputs) \w+ (nodes|code)", "", AGAIN),
    (r"^unbacked_expand_cat ", only_checks_and_sizes, BOTH),
    (r" (code|graph|nodes|module_code|unflatten|\w+_code|outputs)$", only_sizes, NAMES),
    (r"^scatter_gather_mix \w+ range_constraints", r"9223372036854775806", INFINITE),
    (r"^(nn_attention|nn_rmsnorm_swiglu) post_dispatch unflatten", "", ACROSS),
    (r"^unbacked_expand_cat ", "", CONTIGUOUS),
)  # fmt: skip


def replay(script: str, records: str) -> dict:
    command = [sys.executable, str(TESTS / script), str(TESTS / records)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def reason(key: str, value: list, rules: tuple) -> str | None:
    text = " ".join(v if isinstance(v, str) else str(v) for v in value)

    def fits(rule: str | Callable[[str, list], bool]) -> bool:
        return rule(key, value) if callable(rule) else re.search(rule, text) is not None

    return next((why for name, rule, why in rules if re.search(name, key) and fits(rule)), None)


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
    apart = sum(why in DOCUMENTS for why in reasons.values())
    good, asked = len(found) - len(reasons), len(found) - apart
    print(f"  {apart} contradicted by the documents; of the other {asked}, {100 * good / asked:.1f} % agree")
    return reasons


def known_parts() -> Iterator[tuple[str, dict[str, str]]]:
    """What was known before of the parts that are not measured."""
    known = json.loads((TESTS / "recorded_known.json").read_text())
    for part in ("ops", "programs"):
        yield part, {key: known["reasons"][i] for key, i in known[part].items()}


def main() -> None:
    wanted = [word for word in sys.argv[1:] if word in ("ops", "programs")] or ["ops", "programs"]
    parts: dict[str, dict] = dict(known_parts())
    if "ops" in wanted:
        parts["ops"] = report("calls:", replay("ops_replay.py", "recorded_ops.json.gz"), OPS)
    if "programs" in wanted:
        parts["programs"] = report("programs:", replay("program_replay.py", "programs.json.gz"), PROGRAMS)
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
