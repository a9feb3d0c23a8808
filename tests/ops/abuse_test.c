// SPDX-License-Identifier: Apache-2.0
// Every operator record with wrong operands and without memory: it answers or refuses, it never
// crashes or leaks. Each sample is called again and again with one argument changed: sizes, rank,
// dtype, elements, numbers out of range, lists too short or too long, nothing. What PyTorch would
// say to it is not asked here; contract_test has that. `abuse_test NAME` runs some
// operators, and reports which.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/grad.h"
#include "op/call.h"
#include "op/formula.h"
#include "sample.h"
#include "tensor/copy.h"
#include "tensor/number.h"

static ig_ctx *c;
static const char *only;
static size_t calls;
static size_t refusals;

// Kinds of damage; each returns false when it has no further form for this value.

static ig_tensor *resized(const ig_tensor *t, int drop, int dim, int64_t more) {
  int64_t sizes[IG_MAX_DIM + 1];
  int n = 0;
  if (drop < 0) sizes[n++] = 1;
  for (int d = 0; d < t->ndim; d++) {
    if (d < drop) continue;
    sizes[n] = ig_sizes(t)[d].value + (d == dim ? more : 0);
    if (sizes[n] < 0) sizes[n] = 0;
    n++;
  }
  ig_tensor *out = ig_tensor_empty(c, t->dtype, sizes, n);
  ig_value one = ig_of_i64(1);
  if (out) ig_fill(ig_tensor_data(out), t->dtype, (size_t)ig_tensor_numel(out), &one);
  return out;
}

static ig_tensor *filled(const ig_tensor *t, int64_t number) {
  ig_tensor *out = resized(t, 0, 0, 0);
  ig_value v = ig_of_i64(number);
  if (out) ig_fill(ig_tensor_data(out), t->dtype, (size_t)ig_tensor_numel(out), &v);
  return out;
}

static bool damage_tensor(ig_value *v, size_t how) {
  static const ig_dtype dtypes[] = {IG_I64, IG_BOOL, IG_C64,    IG_F16, IG_U8,
                                    IG_I32, IG_F64,  IG_F8E5M2, IG_U32};
  const size_t n = sizeof dtypes / sizeof *dtypes;
  static const int64_t numbers[] = {-1, 5, 1000, INT64_MIN, INT64_MAX};
  ig_tensor *t = v->tensor;
  if (how < n) {
    v->tensor = ig_cast(c, t, dtypes[how]);
    return true;
  }
  how -= n;
  if (how < 5) {
    v->tensor = filled(t, numbers[how]);
    return true;
  }
  switch (how - 5) {
    case 0:
      v->tensor = resized(t, t->ndim, 0, 0);
      return true;
    case 1:
      v->tensor = resized(t, 1, 0, 0);
      return true;
    case 2:
      v->tensor = resized(t, -1, 0, 0);
      return true;
    case 3:
      v->tensor = resized(t, 0, 0, 1);
      return true;
    case 4:
      v->tensor = resized(t, 0, t->ndim - 1, 1);
      return true;
    case 5:
      v->tensor = resized(t, 0, 0, -1000);
      return true;
    case 6:
      v->tensor = resized(t, 0, t->ndim - 1, -1000);
      return true;
    case 7:
      v->tensor = resized(t, 0, 1, 3);
      return true;
    case 8:
      v->tensor = ig_tensor_shell(c, t);
      return true;
    case 9:
      *v = ig_none();
      return true;
    case 10:
      *v = ig_of_f64(2.5);
      return true;
    default:
      return false;
  }
}

static bool damage_number(ig_value *v, size_t how) {
  static const int64_t numbers[] = {-1, 0, 1, 7, -100, INT64_MAX, INT64_MIN, (int64_t)1 << 40};
  static const double reals[] = {0, -1, NAN, INFINITY, -INFINITY, 1e300};
  if (v->kind == IG_KIND_FLOAT) {
    if (how < 6) v->f = reals[how];
    return how < 6;
  }
  if (v->kind == IG_KIND_BOOL) {
    v->b = !v->b;
    return how == 0;
  }
  if (how < 8) v->i = ig_const(numbers[how]);
  return how < 8;
}

static bool damage_ints(ig_value *v, sample *s, size_t how) {
  static const int64_t numbers[] = {-1, 0, 7, INT64_MAX, (int64_t)1 << 33};
  ig_int *at = s->ints[s->lists++];
  size_t n = v->ints.n;
  if (n >= SAMPLE_ITEMS) return false;
  for (size_t i = 0; i < n; i++) at[i] = v->ints.at[i];
  if (how < 5) {
    for (size_t i = 0; i < n; i++) at[i] = ig_const(numbers[how]);
  } else if (how < 10) {
    if (n) at[n - 1] = ig_const(numbers[how - 5]);
  } else if (how == 10) {
    n = n ? n - 1 : 0;
  } else if (how == 11) {
    at[n] = n ? at[n - 1] : ig_const(1);
    n++;
  } else if (how == 12) {
    n = 0;
  } else {
    return false;
  }
  *v = ig_of_ints(at, n);
  return true;
}

static bool damage(ig_value *v, const ig_arg *a, sample *s, size_t how);

static bool damage_list(ig_value *v, const ig_arg *a, sample *s, size_t how) {
  ig_value *at = s->items[s->lists++];
  size_t n = v->list.n;
  if (n >= SAMPLE_ITEMS) return false;
  for (size_t i = 0; i < n; i++) at[i] = v->list.at[i];
  if (how == 0) {
    n = 0;
  } else if (how == 1) {
    n = n ? n - 1 : 0;
  } else if (how == 2 && n) {
    at[n] = at[n - 1];
    n++;
  } else if (n) {
    if (!damage(&at[how % n], a, s, (how - 3) / n)) return false;
  } else {
    return false;
  }
  *v = ig_of_list(at, n);
  return true;
}

// The how-th damage of one argument; false: there are no more.
static bool damage(ig_value *v, const ig_arg *a, sample *s, size_t how) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return damage_tensor(v, how);
    case IG_KIND_INT:
    case IG_KIND_FLOAT:
    case IG_KIND_BOOL:
      return damage_number(v, how);
    case IG_KIND_INTS:
      return damage_ints(v, s, how);
    case IG_KIND_LIST:
      return damage_list(v, a, s, how);
    case IG_KIND_STR:
      *v = ig_of_str(how ? "" : "bogus");
      return how < 2;
    default:
      return false;
  }
}

// Every way of calling: plain, in place, with a gradient.
static void call_once(const ig_op *op, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_scope s = ig_scope_open(c);
  calls++;
  ig_call(c, op, args, outs);
  if (ig_ctx_status(c) != IG_OK) {
    refusals++;
    if (!ig_ctx_error(c)[0]) fail_msg("%s refuses without a word", op->target);
  }
  // What came back can be read.
  for (size_t i = 0; ig_ctx_status(c) == IG_OK && i < op->schema.nrets; i++) {
    if (outs[i].kind != IG_KIND_TENSOR || ig_is_fake(outs[i].tensor)) continue;
    (void)ig_contiguous(c, outs[i].tensor);
  }
  ig_ctx_clear(c);
  ig_scope_close(c, s);
}

typedef struct leaves {
  ig_tensor *at[IG_MAX_ARGS + SAMPLE_ITEMS];
  size_t n;
} leaves;

static void want_gradient(leaves *l, const ig_value *v) {
  if (v->kind == IG_KIND_LIST) {
    for (size_t k = 0; k < v->list.n; k++) want_gradient(l, &v->list.at[k]);
  }
  if (v->kind != IG_KIND_TENSOR || !v->tensor || ig_is_fake(v->tensor)) return;
  bool smooth = ig_dtype_is_float(v->tensor->dtype) || ig_dtype_is_complex(v->tensor->dtype);
  bool known = false;
  for (size_t k = 0; k < l->n; k++) known = known || l->at[k] == v->tensor;
  if (!smooth || known || ig_tensor_requires_grad(v->tensor)) return;
  ig_tensor_set_requires_grad(c, v->tensor, true);
  l->at[l->n++] = v->tensor;
}

// The call with every operand wanting a gradient, its gradient, and the gradient of that.
static void call_backward(const ig_op *op, const ig_value *args) {
  leaves l = {.n = 0};
  ig_value outs[IG_MAX_RETURNS];
  ig_tensor *grads[IG_MAX_ARGS + SAMPLE_ITEMS];
  ig_scope s = ig_scope_open(c);
  for (size_t i = 0; i < op->schema.nargs; i++) want_gradient(&l, &args[i]);
  ig_call(c, op, args, outs);
  for (size_t i = 0; l.n && ig_ctx_status(c) == IG_OK && i < op->schema.nrets; i++) {
    ig_tensor *t = outs[i].kind == IG_KIND_TENSOR ? outs[i].tensor : NULL;
    if (!t || ig_is_fake(t) || !ig_tensor_requires_grad(t)) continue;
    ig_tensor *loss = ig_sum(c, ig_abs(c, t));
    ig_backward_args run = {.size = sizeof run,
                            .outputs = &loss,
                            .noutputs = 1,
                            .inputs = l.at,
                            .ninputs = l.n,
                            .allow_unused = true,
                            .create_graph = true,
                            .retain_graph = true};
    if (ig_backward(c, &run, grads) != IG_OK) break;
    ig_tensor *again = NULL;
    for (size_t k = 0; k < l.n; k++) {
      bool more = grads[k] && ig_tensor_requires_grad(grads[k]);
      ig_tensor *part = more ? ig_sum(c, ig_abs(c, grads[k])) : NULL;
      again = again && part ? ig_add_tensor(c, again, part) : again ? again : part;
    }
    run.outputs = &again;
    run.create_graph = false;
    if (again) (void)!ig_backward(c, &run, grads);
  }
  ig_ctx_clear(c);
  ig_scope_close(c, s);
}

static void abuse(const ig_op *op, const char *text, size_t arg) {
  static sample s;
  bool more = true;
  for (size_t how = 0; more && how < 400; how++) {
    for (int form = 0; form < 3; form++) {
      const char *p = text;
      ig_scope scope = ig_scope_open(c);
      if (sample_parse(c, op, &p, (sample_how){.floats = IG_F32}, &s)) {
        more = damage(&s.args[arg], &op->schema.args[arg], &s, how);
        if (more && form == 0) call_once(op, s.args);
        if (more && form == 1 && op->inplace) call_once(op->inplace, s.args);
        if (more && form == 2) call_backward(op, s.args);
      }
      ig_ctx_clear(c);
      ig_scope_close(c, scope);
    }
  }
}

// NAME: ids that contain it; =NAME: that id.
static bool chosen(const ig_op *op) {
  if (op->base || !op->def->samples) return false;
  if (only && *only == '=') return strcmp(op->id, only + 1) == 0;
  return !only || strstr(op->id, only);
}

static const char *next_sample(const char *p) {
  p += strcspn(p, "|");
  return *p ? p + 1 : p;
}

static void wrong_operands_are_refused(void **state) {
  (void)state;
  test_heap heap = {.limit = (size_t)1 << 28};
  c = test_heap_ctx(&heap);
  const ig_lib *lib = ig_lib_get(c);
  assert_non_null(lib);
  for (size_t i = 0; i < lib->n; i++) {
    const ig_op *op = &lib->ops[i];
    if (!chosen(op)) continue;
    for (const char *p = op->def->samples; *p; p = next_sample(p)) {
      for (size_t a = 0; a < op->schema.nargs; a++) {
        if (only)
          print_message("%s argument %zu of %.*s\n", op->target, a, (int)strcspn(p, "|"), p);
        abuse(op, p, a);
      }
    }
  }
  ig_ctx_free(c);
  print_message("%zu calls, %zu refused\n", calls, refusals);
  assert_int_equal(heap.live, 0);
}

// One sample per record, with every allocation failing once.
static const ig_op *starved;

static ig_status starve(ig_ctx *ctx) {
  static sample s;
  const char *p = starved->def->samples;
  ig_value outs[IG_MAX_RETURNS];
  ig_scope scope = ig_scope_open(ctx);
  c = ctx;
  if (sample_parse(c, starved, &p, (sample_how){.floats = IG_F32}, &s)) {
    leaves l = {.n = 0};
    bool writes = starved->schema.nargs && starved->schema.args[0].written;  // leaves are not
    for (size_t i = 0; !writes && i < starved->schema.nargs; i++) want_gradient(&l, &s.args[i]);
    ig_call(c, starved, s.args, outs);
  }
  ig_status st = ig_ctx_status(c);
  ig_scope_close(c, scope);
  return st;
}

static void lack_of_memory_is_reported(void **state) {
  (void)state;
  const ig_lib *lib = NULL;
  test_heap heap = {0};
  ig_ctx *first = test_heap_ctx(&heap);
  lib = ig_lib_get(first);
  assert_non_null(lib);
  for (size_t i = 0; i < lib->n; i++) {
    starved = &lib->ops[i];
    if (!chosen(starved)) continue;
    if (only) print_message("%s\n", starved->target);
    test_every_allocation_fails(starve);
  }
  ig_ctx_free(first);
}

int main(int argc, char **argv) {
  only = argc > 1 ? argv[1] : NULL;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_operands_are_refused),
      cmocka_unit_test(lack_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
