// SPDX-License-Identifier: Apache-2.0
#include "op/autocast.h"

#include <string.h>

#include "ingot/aten.h"
#include "ingot/autocast.h"
#include "op/record.h"

static ig_autocast_policy policy_of(const ig_op *op, bool cpu) {
  ig_autocast_policy p = op->form == IG_FORM_PLAIN ? op->def->autocast : IG_AUTOCAST_NONE;
  if (p == IG_AUTOCAST_F32_DEVICE) return cpu ? IG_AUTOCAST_NONE : IG_AUTOCAST_F32;
  return p;
}

// Is t a tensor that a region casts?
static bool is_open(const ig_ctx *c, const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) return false;
  const ig_tensor *t = v->tensor;
  bool on = c->mode->autocast.at[t->device.type == IG_DEVICE_CPU ? 0 : 1].on;
  return on && ig_dtype_is_float(t->dtype) && t->dtype != IG_F64;
}

static bool first_open(const ig_ctx *c, const ig_value *v, const ig_tensor **found) {
  if (is_open(c, v)) *found = v->tensor;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n && !*found; i++) {
    (void)first_open(c, &v->list.at[i], found);
  }
  return *found != NULL;
}

static void widen(const ig_ctx *c, const ig_value *v, ig_dtype *widest) {
  if (is_open(c, v) && v->tensor->dtype == IG_F32) *widest = IG_F32;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    widen(c, &v->list.at[i], widest);
  }
}

static ig_value cast(ig_ctx *c, const ig_value *v, ig_dtype to) {
  if (is_open(c, v) && v->tensor->dtype != to) {
    return ig_of_tensor(ig_to_dtype(c, v->tensor, ig_of_dtype(to)));
  }
  const ig_tensor *any = NULL;
  if (v->kind != IG_KIND_LIST || !first_open(c, v, &any)) return *v;
  ig_value out = *v;
  ig_value *items = ig_scope_array(c, v->list.n, sizeof *items);
  for (size_t i = 0; items && i < v->list.n; i++) items[i] = cast(c, &v->list.at[i], to);
  out.list.at = items;
  return items ? out : ig_none();
}

const ig_value *ig_autocast_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room) {
  const ig_tensor *first = NULL;
  for (size_t i = 0; i < op->schema.nargs && !first; i++) (void)first_open(c, &args[i], &first);
  if (!first) return args;
  bool cpu = first->device.type == IG_DEVICE_CPU;
  ig_autocast_policy p = policy_of(op, cpu);
  if (p == IG_AUTOCAST_NONE) return args;
  ig_dtype to = p == IG_AUTOCAST_F32     ? IG_F32
                : p == IG_AUTOCAST_LOWER ? (ig_dtype)c->mode->autocast.at[!cpu].dtype
                                         : first->dtype;
  bool widest = p == IG_AUTOCAST_WIDEST;
  for (size_t i = 0; i < op->schema.nargs && widest; i++) widen(c, &args[i], &to);
  for (size_t i = op->schema.nargs; i-- > 0;) room[i] = cast(c, &args[i], to);  // as PyTorch does
  return c->status == IG_OK ? room : NULL;
}

// ---- the regions ----

void ig_autocast_set(ig_ctx *c, ig_device_type device, ig_autocast state) {
  size_t at = device != IG_DEVICE_CPU;
  ig_mode_change change = {IG_MODE_AUTOCAST | IG_MODE_AUTOCASTS, {.autocast = c->mode->autocast}};
  change.to.autocast.at[at].on = state.on;
  change.to.autocast.at[at].dtype = (int)state.dtype;
  change.to.autocasts = change.to.autocast.at[0].on || change.to.autocast.at[1].on;
  ig_mode_set(c, &change);
}

ig_autocast ig_autocast_get(const ig_ctx *c, ig_device_type device) {
  size_t at = device != IG_DEVICE_CPU;
  int dtype = c->mode->autocast.at[at].dtype;
  if (dtype < 0) dtype = at ? IG_F16 : IG_BF16;
  return (ig_autocast){c->mode->autocast.at[at].on, (ig_dtype)dtype};
}

// ---- regions as nodes ----

static const char enter[] = "torch.amp.autocast_mode._enter_autocast";
static const char leave[] = "torch.amp.autocast_mode._exit_autocast";

static ig_node *push_switch(ig_ctx *c, const char *target, const char *base, const ig_value *args,
                            size_t n, void *host_fn) {
  if (!c->mode->capture || !c->mode->capture->implied_casts || c->status != IG_OK) return NULL;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOST,
                   .target = target,
                   .host_fn = host_fn,
                   .effect = true,
                   .args = args,
                   .npos = n,
                   .val = ig_none()};
  return ig_record_node(c, &proto, base);
}

void ig_record_autocast(ig_ctx *c, const char *device, ig_dtype dtype, bool enabled,
                        void *host_fn) {
  ig_value args[] = {ig_of_str(device), ig_of_dtype(dtype), ig_of_bool(enabled), ig_none()};
  (void)push_switch(c, enter, "_enter_autocast", args, 4, host_fn);
}

ig_autocast_switch ig_node_autocast(const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_HOST) return IG_SWITCH_NONE;
  if (strcmp(n->target, enter) == 0 && n->npos == 4) return IG_SWITCH_ENTER;
  return strcmp(n->target, leave) == 0 && n->npos == 1 ? IG_SWITCH_EXIT : IG_SWITCH_NONE;
}

void ig_record_autocast_end(ig_ctx *c, void *host_fn) {
  size_t closed = 0;
  ig_node *n = c->mode->capture && c->mode->capture->implied_casts ? c->mode->capture->last : NULL;
  for (; n; n = n->prev) {
    ig_autocast_switch way = ig_node_autocast(n);
    if (way == IG_SWITCH_ENTER && closed == 0) break;
    closed += way == IG_SWITCH_EXIT;
    closed -= way == IG_SWITCH_ENTER;
  }
  if (!n) return;
  ig_value arg = ig_of_node(n);
  (void)push_switch(c, leave, "_exit_autocast", &arg, 1, host_fn);
}

static ig_device_type device_of(const ig_value *v) {
  return v->kind == IG_KIND_STR && strcmp(v->str, "cpu") == 0 ? IG_DEVICE_CPU : IG_DEVICE_CUDA;
}

ig_value ig_autocast_step(ig_ctx *c, const ig_node *n, const ig_value *before) {
  bool begins = ig_node_autocast(n) == IG_SWITCH_ENTER;
  const ig_node *first = begins ? n : n->args[0].kind == IG_KIND_NODE ? n->args[0].node : NULL;
  if (!first || first->npos != 4 || first->args[1].kind != IG_KIND_DTYPE) return ig_none();
  ig_device_type device = device_of(&first->args[0]);
  ig_autocast now = ig_autocast_get(c, device);
  if (begins) {
    ig_record_autocast(c, first->args[0].str, first->args[1].dtype, first->args[2].b, n->host_fn);
    ig_autocast_set(c, device, (ig_autocast){first->args[2].b, first->args[1].dtype});
    return ig_of_i64(2 * (int64_t)now.dtype + now.on);
  }
  ig_record_autocast_end(c, n->host_fn);
  if (before && before->kind == IG_KIND_INT) {
    ig_autocast_set(c, device,
                    (ig_autocast){before->i.value % 2 != 0, (ig_dtype)(before->i.value / 2)});
  }
  return ig_none();
}
