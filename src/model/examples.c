// SPDX-License-Identifier: Apache-2.0
// The example inputs of a .pt2, for a session: the leaves of its arguments and keyword arguments,
// in order.
#include "ingot/file.h"
#include "model/model.h"

enum { MAX_LEAVES = 1 << 16 };

typedef struct leaves {
  const ig_object **at;
  size_t n;
  size_t cap;
} leaves;

static bool is_container(const ig_object *o) {
  switch (ig_object_kind_of(o)) {
    case IG_OBJECT_LIST:
    case IG_OBJECT_TUPLE:
    case IG_OBJECT_DICT:
    case IG_OBJECT_ORDERED:
      return true;
    default:
      return false;
  }
}

// False: there are more leaves than inputs.
static bool flatten(leaves *l, const ig_object *o, size_t *seen) {
  if (++*seen > MAX_LEAVES) return false;
  if (!is_container(o)) {
    if (l->n == l->cap) return false;
    l->at[l->n++] = o;
    return true;
  }
  for (size_t i = 0; i < ig_object_count(o); i++) {
    if (!flatten(l, ig_object_at(o, i), seen)) return false;
  }
  return true;
}

static ig_status set_all(ig_session *s, const ig_model *m, const leaves *l) {
  for (size_t i = 0; i < l->n; i++) {
    ig_tensor *t = ig_object_tensor(l->at[i]);
    if (m->inputs.at[i]->kind != IG_KIND_TENSOR) continue;
    IG_RETURN_IF_ERR(ig_session_set(s, m->inputs.at[i]->name, t));
  }
  return IG_OK;
}

ig_status ig_model_set_examples(ig_ctx *c, const ig_model *m, ig_session *s) {
  ig_object *o = NULL;
  if (c->status != IG_OK) return c->status;
  if (m->program) IG_RETURN_IF_ERR(ig_program_examples(c, m->program, &o));
  if (!o) return ig_fail(c, IG_NOT_FOUND, "%s: the file holds no example inputs", m->name);
  leaves l = {.cap = m->inputs.n};
  l.at = ig_scope_array(c, l.cap + 1, sizeof *l.at);
  size_t seen = 0;
  ig_status st =
      !l.at ? c->status
      : flatten(&l, o, &seen) && l.n == m->inputs.n
          ? set_all(s, m, &l)
          : ig_fail(c, IG_MISMATCH, "%s: its example inputs are not those of its program", m->name);
  ig_object_free(o);
  return st;
}
