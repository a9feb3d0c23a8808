// SPDX-License-Identifier: Apache-2.0
// The contract of every operator record, checked on every sample. There is no per-operator code.
//
// A check that fails prints the operator, the sample and what was wrong; the test goes on and fails
// at the end. `contract_test NAME` runs the operators whose id contains NAME.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "allocations.h"
#include "golden.h"
#include "heap.h"
#include "ingot/aten.h"
#include "ingot/grad.h"
#include "ingot/graph.h"
#include "op/call.h"
#include "op/formula.h"
#include "op/prepare.h"
#include "sample.h"
#include "tensor/copy.h"
#include "tensor/number.h"

static ig_ctx *c;
static const ig_op *op;   // under test
static const char *text;  // of the sample
static const char *only;
static sample_how how;  // the sample is read
static size_t records;
static size_t samples;
static size_t checks;
static size_t failures;
static size_t kernels;   // records that compute
static size_t steady;    // of them, those that can be prepared
static size_t prepared;  // calls that were
static test_heap heap;

// .waive = "gradient: reason; size 3=0: reason; gradient of weight: reason". What is waived is
// checked all the same and must fail, at least once: a waiver that nothing needs fails itself.
typedef struct waiver {
  const char *what;
  size_t n;
  bool used;
} waiver;

enum { MAX_WAIVERS = 24 };
static waiver waivers[MAX_WAIVERS];
static size_t nwaivers;
static waiver *excuse;  // of the checks that run now; NULL: none

static bool check(bool ok, const char *fmt, ...) IG_PRINTF(2, 3);
static bool check(bool ok, const char *fmt, ...) {
  checks++;
  if (ok) return true;
  if (excuse) {
    excuse->used = true;
    ig_ctx_clear(c);
    return false;
  }
  failures++;
  va_list ap;
  va_start(ap, fmt);
  print_error("%s(%.*s) as %s", op->target, (int)strcspn(text, "|"), text,
              ig_dtype_text(how.floats));
  if (how.from) print_error(", %d is %d", (int)how.from, (int)how.to);
  print_error("%s: ", how.flat ? ", 0-d" : how.special ? ", special" : "");
  vprint_error(fmt, ap);
  va_end(ap);
  print_error("%s%s\n", ig_ctx_status(c) != IG_OK ? ": " : "", ig_ctx_error(c));
  ig_ctx_clear(c);
  return false;
}

static void read_waivers(void) {
  nwaivers = 0;
  for (const char *at = op->def->waive; at && *at;) {
    at += strspn(at, "; ");
    size_t n = strcspn(at, ":;");
    bool reason = at[n] == ':' && strspn(at + n, ": ") < strcspn(at + n, ";");
    if (!check(reason && nwaivers < MAX_WAIVERS, "a waiver without a reason, or too many")) return;
    waivers[nwaivers++] = (waiver){.what = at, .n = n};
    at += strcspn(at, ";");
  }
}

static waiver *find_waiver(const char *what) {
  for (size_t i = 0; i < nwaivers; i++) {
    if (waivers[i].n == strlen(what) && strncmp(waivers[i].what, what, waivers[i].n) == 0) {
      return &waivers[i];
    }
  }
  return NULL;
}

// The checks until `excuse` is set back to what this returns belong to that waiver, if any.
static waiver *begin(const char *what) {
  waiver *before = excuse;
  waiver *now = find_waiver(what);
  if (now) excuse = now;
  return before;
}

static double tolerance_of(ig_dtype d) {
  switch (d) {
    case IG_F16:
      return 2e-3;
    case IG_BF16:
      return 2e-2;
    case IG_F32:
    case IG_C64:
      return 2e-5;
    case IG_F64:
    case IG_C128:
      return 1e-8;
    default:
      return 0;
  }
}

// The widest error that two roundings of the operands can explain.
static double tolerance_now(const ig_tensor *t) {
  double a = tolerance_of(t->dtype);
  double b = tolerance_of(how.floats);
  return a == 0 ? 0 : a > b ? a : b;
}

static bool close(double x, double y, double tolerance) {
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y)) return x == y;
  return fabs(x - y) <= tolerance * (1 + fabs(y));
}

static bool same_meta(const ig_tensor *a, const ig_tensor *b, bool strides, const char *what) {
  if (!check(a->dtype == b->dtype, "%s: dtype %s, expected %s", what, ig_dtype_text(a->dtype),
             ig_dtype_text(b->dtype))) {
    return false;
  }
  if (!check(a->ndim == b->ndim, "%s: %d dimensions, expected %d", what, a->ndim, b->ndim)) {
    return false;
  }
  bool empty = ig_tensor_numel(b) == 0;
  for (int d = 0; d < a->ndim; d++) {
    int64_t x = ig_sizes(a)[d].value;
    int64_t y = ig_sizes(b)[d].value;
    if (!check(x == y, "%s: size %d is %d, expected %d", what, d, (int)x, (int)y)) return false;
    x = ig_strides(a)[d].value;
    int64_t z = ig_strides(b)[d].value;
    if (strides && y > 1 && !empty &&
        !check(x == z, "%s: stride %d is %d, expected %d", what, d, (int)x, (int)z)) {
      return false;
    }
  }
  return true;
}

static bool same_values(const ig_tensor *a, const ig_tensor *b, double tolerance,
                        const char *what) {
  size_t n = (size_t)ig_tensor_numel(b);
  ig_c128 *x = malloc((2 * n + 1) * sizeof *x);
  ig_c128 *y = x + n;
  bool ok = x != NULL;
  if (ok) {
    ig_tensor_read(a, IG_C128, x);
    ig_tensor_read(b, IG_C128, y);
  }
  for (size_t i = 0; ok && i < n; i++) {
    bool equal = close(x[i].re, y[i].re, tolerance) && close(x[i].im, y[i].im, tolerance);
    ok = check(equal, "%s: element %d is %.9g%+.9gj, expected %.9g%+.9gj", what, (int)i, x[i].re,
               x[i].im, y[i].re, y[i].im);
  }
  free(x);
  return ok;
}

static bool same_value(const ig_value *a, const ig_value *b, double slack, bool strides,
                       const char *what) {
  if (b->kind == IG_KIND_TENSOR) {
    if (!check(a->kind == IG_KIND_TENSOR, "%s: no tensor", what)) return false;
    if (!same_meta(a->tensor, b->tensor, strides, what)) return false;
    if (ig_is_fake(a->tensor) || ig_is_fake(b->tensor) || op->def->random) return true;
    return same_values(a->tensor, b->tensor, slack * tolerance_now(b->tensor), what);
  }
  if (b->kind == IG_KIND_LIST && a->kind == IG_KIND_INTS) {
    bool equal = a->ints.n == b->list.n;
    for (size_t k = 0; equal && k < a->ints.n; k++) {
      equal = b->list.at[k].kind == IG_KIND_INT && b->list.at[k].i.value == a->ints.at[k].value;
    }
    return check(equal, "%s: integers", what);
  }
  if (b->kind == IG_KIND_LIST) {
    if (!check(a->kind == IG_KIND_LIST && a->list.n == b->list.n, "%s: list", what)) return false;
    for (size_t i = 0; i < b->list.n; i++) {
      if (!same_value(&a->list.at[i], &b->list.at[i], slack, strides, what)) return false;
    }
    return true;
  }
  bool numbers = ig_value_is_number(a) && ig_value_is_number(b);
  if (!check(numbers || a->kind == b->kind, "%s: kind %d, expected %d", what, (int)a->kind,
             (int)b->kind)) {
    return false;
  }
  if (!numbers) return true;
  return check(close(ig_value_f64(a), ig_value_f64(b), slack * tolerance_of(how.floats) + 1e-12),
               "%s: %g, expected %g", what, ig_value_f64(a), ig_value_f64(b));
}

static void same_results(const ig_value *a, const ig_value *b, double slack, bool strides,
                         const char *what) {
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (!same_value(&a[i], &b[i], slack, strides, what)) return;
  }
}

static ig_value map_value(sample *s, const ig_value *v, ig_tensor *(*fn)(ig_tensor *t)) {
  if (v->kind == IG_KIND_TENSOR) return ig_of_tensor(fn(v->tensor));
  if (v->kind != IG_KIND_LIST) return *v;
  ig_value *at = s->items[s->lists++];
  for (size_t i = 0; i < v->list.n; i++) at[i] = map_value(s, &v->list.at[i], fn);
  return ig_of_list(at, v->list.n);
}

// A copy of the sample whose tensors went through fn.
static void map_sample(const sample *from, sample *to, ig_tensor *(*fn)(ig_tensor *t)) {
  to->lists = from->lists;
  for (size_t i = 0; i < op->schema.nargs; i++) to->args[i] = map_value(to, &from->args[i], fn);
}

static ig_tensor *to_fake(ig_tensor *t) {
  return ig_tensor_fake(c, t);
}

// The same elements with gaps between them.
static ig_tensor *to_strided(ig_tensor *t) {
  ig_meta m;
  ig_meta_of(t, &m);
  ig_int step = ig_const(3);
  for (int d = t->ndim - 1; d >= 0; d--) {
    m.stride[d] = step;
    step = ig_const(step.value * (m.size[d].value + 1));
  }
  m.offset = ig_const(2);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

static ig_tensor *to_copy(ig_tensor *t) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  int64_t last = 0;
  for (int d = 0; d < t->ndim; d++) last += (m.size[d].value - 1) * m.stride[d].value;
  if (last < 0 || ig_tensor_has_internal_overlap(t)) ig_meta_contiguous(c, &m);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

// Some operators write to arguments: every call gets arguments of its own.
static const ig_value *fresh(const sample *s, sample *room) {
  bool writes = false;
  room->lists = s->lists;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    room->args[i] = s->args[i];
    if (!op->schema.args[i].written) continue;
    room->args[i] = map_value(room, &s->args[i], to_copy);
    writes = true;
  }
  return writes ? room->args : s->args;
}

static void check_fake(const sample *s, const ig_value *real) {
  static sample fake;
  ig_value outs[IG_MAX_RETURNS];
  bool dynamic = op->def->fake != NULL;
  if (dynamic) return;
  map_sample(s, &fake, to_fake);
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_FAKE, {.fake = true}});
  ig_call(c, op, fake.args, outs);
  ig_mode_pop(c, &mode);
  if (!check(ig_ctx_status(c) == IG_OK, "fake call")) return;
  same_results(outs, real, 1, true, "fake call");
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (outs[i].kind == IG_KIND_TENSOR) check(ig_is_fake(outs[i].tensor), "fake call gave bytes");
  }
}

// Every size of at least 2 of every tensor argument becomes a symbol; the captured graph must
// compute what eager does.
static size_t symbolic_inputs(const sample *s, sample *sym, ig_value *inputs) {
  size_t n = 0;
  sym->lists = s->lists;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    sym->args[i] = s->args[i];
    size_t count = s->args[i].kind == IG_KIND_TENSOR ? 1
                   : s->args[i].kind == IG_KIND_LIST ? s->args[i].list.n
                                                     : 0;
    ig_value *items = s->args[i].kind == IG_KIND_LIST ? sym->items[sym->lists++] : NULL;
    for (size_t k = 0; k < count; k++) {
      const ig_value *from = items ? &s->args[i].list.at[k] : &s->args[i];
      ig_value *to = items ? &items[k] : &sym->args[i];
      *to = *from;
      if (from->kind != IG_KIND_TENSOR) continue;
      const ig_tensor *t = from->tensor;
      ig_int sizes[IG_MAX_DIM];
      for (int d = 0; d < t->ndim; d++) {
        sizes[d] = ig_sizes(t)[d];
        if (sizes[d].value >= 2) sizes[d] = ig_capture_dim(c, sizes[d].value, 2, INT64_MAX);
      }
      char name[32];
      (void)snprintf(name, sizeof name, "x%zu", n);
      inputs[n++] = *from;
      *to = ig_of_tensor(ig_capture_input(c, name, t->dtype, sizes, t->ndim));
    }
    if (items) sym->args[i] = ig_of_list(items, count);
  }
  return n;
}

static void check_symbolic(const sample *s, const ig_value *real) {
  static sample sym;
  ig_value inputs[IG_MAX_ARGS + SAMPLE_ITEMS];
  ig_value outs[IG_MAX_RETURNS];
  ig_value flat[SAMPLE_ITEMS * IG_MAX_RETURNS];
  size_t count = 0;
  bool writes = false;
  for (size_t i = 0; i < op->schema.nargs; i++) writes = writes || op->schema.args[i].written;
  if (op->def->fake || writes) return;
  if (!check(ig_capture_begin(c) == IG_OK, "capture")) return;
  size_t n = symbolic_inputs(s, &sym, inputs);
  ig_call(c, op, sym.args, outs);
  if (!check(ig_ctx_status(c) == IG_OK, "symbolic call")) {
    ig_capture_abort(c);
    return;
  }
  same_results(outs, real, 1, false, "symbolic call");
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (outs[i].kind == IG_KIND_LIST) {
      for (size_t k = 0; k < outs[i].list.n; k++) flat[count++] = outs[i].list.at[k];
    } else if (outs[i].kind == IG_KIND_TENSOR) {
      flat[count++] = outs[i];
    }
  }
  ig_graph *g = NULL;
  if (!check(ig_capture_end(c, flat, count, &g) == IG_OK, "end of capture")) return;
  ig_value again[SAMPLE_ITEMS * IG_MAX_RETURNS];
  if (check(ig_graph_run(c, g, inputs, n, again) == IG_OK, "run of the captured graph")) {
    size_t at = 0;
    for (size_t i = 0; i < op->schema.nrets; i++) {
      size_t items = real[i].kind == IG_KIND_LIST ? real[i].list.n : real[i].kind == IG_KIND_TENSOR;
      for (size_t k = 0; k < items; k++) {
        const ig_value *want = real[i].kind == IG_KIND_LIST ? &real[i].list.at[k] : &real[i];
        if (!same_value(&again[at++], want, 1, false, "run of the captured graph")) break;
      }
    }
  }
  ig_graph_free(g);
}

static void check_decomposition(const sample *s, const ig_value *real) {
  ig_value outs[IG_MAX_RETURNS];
  if (!ig_op_has_decomposition(op) || ig_op_is_composite(op)) return;
  static sample room;
  for (size_t i = 0; i < IG_MAX_RETURNS; i++) outs[i] = ig_none();
  ig_op_decompose(c, op, fresh(s, &room), outs);
  if (check(ig_ctx_status(c) == IG_OK, "decomposition")) {
    same_results(outs, real, 4, false, "decomposition");
  }
}

// The formula for programs, which eager calls do not run.
static void check_lowering(const sample *s, const ig_value *real) {
  ig_value outs[IG_MAX_RETURNS];
  if ((!op->def->lower && !op->def->lower_outs) || op->def->random) return;
  static sample room;
  for (size_t i = 0; i < IG_MAX_RETURNS; i++) outs[i] = ig_none();
  ig_op_lower(c, op, fresh(s, &room), outs);
  if (check(ig_ctx_status(c) == IG_OK, "lowering")) {
    same_results(outs, real, 4, false, "lowering");
  }
}

// ---- preparing and running

static bool may_prepare(void) {
  return ig_op_is_prepared(op) && op->form == IG_FORM_PLAIN && !op->def->view && !op->def->shapes;
}

static ig_value like(const ig_value *v, ig_tensor *(*fn)(ig_tensor *t)) {
  return v->kind == IG_KIND_TENSOR ? ig_of_tensor(fn(v->tensor)) : *v;
}

// Garbage that a kernel would notice: every float is a NaN.
static ig_tensor *to_garbage(ig_tensor *t) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_tensor *fresh = ig_tensor_make(c, &m, false);
  if (fresh && ig_tensor_data(fresh)) memset(ig_tensor_data(fresh), 0xff, fresh->storage->bytes);
  return fresh;
}

static void same_bits(const ig_value *a, const ig_value *b, size_t i) {
  if (b->kind != IG_KIND_TENSOR || op->def->random) return;
  size_t bytes = (size_t)ig_tensor_numel(b->tensor) * ig_dtype_size(b->tensor->dtype);
  char *x = malloc(2 * bytes + 1);
  check(x != NULL, "out of memory");
  if (!x) return;
  ig_tensor_read(a->tensor, a->tensor->dtype, x);
  ig_tensor_read(b->tensor, b->tensor->dtype, x + bytes);
  check(memcmp(x, x + bytes, bytes) == 0, "run: result %d has other bits than the call's", (int)i);
  free(x);
}

// A prepared kernel states its memory from fake operands, and then runs without taking any other:
// every allocation would fail, of the context and of kernels, and none is tried.
static void check_prepared(const ig_value *args, const ig_value *real) {
  static sample fake;
  static sample room;
  static sample given;
  ig_prep p;
  ig_value outs[IG_MAX_RETURNS];
  if (!may_prepare()) return;
  for (size_t i = 0; i < op->schema.nargs; i++) given.args[i] = args[i];
  given.lists = 0;
  map_sample(&given, &fake, to_fake);
  for (size_t i = 0; i < op->schema.nrets; i++) outs[i] = like(&real[i], to_fake);
  ig_prepare(c, op, fake.args, outs, &p);
  // What cannot be planned, since sizes stand in the data, has a kernel.
  if (op->def->kernel && op->def->run && ig_ctx_status(c) == IG_UNSUPPORTED) {
    ig_ctx_clear(c);
    return;
  }
  if (!check(ig_ctx_status(c) == IG_OK, "prepare")) return;
  args = fresh(&given, &room);
  for (size_t i = 0; i < op->schema.nrets; i++) outs[i] = like(&real[i], to_garbage);
  size_t bytes = ig_need_bytes(&p.need);
  size_t behind = 64;
  char *memory = aligned_alloc(64, (bytes + behind + 63) / 64 * 64);
  check(memory != NULL && bytes < IG_SIZE_NONE, "memory of %zu bytes", bytes);
  if (!memory || bytes >= IG_SIZE_NONE) {
    free(memory);
    return;
  }
  memset(memory, 0xff, bytes + behind);
  size_t misses = ig_workspace_misses();
  long calls = heap.calls;
  heap.fail_at = calls + 1;
  ig_scratch_limit(0);
  size_t taken = test_allocations();
  ig_prepared_run(c, op, &p, args, outs, memory);
  taken = test_allocations() - taken;
  ig_scratch_limit(SIZE_MAX);
  heap.fail_at = 0;
  calls = heap.calls - calls;
  bool intact = true;
  for (size_t i = 0; i < behind; i++) intact = intact && memory[bytes + i] == (char)0xff;
  free(memory);
  if (!check(ig_ctx_status(c) == IG_OK, "run")) return;
  check(calls == 0 && taken == 0, "run: %ld allocations of the context, %zu in all", calls, taken);
  check(ig_workspace_misses() == misses, "run: a kernel found no room in the stated memory");
  check(intact, "run: bytes behind the stated memory are written");
  for (size_t i = 0; i < op->schema.nrets; i++) same_bits(&outs[i], &real[i], i);
  prepared++;
}

static void check_strided(const sample *s, const ig_value *real) {
  static sample strided;
  ig_value outs[IG_MAX_RETURNS];
  if (op->def->view || op->facts & IG_FACT_VIEW) return;
  map_sample(s, &strided, to_strided);
  waiver *before = begin("strided");
  ig_call(c, op, strided.args, outs);
  if (check(ig_ctx_status(c) == IG_OK, "strided operands")) {
    same_results(outs, real, 1, false, "strided operands");
    check_prepared(strided.args, outs);
  }
  excuse = before;
}

static void check_inplace(const sample *s, const ig_value *real) {
  static sample in;
  ig_value outs[IG_MAX_RETURNS];
  const ig_tensor *want = ig_value_tensor(&real[0]);
  if (!op->inplace || !want || s->args[0].kind != IG_KIND_TENSOR || op->def->view) return;
  const ig_tensor *self = s->args[0].tensor;
  bool fits = self->ndim == want->ndim && self->dtype == want->dtype;
  for (int d = 0; fits && d < self->ndim; d++) {
    fits = ig_sizes(self)[d].value == ig_sizes(want)[d].value;
  }
  if (!fits || ig_tensor_has_internal_overlap(self)) return;
  for (int strided = 0; strided < 2; strided++) {
    map_sample(s, &in, strided ? to_strided : to_copy);
    ig_call(c, op->inplace, in.args, outs);
    const char *what = strided ? "strided in-place variant" : "in-place variant";
    if (!check(ig_ctx_status(c) == IG_OK, "%s", what)) return;
    check(outs[0].kind == IG_KIND_TENSOR && outs[0].tensor == in.args[0].tensor,
          "%s: another tensor", what);
    (void)same_value(&outs[0], &real[0], 1, false, what);
  }
}

// An out argument that is a list: its tensors are resized and filled.
static void check_out_list(const sample *s, const ig_value *real) {
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  size_t last = op->out->schema.nargs - 1;
  size_t n = real[0].list.n;
  ig_value *list = ig_scope_push(c, n * sizeof *list + 1);
  for (size_t i = 0; i < last; i++) args[i] = s->args[i];
  for (size_t i = 0; i < n; i++) {
    int64_t zero = 0;
    list[i] = ig_of_tensor(ig_tensor_empty(c, real[0].list.at[i].tensor->dtype, &zero, 1));
  }
  args[last] = ig_of_list(list, n);
  ig_call(c, op->out, args, outs);
  if (!check(ig_ctx_status(c) == IG_OK, "out variant")) return;
  same_results(&args[last], real, 1, false, "out variant");
}

static void check_out(const sample *s, const ig_value *real) {
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  if (!op->out) return;
  const ig_schema *schema = &op->out->schema;
  if (schema->nrets == 0 && real[0].kind == IG_KIND_LIST) {
    check_out_list(s, real);
    return;
  }
  size_t first = schema->nargs - schema->nrets;
  for (size_t i = 0; i < first; i++) {
    size_t k = 0;
    while (strcmp(op->schema.args[k].name, schema->args[i].name) != 0) k++;
    args[i] = s->args[k];
  }
  for (size_t i = 0; i < schema->nrets; i++) {
    if (real[i].kind != IG_KIND_TENSOR) return;
    int64_t zero = 0;  // too small: it must be resized
    args[first + i] = ig_of_tensor(ig_tensor_empty(c, real[i].tensor->dtype, &zero, 1));
  }
  ig_call(c, op->out, args, outs);
  if (!check(ig_ctx_status(c) == IG_OK, "out variant")) return;
  for (size_t i = 0; i < schema->nrets; i++) {
    check(outs[i].tensor == args[first + i].tensor, "out variant: another tensor");
  }
  same_results(outs, real, 1, false, "out variant");
}

// Gradients ---------------------------------------------------------------------------------------

static bool differentiable(const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) return false;
  return v->tensor->dtype == IG_F64 || v->tensor->dtype == IG_C128;
}

static ig_tensor *dense_like(const ig_tensor *t) {
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d].value;
  return ig_tensor_empty(c, t->dtype, sizes, t->ndim);
}

// Real part of sum(t * w), where w is some fixed weight per element.
static ig_tensor *weighted(ig_tensor *t) {
  ig_tensor *w = dense_like(t);
  size_t parts = t->dtype == IG_C128 ? 2 : 1;
  size_t n = w ? (size_t)ig_tensor_numel(w) * parts : 0;
  for (size_t e = 0; e < n; e++) {
    ((double *)ig_tensor_data(w))[e] = 0.3 + 0.1 * (double)(e / parts % 7) - (double)(e % parts);
  }
  ig_tensor *sum = ig_sum(c, ig_mul_tensor(c, t, w));
  return ig_cast(c, sum, IG_F64);
}

static ig_tensor *loss_of(const sample *s) {
  static sample room;
  ig_value outs[IG_MAX_RETURNS];
  ig_call(c, op, fresh(s, &room), outs);
  ig_tensor *loss = NULL;
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (op->def->diff_results && !(op->def->diff_results >> i & 1)) continue;
    size_t n = outs[i].kind == IG_KIND_LIST ? outs[i].list.n : 1;
    for (size_t k = 0; k < n; k++) {
      const ig_value *v = outs[i].kind == IG_KIND_LIST ? &outs[i].list.at[k] : &outs[i];
      if (!differentiable(v)) continue;
      ig_tensor *part = weighted(v->tensor);
      loss = loss ? ig_add_tensor(c, loss, part) : part;
    }
  }
  return loss;
}

// An operand and its argument's name.
typedef struct slope {
  ig_tensor *x;
  const char *name;
} slope;

enum { MAX_SLOPES = IG_MAX_ARGS + SAMPLE_ITEMS };

typedef struct slopes {
  sample s;
  slope at[MAX_SLOPES];
  size_t n;
} slopes;

// The gradients of the loss; some may be NULL.
static bool gradients_of(const slopes *w, ig_tensor *loss, bool create_graph, ig_tensor **grads) {
  ig_tensor *of[MAX_SLOPES];
  for (size_t i = 0; i < w->n; i++) of[i] = w->at[i].x;
  ig_backward_args run = {.size = sizeof run, .outputs = &loss, .noutputs = 1, .inputs = of};
  run.ninputs = w->n;
  run.allow_unused = true;
  run.retain_graph = run.create_graph = create_graph;
  return ig_backward(c, &run, grads) == IG_OK;
}

// A function of the first gradients, to be differentiated again; NULL: nothing to differentiate.
static ig_tensor *second_loss_of(const slopes *w) {
  ig_tensor *grads[MAX_SLOPES];
  ig_tensor *loss = loss_of(&w->s);
  if (!loss || !gradients_of(w, loss, true, grads)) return NULL;
  ig_tensor *sum = NULL;
  for (size_t i = 0; i < w->n; i++) {
    if (!grads[i] || !ig_tensor_requires_grad(grads[i])) continue;
    ig_tensor *part = weighted(grads[i]);
    sum = sum ? ig_add_tensor(c, sum, part) : part;
  }
  return sum;
}

static double loss_now(const slopes *w, bool second) {
  ig_scope s = ig_scope_open(c);
  bool before = ig_grad_set_enabled(c, second);
  ig_tensor *loss = second ? second_loss_of(w) : loss_of(&w->s);
  double x = loss ? ig_tensor_get(loss, 0) : NAN;
  (void)ig_grad_set_enabled(c, before);
  ig_scope_close(c, s);
  return x;
}

static double difference(const slopes *w, bool second, double *at) {
  const double h = 1e-5;
  double middle = *at;
  *at = middle + h;
  double up = loss_now(w, second);
  *at = middle - h;
  double down = loss_now(w, second);
  *at = middle;
  return (up - down) / (2 * h);
}

static void check_difference(const slopes *w, bool second, size_t k, const ig_tensor *grad) {
  ig_tensor *x = w->at[k].x;
  size_t parts = x->dtype == IG_C128 ? 2 : 1;
  size_t n = (size_t)ig_tensor_numel(x) * parts;
  size_t most = second ? 12 : 40;
  double *got = calloc(n + 1, sizeof *got);
  if (got && grad) ig_tensor_read(grad, x->dtype, got);
  if (grad && !same_meta(grad, x, false, "gradient")) n = 0;
  for (size_t i = 0; got && i < n && i < most; i++) {
    double want = difference(w, second, (double *)ig_tensor_data(x) + i);
    if (!check(close(got[i], want, 3e-5),
               "%s gradient of %s, element %zu%s is %.9g, difference is %.9g",
               second ? "second" : "first", w->at[k].name, i / parts,
               i % parts ? " (imaginary)" : "", got[i], want)) {
      break;
    }
  }
  free(got);
}

static void collect(slopes *w, ig_value *v, const char *name) {
  if (differentiable(v)) {
    ig_tensor *dense = dense_like(v->tensor);
    if (!dense) return;
    ig_tensor_copy(dense, v->tensor);
    ig_tensor_set_requires_grad(c, dense, true);
    v->tensor = dense;
    w->at[w->n++] = (slope){dense, name};
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t k = 0; k < v->list.n; k++) collect(w, (ig_value *)&v->list.at[k], name);
  }
}

static void check_second(const slopes *w) {
  ig_tensor *grads[MAX_SLOPES];
  ig_tensor *loss = second_loss_of(w);
  if (!check(ig_ctx_status(c) == IG_OK, "second derivative")) return;
  if (!loss) return;
  if (!check(gradients_of(w, loss, false, grads), "second backward")) return;
  for (size_t i = 0; i < w->n; i++) check_difference(w, true, i, grads[i]);
  check(ig_ctx_status(c) == IG_OK, "second differences");
}

static waiver *gradient_waiver(const char *name) {
  char what[64];
  (void)snprintf(what, sizeof what, "gradient of %s", name);
  return find_waiver(what);
}

// PyTorch has none: backward refuses.
static bool has_no_derivative(void) {
  return (op->facts & IG_FACT_NO_DERIVATIVE) || op->def->vjp == ig_vjp_refuse;
}

// Gradients against central differences, in float64 or complex128, of the operands whose gradients
// nobody waives and of the argument `with` (NULL: no other).
static void check_gradients(const char *start, const char *with) {
  static slopes w;
  ig_tensor *grads[MAX_SLOPES];
  const char *p = start;
  const char *special = strstr(start, "special");
  bool odd = how.special || (special && special < start + strcspn(start, "|"));
  if (op->def->not_differentiable || op->def->random || has_no_derivative()) return;
  if (odd) return;  // no slopes at NaN and infinity
  sample_how wide = how;
  wide.floats = how.floats == IG_C128 ? IG_C128 : IG_F64;
  if (!check(sample_parse(c, op, &p, wide, &w.s), "bad sample")) return;
  w.n = 0;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const char *name = op->schema.args[i].name;
    bool wanted = !gradient_waiver(name) || (with && strcmp(with, name) == 0);
    if (wanted) collect(&w, &w.s.args[i], name);
  }
  if (w.n == 0) return;
  ig_tensor *loss = loss_of(&w.s);
  if (!check(ig_ctx_status(c) == IG_OK, "call with gradient") || !loss) return;
  if (!check(ig_tensor_requires_grad(loss), "no history")) return;
  if (!check(gradients_of(&w, loss, false, grads), "backward")) return;
  for (size_t i = 0; i < w.n; i++) check_difference(&w, false, i, grads[i]);
  if (!check(ig_ctx_status(c) == IG_OK, "differences")) return;
  if (wide.floats != IG_F64) return;
  waiver *before = begin("second");
  check_second(&w);
  excuse = before;
}

static void check_gradient(const char *start) {
  waiver *before = begin("gradient");
  check_gradients(start, NULL);
  excuse = before;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const char *name = op->schema.args[i].name;
    if (!gradient_waiver(name)) continue;
    excuse = gradient_waiver(name);
    check_gradients(start, name);
    excuse = before;
  }
}

// Drivers -----------------------------------------------------------------------------------------

static void check_golden(size_t number, const ig_value *args, const ig_value *real) {
  golden g;
  if (!golden_find(c, op, number, how, &g)) {
    check(false, "no golden values: run tools/make_goldens.py");
    return;
  }
  if (g.refused) return;
  waiver *strides = find_waiver("strides");
  same_results(real, g.outs, 1, !strides, "golden values");
  if (strides) {
    waiver *before = begin("strides");
    same_results(real, g.outs, 1, true, "golden strides");
    excuse = before;
  }
  // Then the arguments that were written; a call without results has one that is None.
  size_t next = op->schema.nrets ? op->schema.nrets : 1;
  for (size_t i = 0; i < op->schema.nargs && next < g.n; i++) {
    if (!op->schema.args[i].written) continue;
    (void)same_value(&args[i], &g.outs[next++], 1, false, op->schema.args[i].name);
  }
}

static const char *class_of(ig_status st) {
  switch (st) {
    case IG_BAD_TYPE:
      return "TypeError";
    case IG_BAD_INDEX:
      return "IndexError";
    case IG_INVALID:
      return "ValueError";
    case IG_UNSUPPORTED:
      return "NotImplementedError";
    default:
      return "RuntimeError";
  }
}

// What PyTorch refuses is refused here, with the same class of exception.
static void check_refusal(const golden *g, const ig_value *args) {
  ig_value real[IG_MAX_RETURNS];
  ig_call(c, op, args, real);
  ig_status st = ig_ctx_status(c);
  if (strcmp(g->class, "Crash") == 0) {
    ig_ctx_clear(c);
    return;
  }
  if (!check(st != IG_OK, "PyTorch refuses (%s)", g->class)) return;
  const char *mine = class_of(st);
  // Without dimensions PyTorch often stumbles over a dimension before it looks at the rank.
  bool same = how.flat || strcmp(mine, g->class) == 0;
  if (!same) check(false, "PyTorch raises %s, found %s", g->class, mine);
  checks++;
  ig_ctx_clear(c);
}

// Every check of one call.
static void check_call(const char *start, size_t number) {
  static sample s;
  static sample room;
  ig_value real[IG_MAX_RETURNS];
  golden g;
  const char *p = start;
  if (!check(sample_parse(c, op, &p, how, &s), "bad sample")) return;
  const ig_value *args = fresh(&s, &room);
  bool derived = how.from || how.flat || how.special;
  if (derived && golden_find(c, op, number, how, &g) && g.refused) {
    waiver *before = begin("refusal");
    check_refusal(&g, args);
    excuse = before;
    return;
  }
  ig_call(c, op, args, real);
  if (!check(ig_ctx_status(c) == IG_OK, "call")) return;
  check_prepared(s.args, real);
  waiver *before = begin("values");
  check_golden(number, args, real);
  excuse = before;
  if (how.floats != IG_F32) {
    before = begin("complex gradient");
    if (how.floats == IG_C128) check_gradient(start);
    excuse = before;
    return;
  }
  static const struct {
    const char *what;
    void (*check)(const sample *s, const ig_value *real);
  } ways[] = {{"fake", check_fake},
              {"symbolic", check_symbolic},
              {"decompose", check_decomposition},
              {"lowering", check_lowering},
              {"strided", check_strided}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    before = begin(ways[i].what);
    ways[i].check(&s, real);
    excuse = before;
  }
  check_inplace(&s, real);
  check_out(&s, real);
  check_gradient(start);
}

static void check_how(const char *start, size_t number, sample_how as) {
  ig_scope s = ig_scope_open(c);
  how = as;
  text = start;
  check_call(start, number);
  ig_scope_close(c, s);
  ig_ctx_clear(c);
}

// The call in another way, which a waiver may name.
static void check_variant(const char *what, const char *start, size_t number, sample_how as) {
  waiver *before = begin(what);
  check_how(start, number, as);
  excuse = before;
}

// The first samples again: in other dtypes where PyTorch has them, with sizes of 0 and 1, without
// dimensions, full of NaN and infinity.
static void check_variants(const char *start, size_t number) {
  golden g;
  int64_t sizes[SAMPLE_SIZES];
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    sample_how as = {.floats = (ig_dtype)d};
    ig_scope s = ig_scope_open(c);
    bool known = d != IG_F32 && golden_find(c, op, number, as, &g) && !g.refused;
    ig_scope_close(c, s);
    if (known) check_how(start, number, as);
  }
  size_t n = sample_sizes(start, sizes);
  if (op->def->random) return;
  for (size_t i = 0; i < n; i++) {
    for (int to = 0; to < 2; to++) {
      char what[32];
      (void)snprintf(what, sizeof what, "size %d=%d", (int)sizes[i], to);
      check_variant(what, start, number,
                    (sample_how){.floats = IG_F32, .from = sizes[i], .to = to});
    }
  }
  const char *end = start + strcspn(start, "|");
  const char *f32 = strstr(start, "f32[");
  if (!f32 || f32 >= end) return;
  check_variant("0-d", start, number, (sample_how){.floats = IG_F32, .flat = true});
  check_variant("special", start, number, (sample_how){.floats = IG_F32, .special = true});
}

static void check_record(void) {
  // Samples have no quantized tensors: tests/python/test_quantized.py has calls of these.
  check(op->def->samples || op->def->quantized == IG_QUANT_OWN, "no samples");
  check(op->def->shape || op->def->shapes || op->def->fake || ig_op_is_composite(op) ||
            op->form == IG_FORM_INPLACE,
        "no shape rule");
  check(op->def->vjp || ig_op_has_decomposition(op) || op->def->not_differentiable ||
            has_no_derivative(),
        "no .vjp and no .not_differentiable");
  check(!op->def->vjp || !op->def->not_differentiable, "both .vjp and .not_differentiable");
  read_waivers();
  size_t number = 0;
  for (const char *at = op->def->samples; at && *at; number++) {
    const char *start = at;
    samples++;
    check_how(start, number, (sample_how){.floats = IG_F32});
    if (number < 2) check_variants(start, number);
    at += strcspn(at, "|");
    if (*at) at++;
  }
  how = (sample_how){.floats = IG_F32};
  text = "";
  for (size_t i = 0; i < nwaivers; i++) {
    const waiver *w = &waivers[i];
    check(w->used, "the waiver '%.*s' is not needed: nothing fails", (int)w->n, w->what);
  }
}

static void every_record_keeps_its_contract(void **state) {
  (void)state;
  c = test_heap_ctx(&heap);
  const ig_lib *lib = ig_lib_get(c);
  assert_non_null(lib);
  assert_true(golden_open(TEST_DATA "/ops/goldens.txt.gz"));
  for (size_t i = 0; i < lib->n; i++) {
    op = &lib->ops[i];
    text = "";
    if (op->base || (only && !strstr(op->id, only))) continue;
    records++;
    bool computes = op->pointwise || ig_op_has_kernel(op);
    kernels += computes;
    steady += computes && ig_op_is_prepared(op);
    check_record();
  }
  golden_close();
  ig_ctx_free(c);
  print_message("%zu records, %zu samples, %zu checks, %zu failures\n", records, samples, checks,
                failures);
  print_message("%zu of %zu records that compute are prepared; %zu runs without an allocation\n",
                steady, kernels, prepared);
  assert_int_equal(heap.live, 0);
  assert_int_equal(failures, 0);
}

static bool pinned(const char *file, const char *schema) {
  const char *at = strstr(file, schema);
  size_t n = strlen(schema);
  return at && at[-1] == '\t' && at[n] == '\t';
}

static void schemas_equal_the_pinned_text(void **state) {
  (void)state;
  ig_status st = ig_ctx_create(NULL, &c);
  assert_int_equal(st, IG_OK);
  FILE *f = fopen(TEST_DATA "/../src/op/aten.tsv", "r");
  assert_non_null(f);
  size_t cap = 4 << 20;
  char *file = malloc(cap);
  assert_non_null(file);
  size_t n = fread(file, 1, cap - 1, f);
  file[n] = 0;
  (void)fclose(f);
  const ig_lib *lib = ig_lib_get(c);
  assert_non_null(lib);
  for (size_t i = 0; i < lib->n; i++) {
    op = &lib->ops[i];
    text = "";
    if (strcmp(op->schema.ns, "aten") != 0) continue;
    check(pinned(file, op->schema.text), "schema differs from ATen's: %s", op->schema.text);
  }
  free(file);
  ig_ctx_free(c);
  assert_int_equal(failures, 0);
}

int main(int argc, char **argv) {
  only = argc > 1 ? argv[1] : NULL;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schemas_equal_the_pinned_text),
      cmocka_unit_test(every_record_keeps_its_contract),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
