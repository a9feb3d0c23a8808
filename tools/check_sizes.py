#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a size of memory or an offset is multiplied without a check, or a size read that a tensor may not have.

Three things are refused, because a product or sum that wraps makes a block smaller than what is written into it:

- a product, or a sum of two variables, in the arguments of an allocation: `ig_scope_array(c, n, sizeof *at)`,
  `ig_mem_mul` and `ig_mem_add` say it so that it cannot wrap;
- a product with sizeof anywhere else than in memcpy and its kin, whose memory exists;
- a product that is added to a pointer to bytes, outside of the folders that compute elements: there
  the geometry of tensors (src/tensor/geometry.h) bounds every offset. Elsewhere the line, or the one before,
  says `// admitted:` and what bounds it.

In the formulas of ONNX operators, whose operands have whatever rank the model gives them, `ig_sizes(t)[2]` is refused,
too: ig_rd_size fails where the dimension is missing.
"""
import pathlib
import re
import sys

import csource

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "python")
ARITHMETIC = "src/base/mem."  # where the checks themselves are
ELEMENTS = ("src/kernels/", "src/ops/", "src/tensor/", "src/onnx_ops/", "src/op/pointwise.c", "src/op/random_fill.c")
ADMITTED = re.compile(r"//\s*admitted:")
ALLOCATES = re.compile(
    r"(?<!void \*)\b(ig_(?:scope|arena|om|cv|onnx)_push|ig_(?:mem|scope|arena|scratch|kernel)_array|"
    r"ig_mem_new|ig_block_new|"
    r"ig_scratch_get|malloc|realloc|aligned_alloc|PyMem_(?:Raw)?(?:Malloc|Realloc))\("
)
COPIES = re.compile(r"\b(?:mem(?:cpy|move|set|cmp)|ig_mem_copy|ig_mem_stream|qsort|fwrite|fread)\($")
SIZEOF = re.compile(r"\*\s*sizeof\b|\bsizeof\b[^;,(){}*+/]*(?:\([^()]*\))?\s+\*\s+\w")
BYTES = re.compile(r"\b(?:char|uint8_t|void)\s*\*\s*(?:const\s+)?(\w+)\b(?!\()")
ANY_RANK = "src/onnx_ops/"
FIXED_DIM = re.compile(r"\big_sizes\([^()]*\)\[(?:\d|[\w>-]+->ndim - \d)")
WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|\+\+|--|[^\s\w]")
NUMBER = re.compile(r"\d|[A-Z][A-Z_0-9]+$")


def words(text: str) -> list[str]:
    return WORD.findall(text)


def is_binary(at: list[str], i: int) -> bool:
    """Does an operator at i stand between two operands? `(char *)` and `sizeof *x` do not count."""
    if i == 0 or i + 1 == len(at) or at[i + 1] in (")", ",", "*"):
        return False
    before = at[i - 1]
    if before in ("sizeof", "return"):
        return False
    if before == ")" and i >= 3 and at[i - 3] == "(" and at[i - 2] in ("size_t", "int64_t", "int", "uint64_t"):
        return False  # a cast of what a pointer points at
    return before in (")", "]") or bool(re.match(r"\w", before))


def is_constant(at: list[str], i: int) -> bool:
    return bool(NUMBER.match(at[i])) or at[i] == "sizeof"


def wraps(argument: str) -> str | None:
    """What in an argument of an allocation can wrap. What stands in brackets was looked at by its own call."""
    at = words(argument)
    for i, word in enumerate(at):
        if word == "*" and is_binary(at, i):
            after = i + 1
            before = i - 1
            if not (is_constant(at, before) and is_constant(at, after)):
                return "a product"
        if word == "+" and is_binary(at, i) and not is_constant(at, i - 1) and not is_constant(at, i + 1):
            return "a sum of two variables"
    return None


def enclosing_call(text: str, offset: int) -> str:
    """The text up to the bracket that is open at `offset`, innermost calls of casts and groups skipped."""
    depth = 0
    for i in range(offset - 1, max(0, offset - 2000), -1):
        ch = text[i]
        if ch in ")]}":
            depth += 1
        elif ch in "([{":
            if depth == 0:
                head = text[: i + 1]
                if ch == "(" and re.search(r"\w\($", head):
                    return head
                if ch == "{":
                    return ""
                continue
            depth -= 1
        elif ch == ";" and depth == 0:
            return ""
    return ""


def check(path: str, text: str) -> list[tuple[int, str]]:
    found = []
    for m in ALLOCATES.finditer(text):
        arguments, _ = csource.split(text, m.end())
        for argument in arguments:
            what = wraps(argument)
            if what:
                want = "expected ig_mem_mul, ig_mem_add or an array of n elements"
                found.append((m.start(), f"{m[1]}(): {what}, {want}"))
    for m in SIZEOF.finditer(text):
        head = enclosing_call(text, m.start())
        if not COPIES.search(head) and not ALLOCATES.search(head[-40:]):
            found.append((m.start(), "a product with sizeof, expected ig_mem_mul"))
    if path.startswith(ANY_RANK):
        found += [(m.start(), "a fixed dimension of an operand, expected ig_rd_size") for m in FIXED_DIM.finditer(text)]
    if path.startswith(ELEMENTS):
        return found
    for function in csource.functions(text):
        body = text[function.first : function.end]
        names = "|".join(sorted(set(BYTES.findall(body))))
        if not names:
            continue
        for m in re.finditer(rf"(?<![\w.>*])(?:{names})\s*\+\s*(?:\(size_t\))?[\w.>\[\]-]+\s+\*\s+[\w(]", body):
            found.append((function.first + m.start(), "a product as an offset of bytes, expected a checked one"))
    return found


def main() -> int:
    bad = 0
    for path in csource.c_files(ROOT, *FOLDERS):
        name = str(path.relative_to(ROOT))
        if name.startswith(ARITHMETIC):
            continue
        source = path.read_text()
        lines = source.splitlines()
        text = csource.blank(source)
        for offset, complaint in check(name, text):
            line = csource.line_of(text, offset)
            if any(ADMITTED.search(lines[at]) for at in range(max(0, line - 2), line)):
                continue
            print(f"{name}:{line}: {complaint}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
