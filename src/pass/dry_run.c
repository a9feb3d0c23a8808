// SPDX-License-Identifier: Apache-2.0
// A program without its data: every node is called once with the sizes of the example, or the
// smallest that are allowed, and only the shape rules run. What a rule rejects here, a run rejects
// too: arguments out of range, mismatched dtypes and sizes, results too large for memory. Both
// branches of a condition are checked, and one iteration of a loop. Data-dependent checks are
// skipped.
#include "pass/pass.h"

#include "op/interpret.h"
#include "op/record.h"
#include "sym/env.h"
#include "tensor/geometry.h"

static bool example(void *user, const ig_expr *symbol, ig_hint *out) {
  ig_ctx *c = user;
  ig_vrange r = ig_symbol_range(c, symbol);
  ig_wide v = symbol->hinted ? symbol->value : 2;
  if (v < r.lo) v = r.lo;
  if (v > r.hi) v = r.hi;
  *out = (ig_hint){.sort = IG_SORT_INT, .i = v, .den = 1};
  return true;
}

// A number for a size; false: none.
static bool settle(ig_ctx *c, ig_int *size) {
  if (!size->expr) return true;
  ig_hint v;
  if (!ig_expr_eval(size->expr, example, c, &v) || v.sort != IG_SORT_INT) return false;
  if (v.i < INT64_MIN || v.i > INT64_MAX) return false;
  *size = ig_const((int64_t)v.i);
  return true;
}

static bool settle_meta(ig_ctx *c, ig_meta *m) {
  bool ok = settle(c, &m->offset);
  for (int d = 0; ok && d < m->ndim; d++) ok = settle(c, &m->size[d]) && settle(c, &m->stride[d]);
  return ok;
}

// False: nothing can be said about the program, or the context failed.
static bool place_input(ig_ctx *c, const ig_node *p, ig_value *out) {
  ig_placeholder spec = {p->role, p->persistent, p->name, p->path, p->constant, false, p->late};
  *out = p->val;
  if (p->val.kind != IG_KIND_TENSOR) {
    if (p->val.kind == IG_KIND_INT && !settle(c, &out->i)) return false;
    if ((p->val.kind == IG_KIND_FLOAT && p->val.f_expr) ||
        (p->val.kind == IG_KIND_BOOL && p->val.b_expr)) {
      return false;
    }
    ig_record_placeholder_value(c, &spec, out);
    return c->status == IG_OK;
  }
  ig_meta m;
  ig_meta_of(p->constant ? p->constant : p->val.tensor, &m);
  if (!settle_meta(c, &m)) return false;
  out->tensor = ig_record_placeholder(c, &spec, &m);
  return out->tensor != NULL;
}

// Fake tensors may be of any size; a run would make real ones of them.
static bool check_value(ig_ctx *c, const ig_node *n, const ig_value *v) {
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (!check_value(c, n, &v->list.at[i])) return false;
  }
  if (v->kind != IG_KIND_TENSOR || ig_tensor_is_symbolic(v->tensor)) return true;
  ig_meta m;
  int64_t need = 0;
  ig_meta_of(v->tensor, &m);
  if (ig_geometry_admit(c, &m, NULL, false, &need)) return true;
  ig_note(c, "in %s (%s)", n->name, n->target ? n->target : "a value");
  return false;
}

// A run has the processor's memory only.
static bool check_devices(ig_ctx *c, const ig_node *n) {
  for (size_t i = 0; n->kind == IG_NODE_CALL && i < n->npos + n->nkw; i++) {
    const ig_value *v = &n->args[i];
    if (v->kind != IG_KIND_DEVICE) continue;
    if (v->device.type == IG_DEVICE_CPU || v->device.type == IG_DEVICE_META) continue;
    ig_device_refuse(c, v->device);
    ig_note(c, "in %s (%s)", n->name, n->target ? n->target : "a value");
    return false;
  }
  return true;
}

static void call_nodes(ig_ctx *c, const ig_graph *g) {
  size_t n = ig_graph_input_count(g);
  size_t k = 0;
  ig_value *inputs = ig_scope_array(c, n, sizeof *inputs);
  ig_value *outs = ig_scope_array(c, ig_graph_output_count(g), sizeof *outs);
  if (!inputs || !outs) return;
  for (const ig_node *p = g->first; p && k < n; p = p->next) {
    if (ig_node_is_placeholder(p) && !place_input(c, p, &inputs[k++])) return;
  }
  if (ig_interpret(c, g, inputs, outs) != IG_OK) return;
  for (const ig_node *p = c->mode->capture->first; p; p = p->next) {
    if (!check_devices(c, p) || !check_value(c, p, &p->val)) return;
  }
}

ig_status ig_program_dry_run(ig_ctx *c, const ig_program *p) {
  IG_RETURN_IF_ERR(c->status);
  IG_RETURN_IF_ERR(ig_capture_begin_in(c, NULL));
  ig_scope s = ig_scope_open(c);
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  call_nodes(c, p->graph);
  ig_mode_pop(c, &mode);
  ig_scope_close(c, s);
  ig_capture_abort(c);
  return c->status;
}
