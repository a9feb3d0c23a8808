// SPDX-License-Identifier: Apache-2.0
// Opening and closing a capture, placeholders and size symbols.
#include <stdio.h>
#include <string.h>

#include "capture/dims.h"
#include "ir/program.h"
#include "op/draft.h"
#include "op/record.h"
#include "sym/env.h"

ig_status ig_capture_begin(ig_ctx *c) {
  return ig_capture_begin_in(c, c->mode->ambient);
}

ig_status ig_capture_begin_in(ig_ctx *c, ig_sym *sym) {
  if (c->status != IG_OK) return c->status;
  if (c->mode->capture) return ig_fail(c, IG_RUNTIME, "a capture is already open");
  if (sym) {
    ig_ref_retain(&sym->ref);
  } else {
    sym = ig_sym_create(c);
  }
  if (!sym) return c->status;
  ig_graph *g = ig_graph_create(c, sym);
  ig_ref_release(&sym->ref);  // the graph owns it now
  if (!g) return c->status;
  g->no_grad = c->mode->no_grad;
  ig_mode_change change = {IG_MODE_CAPTURE | IG_MODE_SYM, {.capture = g, .sym = sym}};
  g->scope = ig_mode_push(c, &change);
  if (!ig_draft_begin(c)) ig_capture_abort(c);
  return c->status;
}

bool ig_capture_is_open(const ig_ctx *c) {
  return c->mode->capture != NULL;
}

static bool is_open(ig_ctx *c) {
  if (c->status == IG_OK && !c->mode->capture) (void)ig_fail(c, IG_RUNTIME, "no capture is open");
  return c->status == IG_OK;
}

ig_int ig_capture_dim(ig_ctx *c, int64_t hint, int64_t lo, int64_t hi) {
  if (!is_open(c)) return ig_const(0);
  if (hint < lo || hint > hi) {
    (void)ig_fail(c, IG_INVALID, "example size %lld not in range [%lld, %lld]", (long long)hint,
                  (long long)lo, (long long)hi);
    return ig_const(0);
  }
  return ig_sym_backed(c, hint, lo, hi);
}

ig_int ig_capture_unbacked(ig_ctx *c) {
  return is_open(c) ? ig_sym_unbacked(c) : ig_const(0);
}

ig_tensor *ig_capture_input(ig_ctx *c, const char *name, ig_dtype dtype, const ig_int *sizes,
                            int ndim) {
  if (!is_open(c)) return NULL;
  if (ndim < 0 || ndim > IG_MAX_DIM) {
    (void)ig_fail(c, IG_RUNTIME, "input '%s': found %d dimensions, expected at most %d", name, ndim,
                  IG_MAX_DIM);
    return NULL;
  }
  ig_meta m;
  ig_meta_init(&m, dtype, ig_device_cpu());
  m.ndim = ndim;
  for (int d = 0; d < ndim; d++) m.size[d] = sizes[d];
  ig_meta_contiguous(c, &m);
  ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name};
  return ig_record_placeholder(c, &p, &m);
}

ig_tensor *ig_capture_input_like(ig_ctx *c, const char *name, ig_tensor *example) {
  if (!is_open(c) || !example || !ig_capture_admits(c, name, example)) return NULL;
  ig_meta m;
  ig_meta_of(example, &m);
  ig_placeholder p = {
      .role = IG_INPUT_USER, .name = name, .path = name, .requires_grad = example->requires_grad};
  ig_tensor *out = ig_record_placeholder(c, &p, &m);
  ig_draft_know(c, out, example);
  return out;
}

void ig_capture_input_value(ig_ctx *c, const char *name, const ig_value *value) {
  if (!is_open(c)) return;
  if (value->kind == IG_KIND_TENSOR) {
    (void)ig_capture_input_like(c, name, value->tensor);
    return;
  }
  ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name};
  ig_record_placeholder_value(c, &p, value);
}

static bool remember(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value,
                     bool unread) {
  ig_graph *g = c->mode->capture;
  ig_state s = {kind, ig_graph_keep_text(c, g, name), value, unread};
  if (!s.name) return false;
  if (!ig_vec_push(g->alloc, &g->state, s)) {
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  (void)ig_tensor_retain(value);
  return true;
}

static ig_tensor *push_state(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value) {
  static const char *const prefixes[] = {"p_", "b_", "b_", "c_"};
  static const ig_input_kind roles[] = {IG_INPUT_PARAMETER, IG_INPUT_BUFFER, IG_INPUT_BUFFER,
                                        IG_INPUT_CONSTANT};
  char text[256];
  ig_meta m;
  ig_meta_of(value, &m);
  ig_placeholder p = {.role = roles[kind],
                      .persistent = kind == IG_STATE_BUFFER,
                      .name = ig_name_of_path(prefixes[kind], name, text, sizeof text),
                      .path = name,
                      .value = value,
                      .requires_grad = value->requires_grad};
  return ig_record_placeholder(c, &p, &m);
}

ig_tensor *ig_capture_state(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value) {
  if (!is_open(c) || !value || !remember(c, kind, name, value, false)) return NULL;
  const ig_table_slot *known = ig_table_find(&c->mode->capture->tensors, value);
  return known ? known->value : push_state(c, kind, name, value);
}

ig_tensor *ig_capture_alias(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value) {
  if (!is_open(c) || !value || !remember(c, kind, name, value, false)) return NULL;
  return push_state(c, kind, name, value);
}

ig_tensor *ig_capture_again(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value) {
  return is_open(c) && value ? push_state(c, kind, name, value) : NULL;
}

static ig_state *by_names(ig_ctx *c, const ig_map *at, const char *const *names, size_t n) {
  const ig_graph *g = c->mode->capture;
  ig_state *sorted = ig_scope_array(c, g->state.n, sizeof *sorted);
  bool *taken = ig_scope_array(c, g->state.n, sizeof *taken);
  size_t count = 0;
  if (!sorted || !taken) return NULL;
  memset(taken, 0, g->state.n * sizeof *taken);
  for (size_t i = 0; i < n; i++) {
    const ig_map_value *v = ig_map_find(at, names[i]);
    if (!v || taken[v->num]) continue;
    taken[v->num] = true;
    sorted[count++] = g->state.at[v->num];
  }
  for (size_t i = 0; i < g->state.n; i++) {
    if (!taken[i]) sorted[count++] = g->state.at[i];
  }
  return sorted;
}

void ig_capture_order_state(ig_ctx *c, const char *const *names, size_t n) {
  if (!is_open(c) || c->mode->capture->state.n == 0) return;
  ig_graph *g = c->mode->capture;
  ig_scope s = ig_scope_open(c);
  ig_map at = ig_map_make(c->alloc);
  bool ok = true;
  for (size_t i = 0; ok && i < g->state.n; i++) {
    ig_map_value *v = ig_map_put(&at, g->state.at[i].name);
    ok = v != NULL;
    if (ok) v->num = i;
  }
  const ig_state *sorted = ok ? by_names(c, &at, names, n) : NULL;
  if (sorted) memcpy(g->state.at, sorted, g->state.n * sizeof *sorted);
  if (!sorted) (void)ig_fail(c, IG_NOMEM, "out of memory");
  ig_map_free(&at);
  ig_scope_close(c, s);
}

// The placeholders of the state by their tensors, which refer to later nodes once they are
// modified.
static bool list_state(ig_ctx *c, ig_table *at) {
  for (ig_node *n = c->mode->capture->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n) || n->role == IG_INPUT_USER) continue;
    ig_table_slot *slot = ig_table_put(at, n->val.tensor);
    if (!slot) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    slot->value = n;
  }
  return true;
}

static ig_node *placeholder_of(const ig_table *at, const ig_tensor *t) {
  const ig_table_slot *slot = t ? ig_table_find(at, t) : NULL;
  return slot ? slot->value : NULL;
}

// Users of a tensor that has several placeholders use the last of them.
static bool read_last(ig_ctx *c, const ig_table *at, ig_tensor *const *state, const size_t *groups,
                      size_t n) {
  ig_map last = ig_map_make(c->alloc);  // by the number of the group
  ig_arena keys = ig_arena_make(c->alloc);
  bool ok = true;
  for (size_t i = n; ok && i-- > 0;) {
    ig_node *p = placeholder_of(at, state[i]);
    char key[24];
    const char *kept = NULL;
    (void)snprintf(key, sizeof key, "%zx", groups[i]);
    ig_map_value *slot = p ? ig_map_keep(&last, &keys, key, &kept) : NULL;
    ok = slot || !p || ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    if (slot && !slot->ptr) slot->ptr = p;
    if (slot && slot->ptr != p) ok = ig_graph_replace(c, c->mode->capture, p, slot->ptr);
  }
  ig_map_free(&last);
  ig_arena_free(&keys);
  return ok;
}

static void arrange(ig_graph *g, const ig_table *at, ig_tensor *const *state, size_t n) {
  ig_node *rest = g->first;
  for (size_t i = 0; i < n; i++) {
    ig_node *p = placeholder_of(at, state[i]);
    if (!p || p->arranged) continue;
    p->arranged = true;
    p->meta = (ig_metadata){.modules = NULL};
    if (p == rest) {
      rest = rest->next;
    } else {
      ig_graph_move(g, p, rest);
    }
  }
  for (ig_node *p = rest, *next = NULL; p && ig_node_is_placeholder(p); p = next) {
    next = p->next;
    if (p->role != IG_INPUT_USER && !p->first_use && !p->arranged) ig_graph_erase(g, p);
  }
}

void ig_capture_arrange_state(ig_ctx *c, ig_tensor *const *state, const size_t *groups, size_t n) {
  if (!is_open(c)) return;
  ig_table at = ig_table_make(c->alloc);
  if (list_state(c, &at) && (!groups || read_last(c, &at, state, groups, n))) {
    arrange(c->mode->capture, &at, state, n);
  }
  ig_table_free(&at);
}

void ig_capture_name(ig_ctx *c, ig_state_kind kind, const char *name, ig_tensor *value) {
  if (!is_open(c) || !value) return;
  (void)remember(c, kind, name, value, kind == IG_STATE_CONSTANT);
}

void ig_capture_set_meta(ig_ctx *c, ig_meta_key key, const char *text) {
  if (!is_open(c)) return;
  c->mode->capture->meta.text[key] = text ? ig_graph_keep_text(c, c->mode->capture, text) : NULL;
}

void ig_capture_set_frames(ig_ctx *c, const ig_frame *frames, size_t n) {
  if (!is_open(c)) return;
  ig_frames all = {.at = frames, .n = n};
  c->mode->capture->meta.stack = frames ? ig_graph_keep_frames(c, c->mode->capture, &all) : NULL;
}

void ig_capture_set_modules(ig_ctx *c, const ig_module_level *levels, size_t n) {
  if (!is_open(c)) return;
  c->mode->capture->meta.modules =
      levels ? ig_graph_keep_levels(c, c->mode->capture, levels, n) : NULL;
}

// The frames belong to the tracer; the environment may outlive it.
static void forget_stacks(ig_env *env) {
  for (size_t i = 0; env && i < env->guards.n; i++) env->guards.at[i].stack = NULL;
  for (size_t i = 0; env && i < env->asserts.n; i++) env->asserts.at[i].stack = NULL;
}

static ig_graph *close_capture(ig_ctx *c) {
  ig_graph *g = c->mode->capture;
  forget_stacks(g->sym->env);
  ig_mode_pop(c, &g->scope);
  ig_draft_end(c);
  ig_graph_forget_history(g);
  return g;
}

void ig_capture_abort(ig_ctx *c) {
  bool inner = true;  // captures inside it end first
  while (inner && c->mode->capture) {
    inner = c->mode->capture->outer != NULL;
    ig_graph_free(close_capture(c));
  }
}

ig_status ig_capture_end(ig_ctx *c, const ig_value *outs, size_t n, ig_graph **out) {
  *out = NULL;
  if (!c->mode->capture) {
    return c->status != IG_OK ? c->status : ig_fail(c, IG_RUNTIME, "no capture is open");
  }
  if (c->status == IG_OK) (void)ig_record_output(c, outs, n);
  ig_graph *g = close_capture(c);
  if (c->status == IG_OK) {
    *out = g;
  } else {
    ig_graph_free(g);
  }
  return c->status;
}

// Writes come first among the outputs. Their targets are the names of what is written.
static ig_status end_with(ig_ctx *c, const ig_capture_write *writes, size_t nwrites,
                          const ig_value *outs, size_t n, ig_graph **g, ig_output_kind *kinds,
                          const char **targets) {
  ig_value *all = ig_scope_array(c, ig_mem_add(nwrites, n), sizeof *all);
  for (size_t i = 0; all && i < nwrites; i++) {
    const ig_tensor *fake = ig_record_fake(c, writes[i].state);
    if (!fake) break;
    kinds[i] = IG_OUTPUT_BUFFER_MUTATION;
    targets[i] = fake->node->path;
    all[i] = ig_of_tensor(writes[i].value);
  }
  for (size_t i = 0; all && i < n; i++) all[nwrites + i] = outs[i];
  return ig_capture_end(c, all, nwrites + n, g);
}

ig_status ig_capture_end_writes(ig_ctx *c, const ig_capture_write *writes, size_t nwrites,
                                const ig_value *outs, size_t n, ig_program **out) {
  ig_graph *g = NULL;
  *out = NULL;
  ig_output_kind *kinds = ig_scope_array(c, ig_mem_add(nwrites, n), sizeof *kinds);
  const char **targets = ig_scope_array(c, ig_mem_add(nwrites, n), sizeof *targets);
  if (!kinds || !targets) {
    ig_capture_abort(c);
    return c->status;
  }
  for (size_t i = 0; i < nwrites + n; i++) {
    kinds[i] = IG_OUTPUT_USER;
    targets[i] = NULL;
  }
  IG_RETURN_IF_ERR(end_with(c, writes, nwrites, outs, n, &g, kinds, targets));
  bool late = g->unnamed;
  // A program that is lowered next numbers its nodes there, also those that nobody reads. Its
  // constants become inputs afterwards, so that one that nobody reads is none.
  bool lowered = late && g->inference;
  if (!lowered) (void)ig_graph_dce(g);
  if ((!lowered && !ig_graph_lift_constants(c, g)) ||
      (!late && !ig_graph_rename_placeholders(c, g, NULL)) ||
      (!late && ig_graph_verify(c, g) != IG_OK)) {  // after it has its names
    ig_graph_free(g);
    return c->status;
  }
  *out = ig_program_create(c, g, kinds, targets);
  return c->status;
}

ig_status ig_capture_end_program(ig_ctx *c, const ig_value *outs, size_t n, ig_program **out) {
  ig_scope s = ig_scope_open(c);
  ig_status st = ig_capture_end_writes(c, NULL, 0, outs, n, out);
  ig_scope_close(c, s);
  return st;
}
