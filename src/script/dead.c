// SPDX-License-Identifier: Apache-2.0
// Dead code: nodes whose results nobody needs go, unless they have effects or write to memory that
// somebody needs. Marking goes from what is needed to what it needs; what is left is swept from the
// end of the graph to its beginning.
#include "script/alias.h"
#include "script/compile.h"

typedef struct marker {
  ig_sgraph *g;
  ig_saliases *aliases;
  unsigned char *live;     // values, by number
  unsigned char *touched;  // classes that a live value belongs to
  uint32_t *writers;       // by class: position plus one in `writes`; 0: none
  uint32_t *next;          // by write: the next one to the same class
  const ig_swrite *writes;
  size_t n_writes;
  size_t n_values;
  size_t n_classes;
  IG_VEC(ig_svalue *) todo;
  bool failed;
} marker;

// In `marks` of nodes, beside those of alias.c.
enum { NEEDED = 2 };

static void need(marker *m, ig_svalue *v) {
  if (m->failed || m->live[v->number]) return;
  m->live[v->number] = 1;
  if (ig_vec_push(m->g->c->alloc, &m->todo, v)) return;
  (void)ig_fail(m->g->c, IG_NOMEM, "out of memory");
  m->failed = true;
}

static void need_all(marker *m, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) need(m, at[i]);
}

// A node runs only if those around it do.
static void need_node(marker *m, ig_snode *n) {
  for (; n && !(n->marks & NEEDED); n = n->owner->node) {
    n->marks |= NEEDED;
    need_all(m, n->in, n->n_in);
    ig_sform form = ig_sform_of(n);
    if (form == IG_SFORM_LOOP) need(m, n->blocks[0]->out[0]);
    if (form == IG_SFORM_LOOP || form == IG_SFORM_IF) continue;
    for (size_t i = 0; i < n->n_blocks; i++) need_all(m, n->blocks[i]->out, n->blocks[i]->n_out);
  }
}

static size_t position(ig_svalue *const *at, size_t n, const ig_svalue *v) {
  size_t i = 0;
  while (i < n && at[i] != v) i++;
  return i;
}

// What a value of control flow comes from.
static void need_sources(marker *m, ig_svalue *v) {
  ig_snode *n = v->node;
  if (!n) return;
  ig_sform form = ig_sform_of(n);
  if (form == IG_SFORM_LOOP) {
    ig_sblock *body = n->blocks[0];
    size_t i = v->block ? position(body->in, body->n_in, v) : position(n->out, n->n_out, v) + 1;
    if (i > 0 && i < body->n_out) need(m, body->out[i]);
  }
  if (form == IG_SFORM_IF) {
    size_t i = position(n->out, n->n_out, v);
    need(m, n->blocks[0]->out[i]);
    need(m, n->blocks[1]->out[i]);
  }
  need_node(m, n);
}

static void need_writers(marker *m, const ig_svalue *v) {
  uint32_t class = ig_saliases_class(m->aliases, v);
  if (class == IG_SALIAS_NONE || m->touched[class]) return;
  m->touched[class] = 1;
  for (uint32_t i = m->writers[class]; i; i = m->next[i - 1]) need_node(m, m->writes[i - 1].node);
}

static void need_effects(marker *m, ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (ig_saliases_has_effects(m->aliases, n)) need_node(m, n);
    for (size_t i = 0; i < n->n_blocks; i++) need_effects(m, n->blocks[i]);
  }
}

static bool mark(marker *m) {
  for (size_t i = 0; i < m->n_writes; i++) {
    uint32_t class = m->writes[i].at;
    if (class == IG_SALIAS_OUTSIDE) need_node(m, m->writes[i].node);
    m->next[i] = m->writers[class];
    m->writers[class] = (uint32_t)i + 1;
  }
  need_effects(m, m->g->body);
  need_all(m, m->g->body->out, m->g->body->n_out);
  while (m->todo.n && !m->failed) {
    ig_svalue *v = m->todo.at[--m->todo.n];
    need_sources(m, v);
    need_writers(m, v);
  }
  return !m->failed;
}

// ---- sweeping; `uses` are counted

static void unuse(ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) at[i]->uses--;
}

static void unuse_node(const ig_snode *n) {
  unuse(n->in, n->n_in);
  for (size_t i = 0; i < n->n_blocks; i++) {
    const ig_sblock *b = n->blocks[i];
    for (const ig_snode *inner = b->first; inner; inner = inner->next) unuse_node(inner);
    unuse(b->out, b->n_out);
  }
}

static bool is_used(const ig_snode *n) {
  for (size_t i = 0; i < n->n_out; i++) {
    if (n->out[i]->uses) return true;
  }
  return false;
}

static void drop_results(ig_snode *n) {
  ig_sform form = ig_sform_of(n);
  bool loop = form == IG_SFORM_LOOP;
  if (!loop && form != IG_SFORM_IF) return;
  for (size_t i = n->n_out; i-- > 0;) {
    if (n->out[i]->uses || (loop && n->blocks[0]->in[i + 1]->uses)) continue;
    ig_snode_remove_output(n, i);
    for (size_t k = 0; k < n->n_blocks; k++) {
      unuse(&n->blocks[k]->out[i + loop], 1);
      ig_sblock_remove_output(n->blocks[k], i + loop);
    }
    if (!loop) continue;
    unuse(&n->in[i + 2], 1);
    ig_snode_remove_input(n, i + 2);
    ig_sblock_remove_input(n->blocks[0], i + 1);
  }
}

static void sweep(ig_sblock *b) {
  for (ig_snode *n = b->last, *before; n; n = before) {
    before = n->prev;
    drop_results(n);
    for (size_t i = 0; i < n->n_blocks; i++) sweep(n->blocks[i]);
    if (n->marks & NEEDED || is_used(n)) continue;
    unuse_node(n);
    ig_snode_remove(n);
  }
}

// What a forked graph does not use is not handed to it.
static void drop_fork_inputs(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_blocks; i++) drop_fork_inputs(n->blocks[i]);
    const ig_sattr *a = ig_sform_of(n) == IG_SFORM_FORK ? ig_snode_attr(n, "Subgraph") : NULL;
    if (!a || a->kind != IG_SATTR_GRAPH || a->graph->body->n_in != n->n_in) continue;
    ig_sbuild_count_uses(a->graph);
    for (size_t i = n->n_in; i-- > 0;) {
      if (a->graph->body->in[i]->uses) continue;
      ig_sblock_remove_input(a->graph->body, i);
      ig_snode_remove_input(n, i);
    }
  }
}

static bool prepare(marker *m) {
  ig_alloc alloc = m->g->c->alloc;
  m->n_values = m->g->next_number + 1;
  m->n_classes = ig_saliases_count(m->aliases);
  m->writes = ig_saliases_writes(m->aliases, &m->n_writes);
  m->live = ig_mem_array(alloc, m->n_values, 1);
  m->touched = ig_mem_array(alloc, m->n_classes, 1);
  m->writers = ig_mem_array(alloc, m->n_classes, sizeof *m->writers);
  m->next = ig_mem_array(alloc, m->n_writes + 1, sizeof *m->next);
  if (m->live && m->touched && m->writers && m->next) return true;
  (void)ig_fail(m->g->c, IG_NOMEM, "out of memory");
  return false;
}

bool ig_sgraph_remove_dead(ig_sunit *u, ig_sgraph *g) {
  if (!ig_sbuild_check(g, true)) return false;
  drop_fork_inputs(g->body);
  marker m = {.g = g, .aliases = ig_saliases_create(u, g, false)};
  if (!m.aliases) return false;
  bool ok = prepare(&m) && mark(&m);
  if (ok) {
    ig_sbuild_count_uses(g);
    sweep(g->body);
  }
  ig_alloc alloc = g->c->alloc;
  ig_mem_array_free(alloc, m.live, m.n_values, 1);
  ig_mem_array_free(alloc, m.touched, m.n_classes, 1);
  ig_mem_array_free(alloc, m.writers, m.n_classes, sizeof *m.writers);
  ig_mem_array_free(alloc, m.next, m.n_writes + 1, sizeof *m.next);
  ig_vec_free(alloc, &m.todo);
  ig_saliases_free(m.aliases);
  return ok && g->c->status == IG_OK;
}
