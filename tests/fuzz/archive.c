// SPDX-License-Identifier: Apache-2.0
#include "archive.h"

#include <stdio.h>
#include <string.h>

#include "codec/zip.h"
#include "fuzz.h"
#include "script/trace.h"
#include "ts/write.h"

// ---- traced programs

static bool trace_steps(ig_strace *t, const fuzz_program *p, ig_tensor **inputs) {
  for (size_t i = 0; i < p->ninputs; i++) {
    char name[16];
    ig_value v = ig_of_tensor(inputs[i]);
    (void)snprintf(name, sizeof name, "x%u", (unsigned)i % 1000);
    if (!ig_strace_input(t, name, &v)) return false;
    inputs[i] = v.tensor;
  }
  fuzz_pool pool;
  ig_value outs[FUZZ_POOL];
  if (!fuzz_program_replay(p->c, p, inputs, &pool)) return false;
  for (size_t i = 0; i < p->noutputs; i++) outs[i] = pool.at[p->outputs[i]];
  ig_sobj_seq *all = ig_sobj_seq_make(p->c, IG_SOBJ_TUPLE, NULL, outs, p->noutputs);
  ig_value result = p->noutputs == 1 ? outs[0] : ig_of_sobj(all);
  bool ok = all && ig_strace_output(t, &result);
  if (all) ig_svalue_release(ig_of_sobj(all));
  return ok;
}

static bool trace_method(ig_ctx *c, ig_sunit *u, fuzz_program *p, ig_sobj_instance *self) {
  ig_tensor *inputs[FUZZ_INPUTS];
  for (size_t i = 0; i < p->ninputs; i++) {
    inputs[i] = ig_is_fake(p->originals[i]) ? NULL : fuzz_copied(c, p->originals[i]);
    if (!inputs[i]) return false;
  }
  ig_strace *t = ig_strace_create(c, u, NULL, false);
  bool ok = t && ig_strace_begin(t) && ig_strace_self(t, self) && trace_steps(t, p, inputs);
  if (t) ig_strace_end(t);
  ok = ok && ig_strace_finish_method(t, "forward") != NULL;
  ig_strace_free(t);
  return ok;
}

bool fuzz_archive_trace(ig_ctx *c, fuzz_program *p, ig_sink *out) {
  ig_sunit *u = ig_sunit_create(c);
  ig_sclass *k = u ? ig_sunit_add_class(u, "__torch__.M", true) : NULL;
  const ig_stype *flag = k ? ig_stype_plain(&u->types, IG_STYPE_BOOL) : NULL;
  bool ok = flag && ig_sclass_add_attribute(k, "training", flag, IG_SROLE_PLAIN) != SIZE_MAX;
  ig_sobj_instance *self = ok ? ig_sobj_instance_make(c, k) : NULL;
  ok = self && ig_sobj_instance_set(c, self, 0, ig_of_bool(false)) && trace_method(c, u, p, self) &&
       ig_ts_print(c, self, "fuzz", NULL, 0, out) == IG_OK;
  if (self) ig_svalue_release(ig_of_sobj(self));
  ig_sunit_release(u);
  return ok;
}

// ---- sources

static const char *const sources[] = {
    "class M(Module):\n"
    "  training : bool\n"
    "  n : Final[int] = 3\n"
    "  def forward(self: __torch__.M,\n"
    "    x: Tensor) -> Tensor:\n"
    "    y = x\n"
    "    for i in range(self.n):\n"
    "      if torch.gt(torch.sum(y), i):\n"
    "        y = torch.add(torch.mul(y, i), x)\n"
    "      else:\n"
    "        y = torch.sub(y, torch.select(x, 0, 1), alpha=2)\n"
    "    _0 = True\n"
    "    k = 0\n"
    "    while _0:\n"
    "      k = torch.add(k, 1)\n"
    "      y = torch.slice(torch.cat([y, x]), 0, k, 9223372036854775807, 2)\n"
    "      _0 = torch.lt(k, torch.size(x, 0))\n"
    "    return y\n",

    "class M(Module):\n"
    "  training : bool\n"
    "  def forward(self: __torch__.M,\n"
    "    x: Tensor) -> Tuple[Tensor, int, float]:\n"
    "    l = annotate(List[Tensor], [])\n"
    "    d = annotate(Dict[str, int], {})\n"
    "    s = \"a b\"\n"
    "    for i in range(4):\n"
    "      _0 = torch.append(l, torch.add(x, i))\n"
    "      s = torch.add(s, torch.format(\"{}:{}\", i, \"q\"))\n"
    "      torch._set_item(d, torch.str(i), torch.len(s))\n"
    "    w = torch.split(torch.replace(s, \"q\", \"zz\", -1), \" \", -1)\n"
    "    n = torch.mul([1, 2], 3)\n"
    "    torch.sort(n, True)\n"
    "    torch.insert(n, -2, 7)\n"
    "    v = torch.pop(n, 1)\n"
    "    k = torch.keys(d)\n"
    "    t = (torch.stack(l, 1), torch.max(n), torch.upper(torch.join(\"-\", w)))\n"
    "    a, b, c, = t\n"
    "    f = torch.find(c, \"Z\", 0, -1)\n"
    "    return (a, torch.add(torch.add(b, f), d[k[-1]]), torch.div(float(v), 3))\n",

    "class Color(Enum):\n"
    "  RED = 1\n"
    "  BLUE = 2\n"
    "class Pair(NamedTuple):\n"
    "  first : Tensor\n"
    "  second : Optional[int]\n"
    "class Node:\n"
    "  value : int\n"
    "  items : List[int]\n"
    "  def __init__(self: __torch__.Node,\n"
    "    value: int) -> NoneType:\n"
    "    self.value = value\n"
    "    self.items = [value]\n"
    "    return None\n"
    "  def __lt__(self: __torch__.Node,\n"
    "    other: __torch__.Node) -> bool:\n"
    "    return torch.lt(self.value, other.value)\n"
    "def f(p: __torch__.Pair,\n"
    "    n: int=2) -> Tensor:\n"
    "  m = p.second\n"
    "  if torch.__isnot__(m, None):\n"
    "    r = torch.add(p.first, unchecked_cast(int, m))\n"
    "  else:\n"
    "    r = torch.neg(p.first)\n"
    "  return torch.mul(r, n)\n"
    "class M(Module):\n"
    "  training : bool\n"
    "  def forward(self: __torch__.M,\n"
    "    x: Tensor,\n"
    "    n: int=3) -> Tensor:\n"
    "    a = __torch__.Node.__new__(__torch__.Node)\n"
    "    _0 = (a).__init__(n, )\n"
    "    b = __torch__.Node.__new__(__torch__.Node)\n"
    "    _1 = (b).__init__(1, )\n"
    "    l = [a, b]\n"
    "    torch.sort(l)\n"
    "    p = __torch__.Pair(x, None)\n"
    "    q = __torch__.Pair(__torch__.f(p, ), (l[0]).value)\n"
    "    c = 1\n"
    "    if torch.eq(c, 1):\n"
    "      ops.prim.RaiseException(\"no\")\n"
    "    assert torch.ge(torch.len(l), 2), \"few\"\n"
    "    return __torch__.f(q, torch.len((l[1]).items), )\n",

    "class Inner(Module):\n"
    "  __parameters__ = [\"weight\", ]\n"
    "  weight : Tensor\n"
    "  training : bool\n"
    "  def forward(self: __torch__.Inner,\n"
    "    x: Tensor) -> Tensor:\n"
    "    weight = self.weight\n"
    "    return torch.linear(x, weight, None)\n"
    "class M(Module):\n"
    "  training : bool\n"
    "  def forward(self: __torch__.M,\n"
    "    x: Tensor,\n"
    "    y: Tensor) -> Tensor:\n"
    "    z = annotate(Optional[Tensor], None)\n"
    "    if torch.__is__(z, None):\n"
    "      r = torch.conv1d(torch.unsqueeze(x, 0), torch.rand([3, 2, 1]), None, [1], [0], [1], 1)\n"
    "    else:\n"
    "      r = unchecked_cast(Tensor, z)\n"
    "    w = torch.index(y, annotate(List[Optional[Tensor]], [torch.tensor([0, -1])]))\n"
    "    h = torch.view(torch.contiguous(torch.transpose(w, 0, 1)), [-1, 2])\n"
    "    i = int(torch.item(torch.argmax(h, None)))\n"
    "    s, t = torch.topk(h, 1, -1, True, True)\n"
    "    return torch.add(torch.sum(r, [0, 2], dtype=6), torch.mean(s, dtype=ops.prim.dtype(x)), "
    "alpha=i)\n",
};

// A module of class __torch__.M: {"training": False}.
static const char pickle[] =
    "\x80\x02"
    "c__torch__\nM\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x89ub.";

bool fuzz_archive_script(ig_ctx *c, draw *d, ig_sink *out) {
  const char *text = sources[draw_below(d, sizeof sources / sizeof *sources)];
  const struct {
    const char *name;
    const void *at;
    size_t n;
  } members[] = {{"fuzz/data.pkl", pickle, sizeof pickle - 1},
                 {"fuzz/code/__torch__.py", text, strlen(text)},
                 {"fuzz/constants.pkl", "\x80\x02).", 4},
                 {"fuzz/version", "3\n", 2}};
  ig_zip_writer w;
  ig_zip_writer_init(&w, c, out, IG_ZIP_ALIGN);
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof members / sizeof *members; i++) {
    ig_bytes bytes = {members[i].at, members[i].n};
    ok = ig_zip_add(&w, members[i].name, &bytes, 1) == IG_OK;
  }
  ok = ok && ig_zip_finish(&w) == IG_OK;
  ig_zip_writer_free(&w);
  return ok;
}
