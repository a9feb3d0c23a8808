// SPDX-License-Identifier: Apache-2.0
// Declaring dims: symbols for sizes from left to right, then for strides that are not products of
// sizes, then for the offset; roots that are not sizes of inputs come after all inputs. Sizes 0 and
// 1 get no symbol. During the trace all symbols are independent; ig_capture_solve relates them.
#include "capture/dims.h"

#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "base/options.h"
#include "ingot/aten.h"
#include "op/draft.h"
#include "op/record.h"
#include "op/tape.h"

enum { LEAST = 2 };  // a symbol is assumed not to be 0 or 1

static void dims_free(ig_env *env, ig_dims *d) {
  if (!d) return;
  ig_vec_free(env->alloc, &d->uses);
  ig_vec_free(env->alloc, &d->phantoms);
  ig_vec_free(env->alloc, &d->ranges);
  ig_mem_free(env->alloc, d, sizeof *d);
}

ig_dims *ig_dims_get(ig_ctx *c) {
  ig_env *env = c->status == IG_OK ? ig_env_get(c) : NULL;
  if (!env) return NULL;
  if (!env->dims) {
    env->dims = ig_mem_new(env->alloc, sizeof *env->dims);
    env->dims_free = dims_free;
    if (!env->dims) (void)ig_fail(c, IG_NOMEM, "out of memory");
  }
  return env->dims;
}

const char *ig_dims_text(ig_ctx *c, const char *text) {
  ig_env *env = ig_env_get(c);
  const char *kept = env && text ? ig_arena_strn(&env->arena, text, strlen(text)) : NULL;
  if (env && text && !kept) (void)ig_fail(c, IG_NOMEM, "out of memory");
  return kept;
}

static int64_t image(int64_t k, int64_t v, int64_t c) {
  int64_t r = 0;
  bool open = v == INT64_MAX || !ig_checked_mul(k, v, &r) || !ig_checked_add(r, c, &r);
  return open ? INT64_MAX : r;
}

void ig_dim_bounds(const ig_dim *d, int64_t *lo, int64_t *hi) {
  bool derived = d->kind == IG_DIM_DERIVED;
  *lo = derived ? image(d->k, d->lo, d->c) : d->lo;
  *hi = derived ? image(d->k, d->hi, d->c) : d->hi;
  if (ig_dim_is_strict(d)) return;
  *lo = LEAST;
  *hi = INT64_MAX;
}

static void str_bound(char *text, size_t cap, int64_t v) {
  if (v == INT64_MAX) {
    (void)snprintf(text, cap, "int_oo");
  } else {
    (void)snprintf(text, cap, "%lld", (long long)v);
  }
}

// A symbol in the working range of the dim: its own range, from 2 on.
static ig_int make_symbol(ig_ctx *c, const ig_dim *d, int64_t example) {
  int64_t lo = 0;
  int64_t hi = 0;
  ig_dim_bounds(d, &lo, &hi);
  if (lo < LEAST) lo = LEAST;
  if (example < lo || example > hi) {
    char top[32];
    str_bound(top, sizeof top, hi);
    ig_fail_text(c, IG_CONSTRAINT | IG_E_DIM_EXAMPLE, "%lld not in range [%lld, %s]",
                 (long long)example, (long long)lo, top);
    return ig_const(example);
  }
  return ig_sym_backed(c, example, lo, hi);
}

static ig_int size_of(ig_ctx *c, const ig_dim *d, int64_t example, const char *source) {
  switch (d->kind) {
    case IG_DIM_STATIC:
      return ig_const(example);
    case IG_DIM_INT:
      if (d->lo != example) {
        ig_fail_text(c, IG_CONSTRAINT | IG_E_DIM_EXAMPLE,
                     "Static shape constraint of %lld does not match input size of %lld, for %s",
                     (long long)d->lo, (long long)example, source);
      }
      return ig_const(example);
    default:
      return example < LEAST ? ig_const(example) : make_symbol(c, d, example);
  }
}

static bool keep_use(ig_ctx *c, ig_dims *dims, ig_dim_use u) {
  u.dim.name = ig_dims_text(c, u.dim.name);
  u.dim.root = ig_dims_text(c, u.dim.root);
  u.source = ig_dims_text(c, u.source);
  if (c->status != IG_OK) return false;
  if (ig_vec_push(c->mode->sym->env->alloc, &dims->uses, u)) return true;
  return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
}

static bool declare_sizes(ig_ctx *c, ig_dims *dims, const char *source, const ig_tensor *t,
                          const ig_dim *given, ig_meta *m, bool *dynamic) {
  ig_str text = ig_str_make(c->alloc);
  for (int d = 0; d < t->ndim && c->status == IG_OK; d++) {
    text.n = 0;
    ig_str_add(&text, "%s.size()[%d]", source, d);
    if (text.failed) (void)ig_fail(c, IG_NOMEM, "out of memory");
    if (c->status != IG_OK) break;
    int64_t example = ig_sizes(t)[d].value;
    m->size[d] = size_of(c, &given[d], example, text.at);
    *dynamic = *dynamic || m->size[d].expr;
    ig_dim_use u = {.dim = given[d],
                    .source = text.at,
                    .is_size = true,
                    .example = example,
                    .size = m->size[d]};
    if (c->status == IG_OK) (void)keep_use(c, dims, u);
  }
  ig_str_free(&text);
  return c->status == IG_OK;
}

// ---- strides ----

typedef struct strides {
  ig_ctx *c;
  const ig_tensor *t;
  ig_meta *m;
  bool known[IG_MAX_DIM];
} strides;

// A stride that is size * stride of a known dimension.
static bool find_product(strides *s, int i) {
  int64_t want = ig_strides(s->t)[i].value;
  for (int d = s->t->ndim - 1; d >= 0; d--) {
    int64_t v = 0;
    if (!s->known[d]) continue;
    if (!ig_checked_mul(ig_sizes(s->t)[d].value, ig_strides(s->t)[d].value, &v) || v != want)
      continue;
    s->m->stride[i] = ig_int_mul(s->c, s->m->size[d], s->m->stride[d]);
    s->known[i] = true;
    return true;
  }
  return false;
}

static int smallest(const strides *s) {
  int best = -1;
  for (int d = 0; d < s->t->ndim; d++) {
    if (s->known[d]) continue;
    if (best < 0 || ig_strides(s->t)[d].value < ig_strides(s->t)[best].value) best = d;
  }
  return best;
}

// Strides and offsets that are equal share a symbol.
static ig_int shared_symbol(ig_ctx *c, const ig_dims *dims, int64_t v) {
  for (size_t i = 0; i < dims->uses.n; i++) {
    const ig_dim_use *u = &dims->uses.at[i];
    if (!u->is_size && u->example == v && u->size.expr) return u->size;
  }
  return v < LEAST ? ig_const(v) : ig_sym_backed(c, v, LEAST, INT64_MAX);
}

static bool invent(ig_ctx *c, ig_dims *dims, const char *source, const char *what, int64_t v,
                   ig_int *out) {
  ig_str text = ig_str_make(c->alloc);
  *out = shared_symbol(c, dims, v);
  ig_str_add(&text, "%s%s", source, what);
  ig_dim_use u = {.source = text.at ? text.at : "", .example = v, .size = *out};
  bool ok = out->expr == NULL || keep_use(c, dims, u);
  ig_str_free(&text);
  return ok;
}

static bool declare_strides(ig_ctx *c, ig_dims *dims, const char *source, const ig_tensor *t,
                            ig_meta *m) {
  strides s = {.c = c, .t = t, .m = m};
  int left = t->ndim;
  for (int d = 0; d < t->ndim; d++) {
    m->stride[d] = ig_const(ig_strides(t)[d].value);
    s.known[d] = ig_strides(t)[d].value < LEAST;
    left -= s.known[d];
  }
  while (left > 0 && c->status == IG_OK) {
    bool found = true;
    for (int i = smallest(&s); i >= 0 && found; i = smallest(&s)) {
      found = false;
      for (int d = 0; d < t->ndim; d++) {
        bool next = !s.known[d] && find_product(&s, d);
        left -= next;
        found = found || next;
      }
    }
    int i = smallest(&s);
    if (i < 0) break;
    char what[32];
    (void)snprintf(what, sizeof what, ".stride()[%d]", i);
    if (!invent(c, dims, source, what, ig_strides(t)[i].value, &m->stride[i])) return false;
    s.known[i] = true;
    left--;
  }
  m->strided = true;
  return invent(c, dims, source, ".storage_offset()", m->offset.value, &m->offset);
}

void ig_capture_keep_history(ig_ctx *c, ig_tensor *t, ig_tensor *example) {
  if (!t || !example->requires_grad || ig_is_fake(example) || ig_tensor_is_leaf(c, example)) return;
  void *room = NULL;
  ig_tape_entry *e = ig_entry_create(c, IG_ENTRY_MISSING, 0, 0, &room);
  if (!e) return;
  e->called = ig_op_at(c, IG_ID_CLONE);
  (void)ig_tape_set_history(c, t, e, 0);
  ig_ref_release(&e->ref);
}

bool ig_capture_admits(ig_ctx *c, const char *name, const ig_tensor *example) {
  if (!example->quantizer) return true;
  return ig_fail(c, IG_UNSUPPORTED,
                 "quantized nyi in meta tensors: input '%s' is %s, and a program has no quantized "
                 "tensors; quantize it inside of the program",
                 name, ig_dtype_text(example->dtype)) == IG_OK;
}

ig_tensor *ig_capture_input_dims(ig_ctx *c, const char *name, const char *source,
                                 ig_tensor *example, const ig_dim *given) {
  static const ig_dim none[IG_MAX_DIM];
  ig_dims *dims = ig_dims_get(c);
  if (!dims || !example) return NULL;
  if (!c->mode->capture) {
    (void)ig_fail(c, IG_RUNTIME, "no capture is open");
    return NULL;
  }
  if (!ig_capture_admits(c, name, example)) return NULL;
  ig_str text = ig_str_make(c->alloc);
  ig_str_add(&text, source ? "%s" : "L['%s']", source ? source : name);
  ig_meta m;
  ig_meta_of(example, &m);
  bool dynamic = false;
  ig_tensor *out = NULL;
  if (text.failed) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (c->status == IG_OK &&
      declare_sizes(c, dims, text.at, example, given ? given : none, &m, &dynamic) &&
      (!dynamic || declare_strides(c, dims, text.at, example, &m))) {
    ig_placeholder p = {
        .role = IG_INPUT_USER, .name = name, .path = name, .requires_grad = example->requires_grad};
    out = ig_record_placeholder(c, &p, &m);
    ig_draft_know(c, out, example);
    ig_capture_keep_history(c, out, example);
  }
  ig_str_free(&text);
  return out;
}

// ---- roots ----

static bool on_input(const ig_dims *dims, const char *root) {
  for (size_t i = 0; i < dims->uses.n; i++) {
    const ig_dim_use *u = &dims->uses.at[i];
    if (u->dim.kind == IG_DIM_NAMED && strcmp(u->dim.name, root) == 0) return true;
  }
  for (size_t i = 0; i < dims->phantoms.n; i++) {
    if (strcmp(dims->phantoms.at[i].name, root) == 0) return true;
  }
  return false;
}

static void add_phantom(ig_ctx *c, ig_dims *dims, const ig_dim_use *u) {
  int64_t rest = u->example - u->dim.c;
  if (u->dim.k == 0 || rest % u->dim.k != 0) {
    const char *open = strrchr(u->source, '[');
    ig_fail_text(c, IG_USER_ERROR | IG_E_DIM_EXAMPLE,
                 "Expected shape%s = %lld of input Tensor to be of the form %s, where %s is an "
                 "integer",
                 open ? open : "", (long long)u->example, u->dim.name, u->dim.root);
    return;
  }
  int64_t v = rest / u->dim.k;
  int64_t lo = u->dim.lo < LEAST ? LEAST : u->dim.lo;
  if (v < lo) lo = v;
  ig_dim_root r = {.name = u->dim.root, .lo = u->dim.lo, .hi = u->dim.hi};
  r.size = ig_sym_backed(c, v, lo, u->dim.hi > v ? u->dim.hi : v);
  if (c->status == IG_OK && !ig_vec_push(c->mode->sym->env->alloc, &dims->phantoms, r))
    (void)ig_fail(c, IG_NOMEM, "out of memory");
}

ig_status ig_capture_inputs_done(ig_ctx *c) {
  ig_dims *dims = ig_dims_get(c);
  if (!dims || dims->done) return c->status;
  dims->done = true;
  for (size_t i = 0; i < dims->uses.n && c->status == IG_OK; i++) {
    const ig_dim_use *u = &dims->uses.at[i];
    if (u->dim.kind == IG_DIM_DERIVED && !on_input(dims, u->dim.root)) add_phantom(c, dims, u);
  }
  return c->status;
}

ig_status ig_capture_options(ig_ctx *c, const ig_solve_options *options) {
  ig_env *env = c->status == IG_OK ? ig_env_get(c) : NULL;
  ig_solve_options all;
  IG_OPTIONS_TAKE(&all, options, ask_empty);
  if (env) {
    env->deferred = all.allow_complex_guards;
    env->asks_empty = all.ask_empty;
    env->keeps_checked = all.strict;
  }
  return c->status;
}
