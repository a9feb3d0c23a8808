// SPDX-License-Identifier: Apache-2.0
// Futures, enums, containers of modules; gradients.
#include <string.h>

#include "ingot/grad.h"
#include "script/builtin.h"

static void retained(const ig_sbuiltin_call *k, ig_value v) {
  ig_svalue_retain(v);
  k->out[0] = v;
}

IG_BUILTIN(wait) {
  if (!ig_sobj_is(k->in[0], IG_SOBJ_FUTURE)) {
    retained(k, k->in[0]);
    return;
  }
  const ig_sobj_future *f = k->in[0].object;
  if (f->cause != IG_OK) {
    ig_fail_text(k->c, f->cause, "%s", f->error ? f->error : "out of memory");
  } else {
    retained(k, f->value);
  }
}

IG_BUILTIN(enum_name) {
  const ig_sobj_enum *e = k->in[0].object;
  const char *name = e->declaration->members.at[e->member].name;
  ig_sb_text(k, name, strlen(name));
}

IG_BUILTIN(enum_value) {
  const ig_sobj_enum *e = k->in[0].object;
  retained(k, e->declaration->members.at[e->member].value);
}

IG_BUILTIN(container_index) {
  const ig_sobj_instance *o = ig_sobj_is(k->in[0], IG_SOBJ_INSTANCE) ? k->in[0].object : NULL;
  if (!o) {
    IG_SCRIPT_FAIL(k, "only containers of modules can be indexed");
    return;
  }
  const char *name;
  ig_str s = ig_str_make(k->c->alloc);
  if (ig_sobj_is(k->in[1], IG_SOBJ_STR)) {
    name = ig_sb_str_at(k, 1)->text;
  } else {
    ig_str_add(&s, "%lld", (long long)ig_sb_i64(k, 1));
    name = s.at ? s.at : "";
  }
  size_t at = ig_sclass_attribute(o->cls, name);
  if (at == SIZE_MAX) {
    IG_SCRIPT_FAIL(
        k, "%s (of Python compilation unit at: 0x0) does not have a field with name '%s'",
        o->head.type->name, name);  // without the address, which would differ in every run
  } else {
    retained(k, ig_sobj_instance_get(o, at));
  }
  ig_str_free(&s);
}

// Numbers that tell objects apart, not addresses.
IG_BUILTIN(id) {
  ig_sb_int(k, k->in[0].kind == IG_KIND_NONE ? 0 : (int64_t)(uintptr_t)k->in[0].object);
}

IG_BUILTIN(tuple_index) {
  const ig_sobj_seq *s = ig_sb_seq_at(k, 0);
  int64_t i = ig_sb_i64(k, 1);
  if (!ig_sobj_is(k->in[0], IG_SOBJ_TUPLE)) {
    IG_SCRIPT_FAIL(k, "expected a tuple");
    return;
  }
  if (i < 0) i += (int64_t)s->n;
  if (i < 0 || (size_t)i >= s->n) {
    ig_fail_text(k->c, IG_BAD_INDEX, "Tuple index out of range");
  } else {
    retained(k, s->at[i]);
  }
}

// ---- gradients

// The tensors of a list (None: NULL), in the innermost scope; a single tensor is a list of one.
static ig_tensor **tensors_of(const ig_sbuiltin_call *k, ig_value v, size_t *n) {
  const ig_sobj_seq *s = ig_sobj_is(v, IG_SOBJ_LIST) ? v.object : NULL;
  const ig_value *at = s ? s->at : &v;
  *n = s ? s->n : 1;
  ig_tensor **out = ig_scope_array(k->c, *n, sizeof *out);
  for (size_t i = 0; out && i < *n; i++) {
    out[i] = at[i].kind == IG_KIND_TENSOR ? at[i].tensor : NULL;
  }
  return out;
}

// A tensor for every place; there is None where a script claims another type than its value has.
static bool all_there(const ig_sbuiltin_call *k, ig_tensor *const *at, size_t n) {
  for (size_t i = 0; at && i < n; i++) {
    if (at[i]) continue;
    IG_SCRIPT_FAIL(k, "expected tensors in the list");
    return false;
  }
  return at != NULL;
}

static bool fit(const ig_sbuiltin_call *k, size_t n, ig_tensor *const *seeds, size_t n_seeds) {
  if (seeds && n != n_seeds) {
    IG_SCRIPT_FAIL(k, "got %zu tensors and %zu gradients", n, n_seeds);
  }
  return k->c->status == IG_OK;
}

static bool given(ig_value v, bool otherwise) {
  return v.kind == IG_KIND_BOOL ? v.b : otherwise;
}

IG_BUILTIN(backward) {
  size_t n = 0;
  size_t n_seeds = 0;
  ig_tensor **outputs = tensors_of(k, k->in[0], &n);
  ig_tensor **seeds = k->in[1].kind == IG_KIND_NONE ? NULL : tensors_of(k, k->in[1], &n_seeds);
  bool create = given(k->in[3], false);
  ig_backward_args args = {.size = sizeof args,
                           .outputs = outputs,
                           .noutputs = n,
                           .seeds = seeds,
                           .retain_graph = given(k->in[2], create),
                           .create_graph = create};
  if (!all_there(k, outputs, n) || !fit(k, n, seeds, n_seeds)) return;
  ig_status st = ig_backward(k->c, &args, NULL);
  (void)st;  // in the context
}

IG_BUILTIN(grad) {
  size_t n = 0;
  size_t n_inputs = 0;
  size_t n_seeds = 0;
  ig_tensor **outputs = tensors_of(k, k->in[0], &n);
  ig_tensor **inputs = tensors_of(k, k->in[1], &n_inputs);
  ig_tensor **seeds = k->in[2].kind == IG_KIND_NONE ? NULL : tensors_of(k, k->in[2], &n_seeds);
  ig_tensor **grads = ig_scope_array(k->c, n_inputs, sizeof *grads);
  bool create = given(k->in[4], false);
  ig_backward_args args = {.size = sizeof args,
                           .outputs = outputs,
                           .noutputs = n,
                           .seeds = seeds,
                           .inputs = inputs,
                           .ninputs = n_inputs,
                           .retain_graph = given(k->in[3], create),
                           .create_graph = create,
                           .allow_unused = given(k->in[5], false)};
  if (!grads || !all_there(k, outputs, n) || !all_there(k, inputs, n_inputs) ||
      !fit(k, n, seeds, n_seeds) || ig_backward(k->c, &args, grads) != IG_OK) {
    return;
  }
  ig_sobj_seq *s = ig_sobj_seq_make(k->c, IG_SOBJ_LIST, ig_sb_type(k, 0), NULL, n_inputs);
  for (size_t i = 0; s && i < n_inputs; i++) {
    s->at[i] = grads[i] ? ig_of_tensor(grads[i]) : ig_none();
    ig_svalue_retain(s->at[i]);
  }
  ig_sb_object(k, s);
}
