// SPDX-License-Identifier: Apache-2.0
// Nodes of the export schema -> nodes. Arguments are matched to the operator's current schema by
// name: those missing in an older file have their default. A call with several results has no
// getitem nodes in the file, only names for them.
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "ingot/hop.h"
#include "op/call.h"
#include "op/grad_mode.h"
#include "op/op.h"
#include "op/record.h"
#include "pt2/reader.h"
#include "sym/env.h"

// ---- callees

static const char ops_prefix[] = "torch.ops.";

static const char *after(const char *text, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static const ig_hop *find_hop(const char *target) {
  const char *dot = strrchr(target, '.');
  return dot ? ig_hop_find(dot + 1) : NULL;
}

// Other spellings of the names in ir/sym_names.c, with the defining module.
static bool find_sym(const char *target, const char **spelling, ig_expr_kind *kind) {
  static const char *const others[][2] = {
      {"builtins.round", "round"},
      {"torch.sym_sqrt", "torch._sym_sqrt"},
      {"torch.fx.experimental.symbolic_shapes.sym_sqrt", "torch._sym_sqrt"},
      {"torch.sym_int", "math.trunc"}};
  *spelling = target;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(others[i][0], target) == 0) *spelling = others[i][1];
  }
  return ig_sym_find(*spelling, kind);
}

static ig_status find_callee(ig_pt2_reader *r, const ig_json *node, ig_node *proto) {
  const char *target = ig_pt2_get_text(&r->in, node, "target");
  if (!target) return ig_ctx_status(r->c);
  const char *op = after(target, ops_prefix);
  bool higher =
      after(target, "torch.ops.higher_order.") || after(target, "torch._higher_order_ops");
  proto->kind = IG_NODE_CALL;
  if (higher) {
    proto->callee = IG_CALLEE_HOP;
    proto->hop = find_hop(target);
    proto->target = proto->hop ? proto->hop->path : NULL;
    proto->effect = proto->hop && proto->hop->effect;
  } else if (op) {
    proto->op = ig_op_find(r->c, op);
    proto->target = proto->op ? proto->op->target : NULL;
    proto->effect = proto->op && ig_op_has_effect(proto->op);
    if (proto->op && proto->op->number == IG_ID_SYM_SIZE_INT) {
      proto->callee = IG_CALLEE_SIZE;
      proto->op = NULL;
    }
  } else if (strcmp(target, ig_grad_mode_target) == 0) {
    proto->callee = IG_CALLEE_HOST;  // which the interpreter knows
    proto->target = ig_grad_mode_target;
    proto->effect = true;
  } else if (find_sym(target, &proto->target, &proto->arith)) {
    proto->callee = IG_CALLEE_SYM;
    proto->target = ig_sym_target(proto->arith);
  } else {
    proto->target = NULL;
  }
  if (proto->target) return ig_ctx_status(r->c);
  return ig_pt2_fail(&r->in, node, IG_UNSUPPORTED,
                     higher ? "higher-order operator '%.150s' is not known"
                     : op   ? "operator '%.150s' is not known: a custom operator must be "
                              "registered before the program is loaded"
                            : "function '%.150s' is not known",
                     op ? op : target);
}

// ---- arguments

typedef struct arguments {
  ig_value *values;
  const char **keys;
  size_t npos;
  size_t nkw;
} arguments;

static ig_status make_room(ig_pt2_reader *r, size_t n, arguments *a) {
  a->values = ig_arena_array(r->source->arena, n + 1, sizeof *a->values);
  a->keys = ig_arena_array(r->source->arena, n + 1, sizeof *a->keys);
  return a->values && a->keys ? IG_OK : ig_pt2_no_memory(r);
}

// The value of an argument for checking: nodes are replaced by their values.
static ig_value look_through(ig_pt2_reader *r, const ig_value *v) {
  if (v->kind == IG_KIND_NODE) return v->node->val;
  if (v->kind != IG_KIND_LIST) return *v;
  ig_value *items = ig_arena_array(r->source->arena, v->list.n, sizeof *items);
  ig_value out = *v;
  if (!items) {
    (void)ig_pt2_no_memory(r);
    return ig_none();
  }
  for (size_t i = 0; i < v->list.n; i++) items[i] = look_through(r, &v->list.at[i]);
  out.list.at = items;
  return out;
}

static bool is_object(const ig_value *v) {
  return v->kind == IG_KIND_NODE && v->node->role == IG_INPUT_OBJECT;
}

// Accepts an integer for a float, and a single number for a list of equal ones.
static void adapt(ig_pt2_reader *r, const ig_arg *a, ig_value *v) {
  bool plain = (v->kind == IG_KIND_INT && !v->i.expr) || v->kind == IG_KIND_BOOL;
  if (plain && a->type == IG_TYPE_FLOAT && !a->list) {
    *v = ig_of_f64(v->kind == IG_KIND_INT ? (double)v->i.value : (double)v->b);
  } else if (a->list && a->fixed > 0 && (v->kind == IG_KIND_INT || v->kind == IG_KIND_NODE)) {
    ig_value *items = ig_arena_array(r->source->arena, (size_t)a->fixed, sizeof *items);
    if (!items) (void)ig_pt2_no_memory(r);
    for (int i = 0; items && i < a->fixed; i++) items[i] = *v;
    if (items) *v = ig_of_list(items, (size_t)a->fixed);
  }
}

static ig_status check_argument(ig_pt2_reader *r, const ig_op *op, size_t i, const ig_json *at,
                                ig_value *v) {
  const ig_arg *a = &op->schema.args[i];
  if (is_object(v)) return ig_ctx_status(r->c);
  ig_value seen = look_through(r, v);
  if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
  // None for a tensor that an earlier call did not return.
  bool absent = v->kind == IG_KIND_NODE && seen.kind == IG_KIND_NONE;
  if (!absent && !ig_op_fits(op, i, &seen)) {
    return ig_pt2_fail(&r->in, at, IG_SYNTAX, "argument '%s' of %s: the value does not fit: %s",
                       a->name, op->target, op->schema.text);
  }
  adapt(r, a, v);
  return ig_ctx_status(r->c);
}

static size_t find_argument(const ig_schema *s, const char *name) {
  size_t i = 0;
  while (i < s->nargs && strcmp(s->args[i].name, name) != 0) i++;
  return i;
}

// The value of each schema argument in the file.
typedef struct slots {
  ig_value value[IG_MAX_ARGS];
  bool given[IG_MAX_ARGS];
  bool keyword[IG_MAX_ARGS];
} slots;

static bool is_keyword(const ig_json *input) {
  const ig_json *kind = ig_json_find(input, "kind");
  return kind && kind->kind == IG_JSON_INT && kind->i == 2;
}

// Arguments that newer schemas added and that have no effect here: layout and device.
static bool is_idle(const ig_op *op, const char *name) {
  if (op->def->check != IG_CHECK_METADATA) return false;
  return strcmp(name, "device") == 0 || strcmp(name, "layout") == 0;
}

static ig_status fill_slots(ig_pt2_reader *r, const ig_op *op, const ig_json *inputs, slots *s) {
  const ig_schema *schema = &op->schema;
  for (size_t k = 0; k < inputs->n; k++) {
    const ig_json *input = &inputs->items[k];
    const char *name = ig_pt2_get_text(&r->in, input, "name");
    ig_value v = ig_pt2_get_argument(&r->in, ig_pt2_get(&r->in, input, "arg", IG_JSON_OBJECT));
    if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
    size_t i = find_argument(schema, name);
    if (i == schema->nargs) {
      if (v.kind == IG_KIND_NONE || is_idle(op, name)) continue;
      return ig_pt2_fail(&r->in, input, IG_UNSUPPORTED, "%s has no argument '%.50s': %s",
                         op->target, name, schema->text);
    }
    if (s->given[i]) {
      return ig_pt2_fail(&r->in, input, IG_SYNTAX, "argument '%.50s' is given twice", name);
    }
    IG_RETURN_IF_ERR(check_argument(r, op, i, input, &v));
    s->value[i] = v;
    s->given[i] = true;
    s->keyword[i] = is_keyword(input);
  }
  return IG_OK;
}

// In the order of the schema: positional as far as possible, the others by name.
static ig_status read_op_arguments(ig_pt2_reader *r, const ig_op *op, const ig_json *node,
                                   arguments *out) {
  const ig_json *inputs = ig_pt2_get(&r->in, node, "inputs", IG_JSON_ARRAY);
  slots s = {.given = {0}};
  if (!inputs || !op) return ig_ctx_status(r->c);
  const ig_schema *schema = &op->schema;
  IG_RETURN_IF_ERR(make_room(r, schema->nargs, out));
  IG_RETURN_IF_ERR(fill_slots(r, op, inputs, &s));
  for (size_t i = 0; i < schema->nargs; i++) {
    const ig_arg *a = &schema->args[i];
    if (!s.given[i]) {
      if (a->has_default) continue;
      return ig_pt2_fail(&r->in, node, IG_SYNTAX, "%s: argument '%s' is missing: %s", op->target,
                         a->name, schema->text);
    }
    bool place = i == out->npos && i < schema->npos && !s.keyword[i] && !out->nkw;
    out->values[out->npos + out->nkw] = s.value[i];
    if (place) {
      out->npos++;
    } else {
      out->keys[out->nkw++] = a->name;
    }
  }
  return IG_OK;
}

// Higher-order operators have no schema: those with a name are keyword arguments.
static ig_status read_plain_arguments(ig_pt2_reader *r, const ig_node *proto, const ig_json *node,
                                      arguments *out) {
  const ig_json *inputs = ig_pt2_get(&r->in, node, "inputs", IG_JSON_ARRAY);
  if (!inputs) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(make_room(r, inputs->n, out));
  for (size_t i = 0; i < inputs->n; i++) {
    const ig_json *input = &inputs->items[i];
    const char *name = ig_pt2_get_text(&r->in, input, "name");
    out->values[i] = ig_pt2_get_argument(&r->in, ig_pt2_get(&r->in, input, "arg", IG_JSON_OBJECT));
    if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
    bool keyword = proto->callee == IG_CALLEE_HOP && name[0] &&
                   (is_keyword(input) || !ig_json_find(input, "kind"));
    if (keyword && out->nkw == IG_MAX_KEYS) {
      return ig_pt2_fail(&r->in, input, IG_SYNTAX, "more than %d arguments by name", IG_MAX_KEYS);
    }
    if (keyword) {
      out->keys[out->nkw++] = ig_graph_keep_text(r->c, r->scope->g, name);
    } else if (out->nkw) {
      return ig_pt2_fail(&r->in, input, IG_SYNTAX, "an argument by place after one by name");
    } else {
      out->npos++;
    }
  }
  return ig_ctx_status(r->c);
}

static bool is_number(const ig_value *v) {
  ig_kind k = v->kind == IG_KIND_NODE ? v->node->val.kind : v->kind;
  return k == IG_KIND_INT || k == IG_KIND_FLOAT || k == IG_KIND_BOOL;
}

static ig_status check_numbers(ig_pt2_reader *r, const ig_node *proto, const ig_json *node,
                               const arguments *a) {
  bool ok = a->npos >= 1 && a->npos <= 3 && a->nkw == 0;
  for (size_t i = 0; ok && proto->callee == IG_CALLEE_SYM && i < a->npos; i++) {
    ok = is_number(&a->values[i]);
  }
  if (proto->callee == IG_CALLEE_HOST) ok = ok && a->npos == 1 && a->values[0].kind == IG_KIND_BOOL;
  if (proto->callee == IG_CALLEE_SIZE) {
    ok = a->npos == 2 && a->values[0].kind == IG_KIND_NODE &&
         a->values[0].node->val.kind == IG_KIND_TENSOR && a->values[1].kind == IG_KIND_INT;
  }
  return ok ? IG_OK
            : ig_pt2_fail(&r->in, node, IG_SYNTAX, "%s: the arguments do not fit", proto->target);
}

// Lists of operands print as tuples where capture makes tuples.
static void set_sequences(const ig_node *proto, arguments *a) {
  for (size_t i = 0; proto->hop->tuples && i < a->npos; i++) {
    if (a->values[i].kind == IG_KIND_LIST) a->values[i].seq = IG_SEQ_TUPLE;
  }
}

// The nodes that read sub-graphs have their own names, if the file has them.
static ig_status name_readers(ig_pt2_reader *r, const ig_json *node, const arguments *a) {
  const ig_json *meta = ig_json_find(node, "metadata");
  const ig_json *names = meta ? ig_json_find(meta, IG_PT2_READER_NAMES) : NULL;
  const char *at = names && names->kind == IG_JSON_STRING ? names->text : "";
  for (size_t i = 0; *at && i < a->npos; i++) {
    ig_node *sub = a->values[i].kind == IG_KIND_NODE ? a->values[i].node : NULL;
    if (!sub || !sub->sub) continue;
    char name[256];
    size_t n = strcspn(at, ";");
    (void)snprintf(name, sizeof name, "%.*s", (int)(n < 250 ? n : 250), at);
    at += n + (at[n] != '\0');
    bool taken = ig_map_find(&r->scope->g->names, name) != NULL;
    if (taken || !ig_pt2_name_is_plain(name)) continue;
    if (!ig_graph_set_name(r->c, r->scope->g, sub, name)) return ig_ctx_status(r->c);
  }
  return IG_OK;
}

// Newer files omit dimensions and flags that have their defaults (a forward scan over dimension 0),
// and the last list if it is empty.
static ig_status complete(ig_pt2_reader *r, const ig_hop *hop, arguments *a) {
  size_t n = ig_hop_slot_count(hop);
  size_t unsaid = 0;
  for (size_t i = 0; i < n; i++) {
    unsaid += hop->slots[i] == IG_SLOT_DIM || hop->slots[i] == IG_SLOT_FLAG;
  }
  if (!unsaid || a->nkw || a->npos + unsaid > n || a->npos + unsaid + 1 < n) return IG_OK;
  arguments all = {0};
  IG_RETURN_IF_ERR(make_room(r, n, &all));
  for (size_t i = 0, k = 0; i < n; i++) {
    all.values[i] = hop->slots[i] == IG_SLOT_DIM    ? ig_of_i64(0)
                    : hop->slots[i] == IG_SLOT_FLAG ? ig_of_bool(false)
                    : k < a->npos                   ? a->values[k++]
                                                    : ig_of_list(NULL, 0);
  }
  all.npos = n;
  *a = all;
  return IG_OK;
}

// PyTorch 2.1 and 2.2 pass map a count and one list of values: the first ones are mapped over, the
// others are the same for every call.
static ig_status regroup(ig_pt2_reader *r, const ig_json *node, const ig_hop *hop, arguments *a) {
  bool lists = ig_hop_slot_count(hop) == 3 && hop->slots[0] == IG_SLOT_GRAPH &&
               hop->slots[1] == IG_SLOT_LIST && hop->slots[2] == IG_SLOT_LIST;
  if (!lists || a->nkw || a->npos < 2 || a->values[1].kind != IG_KIND_INT) return IG_OK;
  size_t given = a->npos - 2;
  ig_int count = a->values[1].i;
  if (count.expr || count.value < 1 || (uint64_t)count.value > given) {
    return ig_pt2_fail(&r->in, node, IG_SYNTAX,
                       "%s: found %lld values to map over, expected 1 to %zu", hop->path,
                       (long long)count.value, given);
  }
  arguments grouped = {0};
  IG_RETURN_IF_ERR(make_room(r, 3, &grouped));
  size_t n = (size_t)count.value;
  grouped.values[0] = a->values[0];
  grouped.values[1] = ig_of_list(a->values + 2, n);
  grouped.values[2] = ig_of_list(a->values + 2 + n, given - n);
  grouped.npos = 3;
  *a = grouped;
  return IG_OK;
}

static ig_status read_other_arguments(ig_pt2_reader *r, const ig_node *proto, const ig_json *node,
                                      arguments *a) {
  IG_RETURN_IF_ERR(read_plain_arguments(r, proto, node, a));
  if (proto->callee != IG_CALLEE_HOP) return check_numbers(r, proto, node, a);
  IG_RETURN_IF_ERR(regroup(r, node, proto->hop, a));
  IG_RETURN_IF_ERR(complete(r, proto->hop, a));
  set_sequences(proto, a);
  return name_readers(r, node, a);
}

static ig_status read_arguments(ig_pt2_reader *r, const ig_json *node, ig_node *proto) {
  arguments a = {0};
  IG_RETURN_IF_ERR(proto->callee == IG_CALLEE_OP ? read_op_arguments(r, proto->op, node, &a)
                                                 : read_other_arguments(r, proto, node, &a));
  proto->args = a.values;
  proto->npos = a.npos;
  proto->nkw = a.nkw;
  proto->keys = a.keys;
  return IG_OK;
}

// ---- metadata

// A text without zero bytes; NULL: none.
static const char *plain_text(const ig_json *v) {
  return v && v->kind == IG_JSON_STRING && !memchr(v->text, 0, v->n) ? v->text : NULL;
}

// Many nodes have the same text; it is parsed once.
static const ig_call_stack *read_frames(ig_pt2_reader *r, const char *text) {
  ig_map_value *known = ig_map_put(&r->frames, text);
  if (known && !known->ptr) {
    ig_frames *f = ig_arena_push(r->source->arena, sizeof *f);
    known->ptr = f && ig_frames_parse(r->source->arena, text, f) ? f : NULL;
  }
  if (!known || !known->ptr) {
    (void)ig_pt2_no_memory(r);
    return NULL;
  }
  return ig_graph_keep_frames(r->c, r->scope->g, known->ptr);
}

static void read_metadata(ig_pt2_reader *r, const ig_json *node, ig_node *proto) {
  const ig_json *meta = ig_json_find(node, "metadata");
  if (!meta) return;
  for (int i = 0; i < IG_META_KEY_COUNT; i++) {
    const ig_json *text = ig_json_find(meta, ig_pt2_meta_keys[i]);
    if (!text && i == IG_META_SOURCE_FN) text = ig_json_find(meta, "source_fn");  // 2.1
    const char *plain = plain_text(text);
    if (plain) proto->meta.text[i] = ig_graph_keep_text(r->c, r->scope->g, plain);
  }
  const char *frames = plain_text(ig_json_find(meta, IG_PT2_STACK_TRACE));
  if (frames) proto->meta.stack = read_frames(r, frames);
  const char *stack = plain_text(ig_json_find(meta, IG_PT2_MODULE_STACK));
  if (stack) proto->meta.modules = ig_pt2_read_stack(r, stack);
}

// ---- results

// The results of a call, as the file lists them.
typedef struct result {
  const char *name;  // NULL: a list, or nothing
  const ig_json *at;
  ig_value val;
  struct result *items;  // of a list
  size_t n;
} result;

static ig_status read_result(ig_pt2_reader *r, const ig_json *v, result *out);

static ig_status read_results(ig_pt2_reader *r, const ig_json *list, bool tensors, result *out) {
  out->at = list;
  out->n = list->n;
  out->items = ig_arena_array(r->source->arena, list->n + 1, sizeof *out->items);
  ig_value *vals = ig_arena_array(r->source->arena, list->n + 1, sizeof *vals);
  if (!out->items || !vals) return ig_pt2_no_memory(r);
  for (size_t i = 0; i < list->n; i++) {
    result *item = &out->items[i];
    *item = (result){.at = &list->items[i]};
    if (tensors) {
      item->name = ig_pt2_get_text(&r->in, item->at, "name");
      if (item->name) (void)ig_pt2_describe_tensor(r, item->at, item->name, &item->val);
    } else {
      (void)read_result(r, item->at, item);
    }
    if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
    vals[i] = item->val;
  }
  out->val = ig_of_list(vals, list->n);
  return IG_OK;
}

static ig_status read_result(ig_pt2_reader *r, const ig_json *v, result *out) {
  const ig_json_member *m = ig_pt2_union(&r->in, v);
  if (!m) return ig_ctx_status(r->c);
  *out = (result){.at = v};
  if (strcmp(m->key, "as_tensors") == 0) {
    if (m->value.kind != IG_JSON_ARRAY) {
      return ig_pt2_fail(&r->in, v, IG_SYNTAX, "expected an array of tensors");
    }
    return read_results(r, &m->value, true, out);
  }
  if (strcmp(m->key, "as_none") == 0) return IG_OK;
  if (strcmp(m->key, "as_optional_tensor") == 0) return read_result(r, &m->value, out);
  (void)ig_pt2_describe(r, v, &out->name, &out->val);
  if (ig_ctx_status(r->c) == IG_OK && !out->name) {
    return ig_pt2_fail(&r->in, v, IG_UNSUPPORTED, "results of kind '%.50s' are not supported",
                       m->key);
  }
  return ig_ctx_status(r->c);
}

// The getitem nodes of a call with several results.
static ig_status push_items(ig_pt2_reader *r, ig_node *call, const result *list) {
  for (size_t i = 0; i < list->n; i++) {
    const result *item = &list->items[i];
    if (!item->name && !item->items) continue;
    ig_value args[] = {ig_of_node(call), ig_of_i64((int64_t)i)};
    ig_node proto = {.kind = IG_NODE_CALL,
                     .callee = IG_CALLEE_GETITEM,
                     .target = "_operator.getitem",
                     .args = args,
                     .npos = 2,
                     .val = item->val};
    proto.meta = call->meta;
    ig_node *n = item->name ? ig_pt2_push(r, &proto, item->name)
                            : ig_graph_push(r->c, r->scope->g, &proto, "getitem");
    if (!n) return ig_ctx_status(r->c);
    if (item->name) IG_RETURN_IF_ERR(ig_pt2_define(r, item->at, item->name, n));
    if (item->items) IG_RETURN_IF_ERR(push_items(r, n, item));
  }
  return IG_OK;
}

static bool is_described(const ig_pt2_scope *s, const char *name) {
  const ig_json *const all[] = {s->tensors, s->ints, s->floats, s->bools, s->objects};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i] && ig_json_find(all[i], name)) return true;
  }
  return ig_map_find(&s->g->names, name) != NULL;
}

// The name of a call with named results: in the file since 8.17.
static const char *own_name(ig_pt2_reader *r, const ig_json *node, const ig_node *proto, char *text,
                            size_t cap) {
  const ig_json *given = ig_json_find(node, "name");
  char base[128];
  if (given && given->kind == IG_JSON_STRING && ig_pt2_name_is_plain(given->text) &&
      !is_described(r->scope, given->text)) {
    return given->text;
  }
  const char *stem = proto->hop  ? proto->hop->base
                     : proto->op ? ig_name_of_op(proto->op->schema.name, base, sizeof base)
                                 : ig_sym_base(proto->target);
  (void)snprintf(text, cap, "%s", stem);
  for (size_t i = 1; is_described(r->scope, text) || ig_name_is_reserved(text); i++) {
    (void)snprintf(text, cap, "%s_%zu", stem, i);
  }
  return text;
}

// Does the callee return what the file lists?
static bool agrees(const ig_node *proto, const result *all) {
  if (proto->callee == IG_CALLEE_HOP) return true;
  if (proto->callee == IG_CALLEE_HOST) return all->n == 0;
  if (proto->callee != IG_CALLEE_OP) return all->n == 1 && is_number(&all->items[0].val);
  const ig_schema *s = proto->op ? &proto->op->schema : NULL;
  if (!s) return false;
  if (s->nrets == 0) return all->n == 0 || (all->n == 1 && all->items[0].val.kind == IG_KIND_NONE);
  if (all->n != s->nrets) return false;
  for (size_t i = 0; i < s->nrets; i++) {
    const ig_value *v = &all->items[i].val;
    bool list = v->kind == IG_KIND_LIST;
    if (v->kind == IG_KIND_NONE) continue;
    if (list != s->rets[i].list) return false;
    if (!list && (v->kind == IG_KIND_TENSOR) != (s->rets[i].type == IG_TYPE_TENSOR)) return false;
  }
  return true;
}

// PyTorch 2.1 and 2.2 list only those results that are tensors.
static ig_status spread(ig_pt2_reader *r, const ig_op *op, result *all) {
  const ig_schema *s = &op->schema;
  size_t tensors = 0;
  for (size_t i = 0; i < s->nrets; i++) tensors += s->rets[i].type == IG_TYPE_TENSOR;
  if (r->in.major > 2 || all->n >= s->nrets || all->n != tensors) return IG_OK;
  result *items = ig_arena_array(r->source->arena, s->nrets, sizeof *items);
  ig_value *vals = ig_arena_array(r->source->arena, s->nrets, sizeof *vals);
  if (!items || !vals) return ig_pt2_no_memory(r);
  for (size_t i = 0, k = 0; i < s->nrets; i++) {
    items[i] = s->rets[i].type == IG_TYPE_TENSOR ? all->items[k++] : (result){.at = all->at};
    vals[i] = items[i].val;
  }
  all->items = items;
  all->n = s->nrets;
  all->val = ig_of_list(vals, s->nrets);
  return IG_OK;
}

// A higher-order operator returns a tuple unless the file says that it is a single tensor. Older
// files do not say so: there, a single result is a single tensor.
static bool gives_bare(const ig_node *proto) {
  size_t at = ig_hop_find_slot(proto->hop, IG_SLOT_GRAPH);
  const ig_node *sub =
      proto->npos > at && proto->args[at].kind == IG_KIND_NODE ? proto->args[at].node : NULL;
  return proto->hop->region && sub && sub->sub && sub->sub->last->bare;
}

static bool is_bare(const ig_json *node, const ig_node *proto, const result *all) {
  if (proto->callee == IG_CALLEE_OP) return proto->op->schema.nrets <= 1;
  if (proto->callee != IG_CALLEE_HOP) return true;
  const ig_json *single = ig_json_find(node, "is_hop_single_tensor_return");
  if (!single || single->kind != IG_JSON_BOOL) return all->n == 1 && gives_bare(proto);
  return all->n == 1 && single->b;
}

static ig_status take_results(ig_pt2_reader *r, const ig_json *node, ig_node *proto) {
  const ig_json *outputs = ig_pt2_get(&r->in, node, "outputs", IG_JSON_ARRAY);
  result all = {0};
  char text[160];
  if (!outputs) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(read_results(r, outputs, false, &all));
  if (proto->op) IG_RETURN_IF_ERR(spread(r, proto->op, &all));
  if (!agrees(proto, &all)) {
    return ig_pt2_fail(&r->in, outputs, IG_SYNTAX, "the results do not fit %s: %s", proto->target,
                       proto->op ? proto->op->schema.text : "one number");
  }
  bool bare = is_bare(node, proto, &all);
  bool listed = proto->callee == IG_CALLEE_HOP && all.n == 1 && all.items[0].items;
  const result *list = bare || listed ? (all.n ? &all.items[0] : NULL) : &all;
  proto->val = list ? list->val : ig_none();
  const char *name = list ? list->name : NULL;
  ig_node *n = ig_pt2_push(r, proto, name ? name : own_name(r, node, proto, text, sizeof text));
  if (!n) return ig_ctx_status(r->c);
  if (name) return ig_pt2_define(r, list->at, name, n);
  return list && list->items ? push_items(r, n, list) : IG_OK;
}

// ---- assertions about symbols

static void learn(ig_pt2_reader *r, const ig_node *proto) {
  ig_check check = proto->op ? proto->op->def->check : IG_CHECK_NONE;
  const ig_value *v =
      proto->npos && proto->args[0].kind == IG_KIND_NODE ? &proto->args[0].node->val : NULL;
  if (!v) return;
  if (v->kind == IG_KIND_BOOL && v->b_expr && check == IG_CHECK_SCALAR) ig_sym_believe(r->c, v);
  bool size = check == IG_CHECK_SIZE_RANGE;
  if (size && v->kind == IG_KIND_INT && v->i.expr && v->i.expr->kind == IG_EXPR_SYMBOL &&
      !v->i.expr->backed) {
    ig_symbol *s = ig_env_symbol(r->c, v->i.expr);
    if (s) s->size_like = true;
  }
}

static bool writes(const ig_op *op) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (op->schema.args[i].written) return true;
  }
  return false;
}

ig_status ig_pt2_read_node(ig_pt2_reader *r, const ig_json *node) {
  ig_node proto = {.callee = IG_CALLEE_OP};
  IG_RETURN_IF_ERR(find_callee(r, node, &proto));
  read_metadata(r, node, &proto);
  // Nodes that read sub-graphs are created with the arguments, and have the metadata of the call.
  r->scope->g->meta = proto.meta;
  IG_RETURN_IF_ERR(read_arguments(r, node, &proto));
  IG_RETURN_IF_ERR(take_results(r, node, &proto));
  learn(r, &proto);
  r->writes = r->writes || (proto.op && writes(proto.op));
  return ig_ctx_status(r->c);
}
