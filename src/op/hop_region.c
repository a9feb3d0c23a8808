// SPDX-License-Identifier: Apache-2.0
// wrap_with_autocast, with_effects and auto_functionalized_v2, as in files. Capturing them again
// records their calls one by one.
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "ingot/autocast.h"
#include "ingot/library.h"
#include "op/autocast.h"
#include "op/hop.h"

static const ig_value *find_key(const ig_node *n, const ig_value *args, const char *key) {
  for (size_t k = 0; k < n->nkw; k++) {
    if (strcmp(n->keys[k], key) == 0) return &args[n->npos + k];
  }
  return NULL;
}

// Lists of numbers of a node are lists of values; calls take integers.
static ig_value as_ints(ig_ctx *c, const ig_value *v) {
  if (v->kind != IG_KIND_LIST) return *v;
  ig_int *ints = ig_scope_array(c, v->list.n, sizeof *ints);
  for (size_t i = 0; ints && i < v->list.n; i++) {
    if (v->list.at[i].kind != IG_KIND_INT) {
      (void)ig_fail(c, IG_BAD_TYPE, "found a value that is not an integer in a list of integers");
      return ig_none();
    }
    ints[i] = v->list.at[i].i;
  }
  return ints ? ig_of_ints(ints, v->list.n) : ig_none();
}

static bool wants_ints(const ig_arg *a) {
  return a->list && (a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT);
}

// ---- wrap_with_autocast: device, dtype, enabled, cache, sub-graph, operands ----

static void autocast_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  bool fits = n->npos >= 5 && args[0].kind == IG_KIND_STR && args[2].kind == IG_KIND_BOOL &&
              (args[1].kind == IG_KIND_DTYPE || args[1].kind == IG_KIND_NONE) &&
              args[4].kind == IG_KIND_GRAPH;
  if (!fits) {
    (void)ig_fail(c, IG_INVALID,
                  "%s: expected a device, a dtype, two bools, a sub-graph and operands", n->name);
    return;
  }
  ig_device_type device = strcmp(args[0].str, "cpu") == 0 ? IG_DEVICE_CPU : IG_DEVICE_CUDA;
  ig_autocast before = ig_autocast_get(c, device);
  ig_dtype dtype = args[1].kind == IG_KIND_DTYPE ? args[1].dtype : before.dtype;
  ig_branch body = ig_branch_of(&args[4]);
  size_t nouts = 0;
  ig_record_autocast(c, args[0].str, dtype, args[2].b, NULL);  // where regions stay regions
  ig_autocast_set(c, device, (ig_autocast){args[2].b, dtype});
  const ig_value *outs = ig_branch_call(c, &body, args + 5, n->npos - 5, &nouts);
  ig_autocast_set(c, device, before);
  ig_record_autocast_end(c, NULL);
  if (outs) *out = body.graph->last->bare && nouts == 1 ? outs[0] : ig_of_list(outs, nouts);
}

const ig_hop ig_hop_autocast = {
    .name = "wrap_with_autocast",
    .base = "wrap_with_autocast",
    .path = "torch.ops.higher_order.wrap_with_autocast",
    .slots = {IG_SLOT_VALUE, IG_SLOT_VALUE, IG_SLOT_VALUE, IG_SLOT_VALUE, IG_SLOT_GRAPH,
              IG_SLOT_REST},
    .region = true,
    .numbered = true,
    .call = autocast_call,
};

// ---- with_effects: token, operator, arguments -> token, results ----

static void effects_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  const ig_op *op = n->npos >= 2 && args[1].kind == IG_KIND_OP ? args[1].op : NULL;
  if (!op || n->npos - 2 > op->schema.npos) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a token, an operator and its arguments", n->name);
    return;
  }
  ig_value values[IG_MAX_ARGS] = {ig_none()};
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_arg *a = &op->schema.args[i];
    const ig_value *named = find_key(n, args, a->name);
    values[i] = i + 2 < n->npos ? args[i + 2] : named ? *named : a->def;
    if (wants_ints(a)) values[i] = as_ints(c, &values[i]);
  }
  if (c->status == IG_OK) ig_call(c, op, values, outs);
  size_t nrets = op->schema.nrets ? op->schema.nrets : 1;
  ig_value *items = c->status == IG_OK ? ig_scope_array(c, nrets + 1, sizeof *items) : NULL;
  if (!items) return;
  items[0] = args[0];
  memcpy(items + 1, outs, nrets * sizeof *items);
  *out = ig_of_list(items, nrets + 1);
}

const ig_hop ig_hop_with_effects = {
    .name = "with_effects",
    .base = "with_effects",
    .path = "torch.ops.higher_order.with_effects",
    .slots = {IG_SLOT_VALUE, IG_SLOT_OP, IG_SLOT_REST},

    .effect = true,
    .call = effects_call,
};

// ---- auto_functionalized_v2 ----
// Mutated arguments are described as views of bases: for argument x _x_base_index is the number of
// the base in _all_bases, and _x_size, _x_stride and _x_storage_offset, or _x_slice_dim,
// _x_slice_start and _x_slice_end, are the view; without them it is the base itself. A list x of
// _x_length tensors has _x_0_base_index and so on. Out come the results, then the new bases.

typedef struct functional {
  ig_ctx *c;
  const ig_node *n;
  const ig_value *args;
  const ig_value *bases;
  size_t nbases;
} functional;

static const ig_value *part(const functional *f, const char *name, const char *what) {
  char key[160];
  (void)snprintf(key, sizeof key, "_%.100s%.40s", name, what);
  return find_key(f->n, f->args, key);
}

static ig_value view_of(const functional *f, const char *name) {
  const ig_value *index = part(f, name, "_base_index");
  ig_ctx *c = f->c;
  if (index && index->kind == IG_KIND_NONE) return ig_none();
  bool known = index && index->kind == IG_KIND_INT && !index->i.expr && index->i.value >= 0 &&
               (uint64_t)index->i.value < f->nbases;
  if (!known) {
    (void)ig_fail(c, IG_INVALID, "%s: argument '%s' names none of the %zu bases", f->n->name, name,
                  f->nbases);
    return ig_none();
  }
  ig_tensor *base = f->bases[index->i.value].tensor;
  const ig_value *size = part(f, name, "_size");
  const ig_value *stride = part(f, name, "_stride");
  const ig_value *offset = part(f, name, "_storage_offset");
  const ig_value *dim = part(f, name, "_slice_dim");
  const ig_value *start = part(f, name, "_slice_start");
  const ig_value *end = part(f, name, "_slice_end");
  if (size && stride && offset) {
    ig_value sizes = as_ints(c, size);
    ig_value strides = as_ints(c, stride);
    return ig_of_tensor(ig_as_strided_with(c, base, sizes, strides, *offset));
  }
  if (dim && dim->kind == IG_KIND_INT && start && end) {
    return ig_of_tensor(ig_slice_tensor_with(c, base, dim->i, *start, *end, ig_const(1)));
  }
  return ig_of_tensor(base);
}

static ig_value written(const functional *f, const char *name) {
  const ig_value *length = part(f, name, "_length");
  if (!length) return view_of(f, name);
  size_t n = length->kind == IG_KIND_INT && !length->i.expr ? (size_t)length->i.value : SIZE_MAX;
  if (n > f->n->nkw) {
    (void)ig_fail(f->c, IG_INVALID, "%s: the length of '%s' does not fit", f->n->name, name);
    return ig_none();
  }
  ig_value *items = ig_scope_array(f->c, n, sizeof *items);
  for (size_t i = 0; items && i < n; i++) {
    char item[128];
    (void)snprintf(item, sizeof item, "%.100s_%zu", name, i);
    items[i] = view_of(f, item);
  }
  return items ? ig_of_list(items, n) : ig_none();
}

static bool copy_bases(functional *f) {
  const ig_value *given = find_key(f->n, f->args, "_all_bases");
  if (!given || given->kind != IG_KIND_LIST) {
    return ig_fail(f->c, IG_INVALID, "%s: no list of bases", f->n->name) == IG_OK;
  }
  ig_value *copies = ig_scope_array(f->c, given->list.n, sizeof *copies);
  for (size_t i = 0; copies && i < given->list.n; i++) {
    if (given->list.at[i].kind != IG_KIND_TENSOR) {
      return ig_fail(f->c, IG_BAD_TYPE, "%s: base %zu is not a tensor", f->n->name, i) == IG_OK;
    }
    copies[i] = ig_of_tensor(ig_clone(f->c, given->list.at[i].tensor));
  }
  f->bases = copies;
  f->nbases = given->list.n;
  return f->c->status == IG_OK;
}

static void functional_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  const ig_op *op = n->npos == 1 && args[0].kind == IG_KIND_OP ? args[0].op : NULL;
  functional f = {.c = c, .n = n, .args = args};
  if (!op) {
    (void)ig_fail(c, IG_INVALID, "%s: expected an operator and its arguments by name", n->name);
    return;
  }
  if (!copy_bases(&f)) return;
  ig_value values[IG_MAX_ARGS] = {ig_none()};
  ig_value outs[IG_MAX_RETURNS] = {ig_none()};
  for (size_t i = 0; i < op->schema.nargs && c->status == IG_OK; i++) {
    const ig_arg *a = &op->schema.args[i];
    const ig_value *named = find_key(n, args, a->name);
    values[i] = a->written && !named ? written(&f, a->name) : named ? *named : a->def;
    if (wants_ints(a)) values[i] = as_ints(c, &values[i]);
  }
  if (c->status == IG_OK) ig_call(c, op, values, outs);
  size_t nrets = op->schema.nrets ? op->schema.nrets : 1;
  size_t count = nrets + f.nbases;
  ig_value *items = c->status == IG_OK ? ig_scope_array(c, count, sizeof *items) : NULL;
  if (!items) return;
  memcpy(items, outs, nrets * sizeof *items);
  memcpy(items + nrets, f.bases, f.nbases * sizeof *items);
  *out = ig_of_list(items, count);
}

const ig_hop ig_hop_auto_functionalized_v2 = {
    .name = "auto_functionalized_v2",
    .base = "auto_functionalized_v2",
    .path = "torch.ops.higher_order.auto_functionalized_v2",
    .slots = {IG_SLOT_OP},
    .since = 6,
    .call = functional_call,
};
