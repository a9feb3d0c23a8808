// SPDX-License-Identifier: Apache-2.0
// Traces: the values of a run in order, and what each is computed from. An interpreted run names
// its values, so the graph of the file says what they read; a planned one tells in which memory its
// steps read and write.
#include "model/trace.h"

#include <string.h>

#include "base/budget.h"
#include "ir/table.h"
#include "onnx/proto_model.h"

enum { MAX_VISITS = 256, MAX_DEPTH = 64 };

static bool no_memory(ig_run_trace *t) {
  return ig_fail(t->c, IG_NOMEM, "out of memory") == IG_OK;
}

// ---- nodes by name

static bool index_program(ig_run_trace *t, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    ig_map_value *at = ig_map_put(&t->nodes, n->name);
    if (!at) return no_memory(t);
    if (!at->ptr) at->ptr = (void *)n;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (!index_program(t, g->subs.at[i].graph)) return false;
  }
  return true;
}

static bool index_onnx(ig_run_trace *t, const ig_om_graph *g, int depth) {
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    for (size_t k = 0; k < n->noutputs; k++) {
      ig_map_value *at = ig_map_put(&t->onnx_nodes, n->outputs[k]);
      if (!at) return no_memory(t);
      if (!at->ptr) at->ptr = (void *)n;
    }
    for (size_t a = 0; a < n->nattrs; a++) {
      for (size_t k = 0; n->attrs[a].graphs && depth < MAX_DEPTH && k < n->attrs[a].n; k++) {
        if (!index_onnx(t, n->attrs[a].graphs[k], depth + 1)) return false;
      }
    }
  }
  return true;
}

static const ig_node *node_of(const ig_run_trace *t, const char *name) {
  const ig_map_value *at = ig_map_find(&t->nodes, name);
  return at ? at->ptr : NULL;
}

static const ig_om_node *onnx_node_of(const ig_run_trace *t, const char *name) {
  const ig_map_value *at = ig_map_find(&t->onnx_nodes, name);
  return at ? at->ptr : NULL;
}

// ---- what a value reads

static bool add_read(ig_run_trace *t, ig_traced *v, size_t place) {
  for (size_t i = 0; i < v->nreads; i++) {
    if (t->reads.at[v->read + i] == place) return true;
  }
  if (!ig_vec_push(t->c->alloc, &t->reads, place)) return no_memory(t);
  v->nreads++;
  return true;
}

static bool add_operands(ig_run_trace *t, ig_traced *v, const char *name, size_t *visits,
                         int depth);

// The last value of that name. One that the trace does not have (a list of results, a call that was
// fused) stands for its operands.
static bool add_operand(ig_run_trace *t, ig_traced *v, const char *name, size_t *visits,
                        int depth) {
  const ig_map_value *at = ig_map_find(&t->latest, name);
  if (at) return add_read(t, v, at->num - 1);
  if (*visits == MAX_VISITS || depth == MAX_DEPTH) return true;
  (*visits)++;
  return add_operands(t, v, name, visits, depth + 1);
}

static bool add_operands(ig_run_trace *t, ig_traced *v, const char *name, size_t *visits,
                         int depth) {
  const ig_node *n = node_of(t, name);
  const ig_om_node *o = n ? NULL : onnx_node_of(t, name);
  for (size_t i = 0; n && i < n->ninputs; i++) {
    if (!add_operand(t, v, n->inputs[i]->name, visits, depth)) return false;
  }
  for (size_t i = 0; o && i < o->ninputs; i++) {
    if (o->in[i].up >= 0 && !add_operand(t, v, o->inputs[i], visits, depth)) return false;
  }
  return true;
}

// ---- values

static bool push(ig_run_trace *t, ig_traced v) {
  v.name = ig_arena_strn(&t->arena, v.name, strlen(v.name));
  v.target = ig_arena_strn(&t->arena, v.target, strlen(v.target));
  if (!v.name || !v.target) return no_memory(t);
  if (ig_tensor_stats(t->c, v.tensor, &v.stats) != IG_OK) return false;
  if (!ig_vec_push(t->c->alloc, &t->values, v)) return no_memory(t);
  (void)ig_tensor_retain(v.tensor);
  ig_map_value *at = v.name[0] ? ig_map_put(&t->latest, v.name) : NULL;
  if (v.name[0] && !at) return no_memory(t);
  if (at) at->num = t->values.n;
  return true;
}

static bool is_plain(const ig_tensor *x) {
  return x && !ig_tensor_is_fake(x) && !x->quantizer;
}

static bool add_given(ig_run_trace *t, const char *name, ig_tensor *x) {
  return !is_plain(x) ||
         push(t, (ig_traced){.name = name, .target = "", .tensor = x, .given = true});
}

static bool add_named(ig_run_trace *t, const char *name, const char *target, ig_tensor *x) {
  if (!is_plain(x)) return true;
  ig_traced v = {.name = name, .target = target, .tensor = x, .read = t->reads.n};
  size_t visits = 0;
  v.node = node_of(t, name);
  return add_operands(t, &v, name, &visits, 0) && push(t, v);
}

static bool add_weights(ig_run_trace *t) {
  const ig_program *p = t->m->runnable;
  for (size_t i = 0; p && i < p->ninputs; i++) {
    ig_tensor *x = p->inputs[i].target ? ig_program_find_weight(p, p->inputs[i].target) : NULL;
    if (x && !add_given(t, p->inputs[i].name, x)) return false;
  }
  for (size_t i = 0; !p && i < t->m->weights.n; i++) {
    if (!add_given(t, t->m->weights.at[i]->name, t->m->weights.at[i]->tensor)) return false;
  }
  return true;
}

static bool add_inputs(ig_run_trace *t, const ig_session *s) {
  for (size_t i = 0; i < t->m->inputs.n; i++) {
    const ig_value *v = ig_session_input_at(s, i);
    if (!v || v->kind != IG_KIND_TENSOR) continue;
    if (!add_given(t, t->m->inputs.at[i]->name, v->tensor)) return false;
  }
  return true;
}

void ig_run_trace_free(ig_run_trace *t) {
  if (!t) return;
  ig_ctx *c = t->c;
  for (size_t i = 0; i < t->values.n; i++) ig_tensor_release(t->values.at[i].tensor);
  ig_vec_free(c->alloc, &t->values);
  ig_vec_free(c->alloc, &t->reads);
  ig_vec_free(c->alloc, &t->outputs);
  ig_map_free(&t->latest);
  ig_map_free(&t->nodes);
  ig_map_free(&t->onnx_nodes);
  ig_arena_free(&t->arena);
  ig_model_free(t->m);
  ig_mem_free(c->alloc, t, sizeof *t);
}

static ig_run_trace *create(ig_ctx *c, const ig_model *m) {
  ig_run_trace *t = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *t) : NULL;
  if (!t) {
    if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *t = (ig_run_trace){.c = c, .m = ig_model_retain((ig_model *)m)};
  t->arena = ig_arena_make(c->alloc);
  t->latest = ig_map_make(c->alloc);
  t->nodes = ig_map_make(c->alloc);
  t->onnx_nodes = ig_map_make(c->alloc);
  return t;
}

ig_status ig_run_trace_begin(ig_ctx *c, const ig_model *m, const ig_session *s,
                             ig_run_trace **out) {
  *out = NULL;
  ig_run_trace *t = create(c, m);
  if (!t) return c->status;
  const ig_onnx_model *o = m->runnable ? NULL : ig_model_onnx(m);
  bool ok = (!m->runnable || index_program(t, m->runnable->graph)) &&
            (!o || index_onnx(t, o->graph, 0)) && add_weights(t) && add_inputs(t, s);
  if (ok) {
    *out = t;
  } else {
    ig_run_trace_free(t);
  }
  return c->status;
}

ig_status ig_run_trace_add(ig_run_trace *t, const char *name, ig_tensor *value) {
  if (t->c->status != IG_OK) return t->c->status;
  const ig_node *n = node_of(t, name);
  const ig_om_node *o = n ? NULL : onnx_node_of(t, name);
  (void)add_named(t, name, n ? n->target : o ? o->op_type : "?", value);
  return t->c->status;
}

ig_status ig_run_trace_output(ig_run_trace *t, const char *name) {
  if (t->c->status != IG_OK) return t->c->status;
  const ig_map_value *at = ig_map_find(&t->latest, name);
  if (!at) return ig_fail(t->c, IG_NOT_FOUND, "the trace has no value '%s'", name);
  ig_run_trace_output_of output = {at->num - 1, true};
  if (!ig_vec_push(t->c->alloc, &t->outputs, output)) (void)no_memory(t);
  return t->c->status;
}

// ---- runs

static void on_value(void *user, const char *name, const char *target, const ig_value *v) {
  ig_run_trace *t = user;
  if (v->kind != IG_KIND_TENSOR || !target[0]) return;  // placeholders are there already
  (void)add_named(t, name, target, v->tensor);
}

// Values of a plan are found by the memory that they lie in.
typedef struct planned {
  ig_run_trace *t;
  ig_table places;  // memory -> the last value in it
  size_t told;
} planned;

static void on_step(void *user, const ig_session_value *x) {
  planned *p = user;
  ig_run_trace *t = p->t;
  if (t->c->status != IG_OK || !is_plain(x->tensor)) return;
  ig_traced v = {.name = x->name,
                 .target = x->target,
                 .tensor = x->tensor,
                 .given = !x->target[0],
                 .node = node_of(t, x->name),
                 .read = t->reads.n};
  for (size_t i = 0; i < x->nreads; i++) {
    const ig_table_slot *from = ig_table_find(&p->places, x->reads[i]);
    if (from && !add_read(t, &v, (size_t)from->number)) return;
  }
  ig_table_slot *slot = push(t, v) ? ig_table_put(&p->places, x->place) : NULL;
  if (slot) slot->number = (int64_t)t->values.n - 1;
  if (!slot && t->c->status == IG_OK) (void)no_memory(t);
  p->told++;
}

static bool is_result(const ig_traced *v, const ig_tensor *x, const ig_stats *stats) {
  return v->stats.hash == stats->hash && v->tensor->dtype == x->dtype &&
         v->stats.count == stats->count;
}

// The value that an output is: of the same name, or the last one with its elements.
static bool add_output(ig_run_trace *t, const char *name, bool user, ig_tensor *x) {
  const ig_map_value *at = ig_map_find(&t->latest, name);
  if (!is_plain(x)) return true;
  ig_stats stats;
  if (ig_tensor_stats(t->c, x, &stats) != IG_OK) return false;
  size_t i = t->values.n;
  if (at && is_result(&t->values.at[at->num - 1], x, &stats)) i = at->num;
  while (i > 0 && !is_result(&t->values.at[i - 1], x, &stats)) i--;
  if (i == 0 && !push(t, (ig_traced){.name = name, .target = "output", .tensor = x})) return false;
  ig_run_trace_output_of output = {i ? i - 1 : t->values.n - 1, user};
  return ig_vec_push(t->c->alloc, &t->outputs, output) || no_memory(t);
}

static bool add_outputs(ig_run_trace *t, const ig_session *s) {
  for (size_t i = 0; i < t->m->outputs.n; i++) {
    const ig_model_port *p = t->m->outputs.at[i];
    const ig_value *v = ig_session_output_at(s, i);
    if (!v || v->kind != IG_KIND_TENSOR) continue;
    if (!add_output(t, p->name, p->role == IG_PORT_USER, v->tensor)) return false;
  }
  return true;
}

static ig_status run_planned(ig_run_trace *t, ig_session *s) {
  planned p = {.t = t, .places = ig_table_make(t->c->alloc)};
  ig_session_watch_steps(s, on_step, &p);
  ig_status st = ig_session_run(s);
  ig_session_watch_steps(s, NULL, NULL);
  ig_table_free(&p.places);
  if (st != IG_OK || t->c->status != IG_OK) return t->c->status;
  if (p.told) return IG_OK;
  return ig_fail(t->c, IG_UNSUPPORTED, "%s is not planned: every run is interpreted", t->m->name);
}

static ig_status run_interpreted(ig_run_trace *t, ig_session *s) {
  ig_session_watch(s, on_value, t);
  ig_status st = ig_session_run(s);
  ig_session_watch(s, NULL, NULL);
  return st;
}

ig_status ig_run_trace_take(ig_ctx *c, const ig_model *m, ig_session *s, bool planned_run,
                            ig_run_trace **out) {
  ig_run_trace *t = NULL;
  *out = NULL;
  IG_RETURN_IF_ERR(ig_run_trace_begin(c, m, s, &t));
  if (!t) return c->status;
  ig_status st = planned_run ? run_planned(t, s) : run_interpreted(t, s);
  if (st == IG_OK && c->status == IG_OK && add_outputs(t, s)) {
    *out = t;
  } else {
    ig_run_trace_free(t);
  }
  return c->status;
}

// ---- looking

size_t ig_run_trace_count(const ig_run_trace *t) {
  return t->values.n;
}

bool ig_run_trace_at(const ig_run_trace *t, size_t i, ig_run_trace_value *out) {
  if (i >= t->values.n) return false;
  const ig_traced *v = &t->values.at[i];
  *out = (ig_run_trace_value){v->name, v->target, v->tensor, "", "", {.file = NULL}};
  const ig_module_level *levels = NULL;
  size_t n = v->node ? ig_node_modules(v->node, &levels) : 0;
  if (n && !ig_modules_are_none(levels, n)) {
    out->module = levels[n - 1].path;
    out->type = levels[n - 1].type;
  }
  if (v->node) out->at = ig_node_location(v->node);
  return true;
}
