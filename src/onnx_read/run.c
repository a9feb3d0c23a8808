// SPDX-License-Identifier: Apache-2.0
// Interpreting a model: frames of slots, one scope per node, values freed after their last use.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/cause.h"
#include "base/str.h"
#include "onnx/schema.h"
#include "onnx_read/reader.h"
#include "op/interpret.h"

enum { MAX_CALLS = 128, KEY_SIZE = 192, INFER_NODES = 1 << 16 };

static const struct {
  const char *domain;
  const ig_rd_row *rows;
} families[] = {
    {"", ig_rd_rows_math},
    {"", ig_rd_rows_cast},
    {"", ig_rd_rows_shape},
    {"", ig_rd_rows_index},
    {"", ig_rd_rows_scatter},
    {"", ig_rd_rows_reduce},
    {"", ig_rd_rows_conv},
    {"", ig_rd_rows_pool},
    {"", ig_rd_rows_norm},
    {"", ig_rd_rows_linear},
    {"", ig_rd_rows_quant},
    {"", ig_rd_rows_rnn},
    {"", ig_rd_rows_resize},
    {"", ig_rd_rows_image},
    {"", ig_rd_rows_signal},
    {"", ig_rd_rows_random},
    {"", ig_rd_rows_sequence},
    {"", ig_rd_rows_control},
    {"", ig_rd_rows_string},
    {"", ig_rd_rows_attention},
    {"", ig_rd_rows_loss},
    {"ai.onnx.ml", ig_rd_rows_ml},
    {"ai.onnx.ml", ig_rd_rows_tree},
    {"ai.onnx.preview.training", ig_rd_rows_train},
    {"ai.onnx.preview", ig_rd_rows_preview},
};

void ig_rd_fail(ig_rd *r, ig_cause why, const char *fmt, ...) {
  if (!ig_rd_ok(r)) return;
  if (r->node) why = ig_cause_or(why, IG_E_ONNX_NODE);
  char text[512];
  char who[256];
  va_list args;
  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (r->node) {
    ig_fail_text(r->c, why, "%s: %s: %s", r->m->name,
                 ig_om_node_text(r->frame ? r->frame->g : NULL, r->node, who, sizeof who), text);
  } else {
    ig_fail_text(r->c, why, "%s: %s", r->m->name, text);
  }
  r->noted = true;
}

// ---- the table

ig_status ig_rd_init(ig_rd *r, ig_ctx *c, const ig_onnx_model *m) {
  uint64_t bytes = c->limits.max_memory;
  *r = (ig_rd){.c = c, .m = m, .bytes_limit = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX};
  r->rows = ig_map_make(c->alloc);
  r->keys = ig_arena_make(c->alloc);
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    for (const ig_rd_row *row = families[i].rows; row->op_type; row++) {
      // The default domain's names have no dots and can stand alone.
      char *key = (char *)row->op_type;
      if (families[i].domain[0]) {
        size_t size = strlen(families[i].domain) + strlen(row->op_type) + 2;
        key = ig_arena_array(&r->keys, size, 1);
        if (!key) return ig_fail(c, IG_NOMEM, "out of memory");
        (void)snprintf(key, size, "%s\1%s", families[i].domain, row->op_type);
      }
      ig_map_value *v = ig_map_put(&r->rows, key);
      if (!v) return ig_fail(c, IG_NOMEM, "out of memory");
      if (!v->ptr) v->ptr = (void *)row;
    }
  }
  return IG_OK;
}

void ig_rd_done(ig_rd *r) {
  ig_map_free(&r->rows);
  ig_arena_free(&r->keys);
}

static const ig_rd_row *find_row(ig_rd *r, const ig_om_node *n) {
  char key[KEY_SIZE];
  const char *name = n->op_type;
  if (n->domain[0]) {
    (void)snprintf(key, sizeof key, "%s\1%s", n->domain, n->op_type);
    name = key;
  }
  ig_map_value *v = ig_map_find(&r->rows, name);
  const ig_rd_row *row = v ? v->ptr : NULL;
  if (!row) {
    ig_rd_fail(r, IG_UNSUPPORTED | IG_E_ONNX_OPERATOR,
               "there is no operator '%s' in domain '%s' at version %lld", n->op_type,
               n->domain[0] ? n->domain : "ai.onnx", (long long)r->version);
    return NULL;
  }
  const ig_rd_row *found = row;
  for (; row->op_type && strcmp(row->op_type, n->op_type) == 0; row++) {
    if (row->since <= r->version) found = row;
  }
  return found;
}

// ---- nodes

typedef struct node_state {
  const ig_om_node *node;
  int64_t version;
  ig_rd_value **in;
  size_t nin;
  ig_rd_value **out;
  size_t nout;
} node_state;

static node_state save(const ig_rd *r) {
  return (node_state){r->node, r->version, r->in, r->nin, r->out, r->nout};
}
static void restore(ig_rd *r, const node_state *s) {
  r->node = s->node;
  r->version = s->version;
  r->in = s->in;
  r->nin = s->nin;
  r->out = s->out;
  r->nout = s->nout;
}

static int64_t version_of(const ig_rd *r, const char *domain) {
  int64_t v = ig_om_opset_version(r->frame->opsets, r->frame->nopsets, domain);
  return v ? v : 1;
}

static bool take_inputs(ig_rd *r, const ig_om_node *n) {
  r->nin = n->ninputs;
  r->nout = n->noutputs;
  r->in = ig_scope_array(r->c, n->ninputs, sizeof *r->in);
  r->out = ig_scope_array(r->c, n->noutputs, sizeof *r->out);
  if (!r->in || !r->out) return false;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_rd_frame *f = r->frame;
    for (int up = 0; f && up < n->in[i].up; up++) f = f->up;
    r->in[i] = n->in[i].up < 0 || !f ? NULL : f->slots[n->in[i].slot];
  }
  for (size_t i = 0; i < n->noutputs; i++) r->out[i] = NULL;
  return true;
}

static bool run_frame(ig_rd *r, ig_rd_frame *f, ig_rd_value *const *in, size_t n,
                      ig_rd_value **outs);

static void call_function(ig_rd *r, const ig_om_node *n) {
  const ig_om_function *fn = n->function;
  if (n->ninputs > fn->body->ninputs || n->noutputs > fn->body->noutputs) {
    ig_rd_fail(r, IG_SYNTAX, "function '%s' has %zu inputs and %zu outputs", fn->name,
               fn->body->ninputs, fn->body->noutputs);
    return;
  }
  ig_rd_value **in = ig_scope_array(r->c, fn->body->ninputs, sizeof *in);
  ig_rd_value **outs = ig_scope_array(r->c, fn->body->noutputs, sizeof *outs);
  if (!in || !outs) return;
  for (size_t i = 0; i < fn->body->ninputs; i++) in[i] = i < r->nin ? r->in[i] : NULL;
  ig_rd_frame f = {.g = fn->body,
                   .fn = fn,
                   .call = n,
                   .caller = r->frame,
                   .opsets = fn->nopsets ? fn->opsets : r->m->opsets,
                   .nopsets = fn->nopsets ? fn->nopsets : r->m->nopsets};
  node_state s = save(r);
  bool ok = run_frame(r, &f, in, fn->body->ninputs, outs);
  restore(r, &s);
  for (size_t i = 0; ok && i < n->noutputs; i++) r->out[i] = outs[i];
}

static void note(ig_rd *r, const ig_om_node *n) {
  if (ig_rd_ok(r) || r->noted) return;
  char who[256];
  ig_note(r->c, "in %s of %s", ig_om_node_text(r->frame->g, n, who, sizeof who), r->m->name);
  if (!ig_status_is_final(r->c->status) && !r->c->code) r->c->code = IG_E_ONNX_NODE;
  r->noted = true;
}

static bool is_inferring(const ig_rd *r) {
  return r->told && r->calls == 1;
}

static bool finish_node(ig_rd *r, const ig_om_node *n) {
  ig_rd_frame *f = r->frame;
  for (size_t i = 0; r->out && i < n->noutputs && ig_rd_ok(r); i++) {
    if (n->out[i] == IG_OM_NO_SLOT) continue;
    if (!r->out[i] && is_inferring(r)) continue;
    if (!r->out[i]) {
      ig_rd_fail(r, IG_UNSUPPORTED, "output %zu ('%s') is not made", i, n->outputs[i]);
      break;
    }
    f->slots[n->out[i]] = ig_rd_retain(r->out[i]);
  }
  for (size_t i = 0; i < n->ndrops && !f->keeps; i++) {
    ig_rd_release(f->slots[n->drops[i]]);
    f->slots[n->drops[i]] = NULL;
  }
  return ig_rd_ok(r);
}

// In shape inference: is an operand of the node unknown?
static bool lacks_input(const ig_rd *r, const ig_om_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    if (n->in[i].up >= 0 && !r->in[i]) return true;
  }
  return false;
}

// The node exceeded inference's budget for a node, but the model itself may continue.
static bool gave_up(const ig_rd *r) {
  return r->c->status == IG_LIMIT && r->c->account.left > 0;
}

// The results of a node whose shapes were inferred, as far as they are known.
static void tell(ig_rd *r, const ig_om_node *n) {
  if (!ig_rd_ok(r) && (!ig_status_is_final(r->c->status) || gave_up(r))) {
    r->failed(r, n, r->told_user);
    ig_ctx_clear(r->c);
    r->noted = false;
    for (size_t i = 0; i < n->noutputs && r->out; i++) r->out[i] = NULL;
  }
  r->told(r, n, r->told_user);
}

// The calls of functions around a frame: "block.1/attention/". Each has its own names for values.
static void put_calls(ig_str *s, const ig_rd_frame *f) {
  while (f && !f->fn) f = f->up;
  if (!f) return;
  put_calls(s, f->caller);
  ig_str_add(s, "%s/", *f->call->name || !f->call->noutputs ? f->call->name : f->call->outputs[0]);
}

static void tell_value(ig_rd *r, const ig_om_node *n, const char *name, const ig_value *v) {
  const ig_watch *watch = r->c->mode->watch;
  ig_str path = ig_str_make(r->c->alloc);
  put_calls(&path, r->frame);
  if (path.n) ig_str_add(&path, "%s", name);
  if (path.failed)
    (void)ig_fail(r->c, IG_NOMEM, "out of memory");
  else
    watch->fn(watch->user, path.n ? path.at : name, n->op_type, v);
  ig_str_free(&path);
}

// Reports the results of a node to the watcher of the run.
static void tell_watcher(ig_rd *r, const ig_om_node *n) {
  bool tells = r->c->mode->watch && r->out && !r->capture;
  for (size_t i = 0; tells && i < n->noutputs && ig_rd_ok(r); i++) {
    if (!r->out[i] || r->out[i]->kind != IG_RD_TENSOR || !n->outputs[i][0]) continue;
    ig_value v = ig_of_tensor(ig_rd_tensor(r, r->out[i]));
    if (v.tensor) tell_value(r, n, n->outputs[i], &v);
  }
}

static bool check_count(ig_rd *r, const char *what, size_t found, size_t low, size_t high) {
  if (found < low) ig_rd_fail(r, IG_SYNTAX, "%zu %s; at least %zu needed", found, what, low);
  if (high != IG_ONNX_ENDLESS && found > high) {
    ig_rd_fail(r, IG_SYNTAX, "%zu %s; at most %zu allowed", found, what, high);
  }
  return ig_rd_ok(r);
}

// Has the node as many inputs and outputs as its operator, and all that are required? Operators
// that the standard does not define check this themselves.
static bool fits_schema(ig_rd *r, const ig_om_node *n) {
  const ig_onnx_schema *s = ig_onnx_schema_find(n->domain, n->op_type, r->version);
  if (!s) return true;
  if (!check_count(r, "inputs", n->ninputs, s->min_in, s->max_in) ||
      !check_count(r, "outputs", n->noutputs, s->min_out, s->max_out)) {
    return false;
  }
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_onnx_param *p = ig_onnx_schema_input(s, i);
    if (n->in[i].up >= 0 || !p || p->option != IG_ONNX_SINGLE) continue;
    ig_rd_fail(r, IG_SYNTAX, "input %zu ('%s') is required and has no name", i,
               ig_onnx_schema_text(p->name));
    return false;
  }
  return true;
}

// Under a capture, or where a plan is made for all sizes, integers are known without their
// elements.
static bool knows_sizes(const ig_rd *r) {
  return r->capture || r->c->mode->sym;
}

static void eval_node(ig_rd *r, const ig_om_node *n) {
  if (is_inferring(r) && lacks_input(r, n)) return;  // unknown
  if (n->function) {
    call_function(r, n);
    return;
  }
  if (!fits_schema(r, n) || (knows_sizes(r) && ig_rd_fold(r))) return;
  const ig_rd_row *row = find_row(r, n);
  if (row && !ig_rd_move_strings(r, row->fn) && !(r->capture && ig_rd_compute(r, row->fn))) {
    row->fn(r);
  }
}

static void infer_node(ig_rd *r, const ig_om_node *n) {
  const ig_limits limits = {.max_work = (uint64_t)INFER_NODES * IG_WORK_NODE};
  const ig_account outer = ig_account_open(r->c, &limits);
  if (take_inputs(r, n)) eval_node(r, n);
  ig_account_close(r->c, &outer);
  tell(r, n);
}

bool ig_rd_node(ig_rd *r, const ig_om_node *n) {
  ig_scope s = ig_scope_open(r->c);
  r->node = n;
  r->version = version_of(r, n->domain);
  r->in = r->out = NULL;
  r->nin = r->nout = 0;
  // A recorded node stays in memory, and nested function calls can expand to any size.
  if (r->capture ? ig_spend(r->c, IG_WORK_NODE) : ig_step(r->c)) {
    if (is_inferring(r))
      infer_node(r, n);
    else if (take_inputs(r, n))
      eval_node(r, n);
  }
  note(r, n);
  tell_watcher(r, n);
  bool ok = finish_node(r, n);
  ig_scope_close(r->c, s);
  return ok;
}

// ---- graphs

static void set_slot(ig_rd_frame *f, uint32_t slot, ig_rd_value *v) {
  if (!f->slots[slot]) f->slots[slot] = ig_rd_retain(v);
}

static bool load_inits(ig_rd *r, ig_rd_frame *f) {
  const ig_om_graph *g = f->g;
  for (size_t i = 0; i < g->ninits && ig_rd_ok(r); i++) {
    if (f->slots[g->init_slots[i]]) continue;
    ig_scope s = ig_scope_open(r->c);
    bool made = r->weights && g == r->m->graph;
    set_slot(f, g->init_slots[i], made ? r->weights[i] : ig_rd_of_data(r, g->inits[i]));
    ig_scope_close(r->c, s);
  }
  for (size_t i = 0; i < g->nsparse && ig_rd_ok(r); i++) {
    if (f->slots[g->sparse_slots[i]]) continue;
    ig_scope s = ig_scope_open(r->c);
    set_slot(f, g->sparse_slots[i], ig_rd_of_sparse(r, g->sparse[i]));
    ig_scope_close(r->c, s);
  }
  return ig_rd_ok(r);
}

static bool take_outputs(ig_rd *r, const ig_rd_frame *f, ig_rd_value **outs) {
  for (size_t i = 0; i < f->g->noutputs; i++) {
    const ig_rd_frame *at = f;
    for (int up = 0; at && up < f->g->output_refs[i].up; up++) at = at->up;
    ig_rd_value *v = at ? at->slots[f->g->output_refs[i].slot] : NULL;
    outs[i] = ig_rd_keep(r, v);
    if (!v && !is_inferring(r)) {
      ig_rd_fail(r, IG_INVALID, "output '%s' was not given", f->g->outputs[i].name);
    }
  }
  return ig_rd_ok(r);
}

bool ig_rd_open_frame(ig_rd *r, ig_rd_frame *f, ig_rd_value *const *in, size_t n) {
  const ig_om_graph *g = f->g;
  if (!ig_rd_ok(r)) return false;
  if (n > g->ninputs || r->calls >= MAX_CALLS) {
    ig_rd_fail(r, IG_SYNTAX, "graph '%s': found %zu inputs, expected %zu", g->name, n, g->ninputs);
    return false;
  }
  f->slots = ig_mem_array(r->c->alloc, g->nslots, sizeof *f->slots);
  if (!f->slots) return ig_fail(r->c, IG_NOMEM, "out of memory") == IG_OK;
  r->frame = f;
  r->calls++;
  for (size_t i = 0; i < n; i++) set_slot(f, g->input_slots[i], in[i]);
  return load_inits(r, f);
}

void ig_rd_close_frame(ig_rd *r, ig_rd_frame *f, ig_rd_frame *before) {
  const ig_om_graph *g = f->g;
  if (!f->slots) return;  // not opened
  r->calls--;
  r->frame = before;
  for (size_t i = 0; i < g->nslots; i++) ig_rd_release(f->slots[i]);
  ig_mem_array_free(r->c->alloc, f->slots, g->nslots, sizeof *f->slots);
  f->slots = NULL;
}

static bool run_frame(ig_rd *r, ig_rd_frame *f, ig_rd_value *const *in, size_t n,
                      ig_rd_value **outs) {
  ig_rd_frame *before = r->frame;
  bool ok = ig_rd_open_frame(r, f, in, n);
  for (size_t i = 0; i < f->g->nnodes && ok; i++) ok = ig_rd_node(r, &f->g->nodes[i]);
  r->node = NULL;
  if (ok) ok = take_outputs(r, f, outs);
  ig_rd_close_frame(r, f, before);
  return ok;
}

bool ig_rd_graph(ig_rd *r, const ig_om_graph *g, ig_rd_value *const *in, size_t n,
                 ig_rd_value **outs) {
  ig_rd_frame f = {.g = g,
                   .up = r->frame,
                   .opsets = r->frame ? r->frame->opsets : r->m->opsets,
                   .nopsets = r->frame ? r->frame->nopsets : r->m->nopsets};
  node_state s = save(r);
  bool ok = run_frame(r, &f, in, n, outs);
  restore(r, &s);
  return ok;
}
