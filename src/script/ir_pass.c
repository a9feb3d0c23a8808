// SPDX-License-Identifier: Apache-2.0
#include "script/ir_pass.h"

#include "script/form.h"
#include "script/ir_edit.h"

// ---- calls

ig_sfunction *ig_snode_callee(const ig_snode *n) {
  if (!n->n_in) return NULL;
  const ig_stype *type = n->in[0]->type;
  if (ig_sform_of(n) == IG_SFORM_CALL_FUNCTION) {
    return type->kind == IG_STYPE_FUNCTION ? type->declaration : NULL;
  }
  const ig_sattr *name = ig_sform_of(n) == IG_SFORM_CALL_METHOD ? ig_snode_attr(n, "name") : NULL;
  if (!name || name->value.kind != IG_KIND_STR || !ig_sclass_of(type)) return NULL;
  return ig_sclass_method(ig_sclass_of(type), name->value.str);
}

// ---- tuples

static void lower_tuples(ig_sblock *b) {
  for (ig_snode *n = b->first, *next = NULL; n; n = next) {
    next = n->next;
    for (size_t i = 0; i < n->n_blocks; i++) lower_tuples(n->blocks[i]);
    const ig_snode *made = n->n_in == 1 && !n->in[0]->block ? n->in[0]->node : NULL;
    if (!made || ig_sform_of(n) != IG_SFORM_TUPLE_UNPACK ||
        ig_sform_of(made) != IG_SFORM_TUPLE_CONSTRUCT)
      continue;
    if (made->n_in != n->n_out) continue;
    for (size_t i = 0; i < n->n_out; i++) {
      ig_svalue_replace(b->graph->body, n->out[i], made->in[i]);
    }
    ig_snode_remove(n);
  }
}

static void drop_unused_tuples(ig_sblock *b) {
  for (ig_snode *n = b->last, *before = NULL; n; n = before) {
    before = n->prev;
    for (size_t i = 0; i < n->n_blocks; i++) drop_unused_tuples(n->blocks[i]);
    if (ig_sform_of(n) == IG_SFORM_TUPLE_CONSTRUCT &&
        !ig_svalue_is_used(b->graph->body, n->out[0])) {
      ig_snode_remove(n);
    }
  }
}

bool ig_sgraph_lower_tuples(ig_sgraph *g) {
  lower_tuples(g->body);
  drop_unused_tuples(g->body);
  return g->c->status == IG_OK;
}

ig_sgraph *ig_sgraph_canonical(const ig_sgraph *g, bool names) {
  ig_sgraph *to = ig_sgraph_create(g->types);
  if (!to) return NULL;
  ig_svalue_map m = ig_svalue_map_make(to);
  if (ig_sblock_copy(&m, g->body, to->body, names)) return to;
  ig_sgraph_free(to);
  return NULL;
}

// ---- shapes

const ig_stype *ig_stype_without_shapes(ig_stypes *types, const ig_stype *t) {
  enum { MOST = 64 };
  const ig_stype *at[MOST] = {NULL};
  if (t->kind == IG_STYPE_TENSOR) return ig_stype_plain(types, IG_STYPE_TENSOR);
  if (t->n == 0 || t->n > MOST || t->names) return t;
  for (size_t i = 0; i < t->n; i++) {
    if (!(at[i] = ig_stype_without_shapes(types, t->at[i]))) return NULL;
  }
  switch (t->kind) {
    case IG_STYPE_LIST:
      return ig_stype_list(types, at[0]);
    case IG_STYPE_OPTIONAL:
      return ig_stype_optional(types, at[0]);
    case IG_STYPE_DICT:
      return ig_stype_dict(types, at[0], at[1]);
    case IG_STYPE_TUPLE:
      return ig_stype_tuple(types, at, t->n);
    default:
      return t;
  }
}

static bool erase_values(ig_stypes *types, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const ig_stype *t = ig_stype_without_shapes(types, at[i]->type);
    if (!t) return false;
    at[i]->type = t;
  }
  return true;
}

static bool erase_block(ig_stypes *types, ig_sblock *b) {
  if (!erase_values(types, b->in, b->n_in)) return false;
  for (ig_snode *n = b->first; n; n = n->next) {
    if (!erase_values(types, n->out, n->n_out)) return false;
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!erase_block(types, n->blocks[i])) return false;
    }
  }
  return true;
}

bool ig_sgraph_erase_shapes(ig_sgraph *g) {
  return erase_block(g->types, g->body);
}

// ---- lint

static bool wrong(const ig_sgraph *g, const ig_snode *n, const char *what) {
  ig_fail_text(g->c, IG_RUNTIME, "%s: %s", n ? n->kind : "the graph", what);
  return false;
}

// Is the value there when the node runs; node NULL: at the end of the block?
static bool is_defined(const ig_sblock *b, const ig_snode *n, const ig_svalue *v) {
  const ig_sblock *home = ig_svalue_home(v);
  for (; b && b != home; b = b->node ? b->node->owner : NULL) n = b->node;
  if (!b) return false;
  return v->block || !n || (v->node != n && ig_snode_is_before(v->node, n));
}

static bool lint_block(const ig_sgraph *g, const ig_sblock *b) {
  if (b->graph != g) return wrong(g, b->node, "a block of another graph");
  for (const ig_snode *n = b->first; n; n = n->next) {
    if (n->owner != b || n->detached) return wrong(g, n, "stands in another block");
    for (size_t i = 0; i < n->n_in; i++) {
      if (!is_defined(b, n, n->in[i])) return wrong(g, n, "an input is not defined before it");
    }
    for (size_t i = 0; i < n->n_out; i++) {
      if (n->out[i]->node != n) return wrong(g, n, "a result belongs to another node");
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (n->blocks[i]->node != n) return wrong(g, n, "a block belongs to another node");
      if (!lint_block(g, n->blocks[i])) return false;
    }
  }
  for (size_t i = 0; i < b->n_out; i++) {
    if (!is_defined(b, NULL, b->out[i])) return wrong(g, b->node, "an output is not defined");
  }
  return true;
}

bool ig_sgraph_lint(const ig_sgraph *g) {
  return lint_block(g, g->body);
}
