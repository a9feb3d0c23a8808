// SPDX-License-Identifier: Apache-2.0
#include "op/each.h"

#include <string.h>

#include "op/call.h"
#include "op/refuse.h"
#include "tensor/number.h"

enum { BY_DEFAULT = -1 };

static int index_of(const ig_schema *s, const char *name) {
  for (size_t i = 0; i < s->nargs; i++) {
    if (strcmp(s->args[i].name, name) == 0) return (int)i;
  }
  return BY_DEFAULT;
}

// from[j]: the argument of `list` that argument j of `item` comes from.
static void pair_arguments(const ig_schema *list, const ig_schema *item, int *from) {
  size_t next = 0;
  for (size_t j = 0; j < item->nargs; j++) {
    from[j] = index_of(list, item->args[j].name);
    if (from[j] != BY_DEFAULT) continue;
    while (next < list->nargs && index_of(item, list->args[next].name) != BY_DEFAULT) next++;
    if (next < list->nargs) from[j] = (int)next++;
  }
}

// _foreach_addcdiv.Tensor(..., Tensor scalars): one number per element.
static bool is_number_tensor(const ig_op *op, size_t i, const ig_op *each, const int *from) {
  if (op->schema.args[i].list || op->schema.args[i].type != IG_TYPE_TENSOR) return false;
  for (size_t j = 0; j < each->schema.nargs; j++) {
    if (from[j] == (int)i) return each->schema.args[j].type == IG_TYPE_SCALAR;
  }
  return false;
}

static bool check_numbers(ig_ctx *c, const ig_tensor *t, size_t n) {
  if (ig_is_fake(t)) {
    ig_fail_text(c, IG_UNSUPPORTED, "the numbers of a fake tensor are not known; pass a list");
  } else if (t->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected packed scalar Tensor to be of dimension 1. Got %d instead.", t->ndim);
  } else if (ig_sizes(t)[0].value != (int64_t)n) {  // concrete: a tensor with elements
    ig_fail_text(c, IG_RUNTIME,
                 "Expected length of scalars to match input of length %zu but got %lld instead.", n,
                 (long long)ig_sizes(t)[0].value);  // concrete: the same
  } else {
    return true;
  }
  return false;
}

// The length that all lists have.
static bool count_items(ig_ctx *c, const ig_op *op, const ig_value *args, size_t *n) {
  *n = 0;
  bool any = false;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (!op->schema.args[i].list) continue;
    size_t count = args[i].kind == IG_KIND_INTS ? args[i].ints.n : args[i].list.n;
    bool tensors = op->schema.args[i].type == IG_TYPE_TENSOR;
    if (tensors && count == 0) {
      ig_fail_text(c, IG_RUNTIME, "Tensor list must have at least one tensor.");
      return false;
    }
    if (any && count != *n && tensors) {
      ig_fail_text(c, IG_RUNTIME,
                   "Tensor lists must have the same number of tensors, got %zu and %zu", *n, count);
      return false;
    }
    if (any && count != *n) {
      ig_fail_text(c, IG_RUNTIME, "Tensor list must have same number of elements as scalar list.");
      return false;
    }
    *n = count;
    any = true;
  }
  return true;
}

static ig_value item_of(const ig_value *v, bool list, size_t k) {
  if (!list) return *v;
  return v->kind == IG_KIND_INTS ? ig_of_int(v->ints.at[k]) : v->list.at[k];
}

static ig_value number_at(const ig_tensor *t, size_t k) {
  size_t at =
      (size_t)(t->offset.value + ig_strides(t)[0].value * (int64_t)k);  // concrete: elements
  return ig_element_load((const char *)t->storage->data + at * ig_dtype_size(t->dtype), t->dtype);
}

static void call_item(ig_ctx *c, const ig_op *op, const ig_value *args, const int *from, size_t k,
                      ig_value *result) {
  const ig_op *each = op->each;
  ig_value given[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  for (size_t j = 0; j < each->schema.nargs; j++) {
    const ig_arg *a = &each->schema.args[j];
    if (from[j] == BY_DEFAULT) {
      given[j] = a->def;
      continue;
    }
    size_t i = (size_t)from[j];
    bool number = a->type == IG_TYPE_SCALAR && args[i].kind == IG_KIND_TENSOR;
    given[j] =
        number ? number_at(args[i].tensor, k) : item_of(&args[i], op->schema.args[i].list, k);
  }
  ig_call(c, each, given, outs);
  if (result) *result = outs[0];
}

void ig_run_each(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int from[IG_MAX_ARGS] = {0};
  size_t n;
  pair_arguments(&op->schema, &op->each->schema, from);
  if (!count_items(c, op, args, &n)) return;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (is_number_tensor(op, i, op->each, from) && !check_numbers(c, args[i].tensor, n)) return;
  }
  bool returns = op->schema.nrets > 0;
  ig_value *results = returns ? ig_scope_array(c, n, sizeof *results) : NULL;
  if (returns && !results) return;
  for (size_t k = 0; k < n && c->status == IG_OK; k++) {
    call_item(c, op, args, from, k, returns ? &results[k] : NULL);
  }
  if (returns && c->status == IG_OK) outs[0] = ig_of_list(results, n);
}
