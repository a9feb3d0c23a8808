// SPDX-License-Identifier: Apache-2.0
#include "script/calls.h"

#include <string.h>

#include "script/form.h"
#include "script/operator.h"

enum { WANTED = 1, LIVE = 2, CONSTANT = 4, VARYING = 8, MEASURED = 16 };  // of values

typedef struct finder {
  ig_ctx *c;
  ig_sunit *u;
  unsigned char *facts;  // of values, by number
  size_t n_facts;
  ig_scalls nodes;  // all of them
  bool failed;
} finder;

static bool no_memory(finder *f) {
  (void)ig_fail(f->c, IG_NOMEM, "out of memory");
  f->failed = true;
  return false;
}

static void list_nodes(finder *f, const ig_sblock *b) {
  for (ig_snode *n = b->first; n && !f->failed; n = n->next) {
    if (!ig_vec_push(f->c->alloc, &f->nodes, n)) (void)no_memory(f);
    for (size_t i = 0; i < n->n_blocks; i++) list_nodes(f, n->blocks[i]);
  }
}

static bool any_is(const finder *f, ig_svalue *const *at, size_t n, int fact) {
  for (size_t i = 0; i < n; i++) {
    if (f->facts[at[i]->number] & fact) return true;
  }
  return false;
}

static void say(finder *f, ig_svalue *const *at, size_t n, int fact) {
  for (size_t i = 0; i < n; i++) f->facts[at[i]->number] |= (unsigned char)fact;
}

bool ig_snode_is_random(ig_sunit *u, const ig_snode *n) {
  const ig_soperator *found = ig_soperator_of_node(u, n);
  if (!found || !found->op || !ig_op_is_random(found->op)) return false;
  for (size_t i = 0; i < n->n_in && i < found->schema->n_params; i++) {
    const ig_svalue *v = n->in[i];
    const ig_sattr *a = v->block ? NULL : ig_snode_attr(v->node, "value");
    bool training = strcmp(found->schema->params[i].name, "train") == 0;
    if (training && a && a->value.kind == IG_KIND_BOOL && !a->value.b) return false;
  }
  return true;
}

// ---- what is used

static const ig_salias *alias_of_first(ig_sunit *u, const ig_snode *n) {
  const ig_soperator *o = n->n_in ? ig_soperator_of_node(u, n) : NULL;
  return o && o->schema->n_params ? &o->schema->params[0].alias : NULL;
}

// What a view is a part of.
static const ig_svalue *base_of(ig_sunit *u, const ig_svalue *v) {
  while (!v->block && v->node) {
    const ig_soperator *o = v->node->n_in ? ig_soperator_of_node(u, v->node) : NULL;
    const ig_sschema *s = o ? o->schema : NULL;
    bool view = s && s->n_params && s->n_results && s->params[0].alias.set &&
                s->params[0].alias.set == s->result_aliases[0].set;
    if (!view) break;
    v = v->node->in[0];
  }
  return v;
}

static bool writes_wanted(finder *f, const ig_snode *n) {
  const ig_salias *alias = alias_of_first(f->u, n);
  if (!alias || !alias->written) return false;
  return (f->facts[n->in[0]->number] | f->facts[base_of(f->u, n->in[0])->number]) & WANTED;
}

// From the end to the beginning: results that are used, and writes to what is used later.
static void mark_live(finder *f, const ig_sgraph *g) {
  say(f, g->body->out, g->body->n_out, WANTED);
  for (size_t i = f->nodes.n; i > 0; i--) {
    const ig_snode *n = f->nodes.at[i - 1];
    bool used = !n->n_out || n->n_blocks || any_is(f, n->out, n->n_out, WANTED);
    if (!used && !writes_wanted(f, n)) continue;
    say(f, n->out, n->n_out, LIVE);
    say(f, n->in, n->n_in, WANTED);
    for (size_t k = 0; k < n->n_blocks; k++) {
      say(f, n->blocks[k]->out, n->blocks[k]->n_out, WANTED);
    }
  }
}

// ---- what is computed ahead

static bool is_computed(finder *f, const ig_snode *n) {
  if (ig_sform_of(n) == IG_SFORM_CONSTANT) return true;
  if (n->n_blocks || !n->n_out) return false;
  for (size_t i = 0; i < n->n_in; i++) {
    if (!(f->facts[n->in[i]->number] & CONSTANT)) return false;
  }
  return !ig_snode_is_random(f->u, n);
}

static void select_calls(finder *f, ig_scalls *out) {
  for (size_t i = 0; i < f->nodes.n && !f->failed; i++) {
    ig_snode *n = f->nodes.at[i];
    if (is_computed(f, n)) {
      say(f, n->out, n->n_out, CONSTANT);
    } else if (!n->n_out || any_is(f, n->out, n->n_out, LIVE)) {
      if (!ig_vec_push(f->c->alloc, out, n)) (void)no_memory(f);
    }
  }
}

// ---- the finder's own life

static bool start(finder *f, const ig_sgraph *g) {
  f->n_facts = ig_mem_add(g->next_number, 1);
  f->facts = ig_mem_array(f->c->alloc, f->n_facts, 1);
  if (!f->facts) return no_memory(f);
  list_nodes(f, g->body);
  if (!f->failed) mark_live(f, g);
  return !f->failed;
}

static bool finish(finder *f) {
  ig_mem_array_free(f->c->alloc, f->facts, f->n_facts, 1);
  ig_vec_free(f->c->alloc, &f->nodes);
  return !f->failed && f->c->status == IG_OK;
}

bool ig_sgraph_calls(ig_sunit *u, const ig_sgraph *g, ig_scalls *out) {
  finder f = {.c = g->c, .u = u};
  if (start(&f, g)) select_calls(&f, out);
  return finish(&f);
}

// ---- whose sizes are read

// What depends on a varying value. Results of control flow do: blocks read more than their inputs.
static void mark_varying(finder *f) {
  for (size_t i = 0; i < f->nodes.n; i++) {
    const ig_snode *n = f->nodes.at[i];
    bool varies = any_is(f, n->in, n->n_in, VARYING);
    for (size_t k = 0; varies && k < n->n_blocks; k++)
      say(f, n->blocks[k]->in, n->blocks[k]->n_in, VARYING);
    if (varies || n->n_blocks) say(f, n->out, n->n_out, VARYING);
  }
}

// From the end to the beginning: what a live call measures, and what that is computed from.
static void mark_measured(finder *f) {
  for (size_t i = f->nodes.n; i > 0; i--) {
    const ig_snode *n = f->nodes.at[i - 1];
    bool asks = ig_sform_of(n) == IG_SFORM_SIZE && n->n_in && any_is(f, n->out, n->n_out, LIVE) &&
                f->facts[n->in[0]->number] & VARYING;
    if (asks) say(f, n->in, 1, MEASURED);
    if (any_is(f, n->out, n->n_out, MEASURED)) say(f, n->in, n->n_in, MEASURED);
    for (size_t k = 0; k < n->n_blocks; k++) {
      const ig_sblock *b = n->blocks[k];
      if (any_is(f, b->in, b->n_in, MEASURED)) say(f, n->in, n->n_in, MEASURED);
    }
  }
}

bool ig_sgraph_size_reads(ig_sunit *u, const ig_sgraph *g, const bool *varying, bool *asked) {
  finder f = {.c = g->c, .u = u};
  const ig_sblock *b = g->body;
  if (start(&f, g)) {
    for (size_t i = 0; i < b->n_in; i++) {
      if (varying[i]) say(&f, &b->in[i], 1, VARYING);
    }
    mark_varying(&f);
    mark_measured(&f);
    for (size_t i = 0; i < b->n_in; i++) asked[i] = f.facts[b->in[i]->number] & MEASURED;
  }
  return finish(&f);
}
