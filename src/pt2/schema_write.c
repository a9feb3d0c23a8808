// SPDX-License-Identifier: Apache-2.0
// Program -> JSON of the export schema 8.20: keys in the order in which PyTorch writes them, every
// field present. Nodes with several results have no getitem in the file: their outputs are listed
// under the names of those.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "ingot/dims.h"
#include "ingot/pass.h"
#include "ir/program.h"
#include "op/grad_mode.h"
#include "op/op.h"
#include "op/record.h"
#include "pt2/schema.h"
#include "pt2/values.h"

typedef struct writer {
  ig_ctx *c;
  const ig_program *p;
  const ig_graph *g;
  const ig_save_options *options;
  ig_pt2_layout layout;
  const ig_graph *condition;  // of a loop: it returns its single result unwrapped
  ig_json_writer *w;
  ig_pt2_out out;
  ig_arena arena;
  ig_table results;  // node with several results -> their names (const char **)
} writer;

// ---- names

static size_t result_count(const ig_node *n) {
  return n->val.kind == IG_KIND_LIST ? n->val.list.n : 0;
}

static bool is_getitem(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM;
}

// Of a getitem node: the slot for its name in its operand's list; NULL: it is not of that form.
static const char **slot_of(const writer *w, const ig_node *n) {
  if (n->npos < 2 || n->args[0].kind != IG_KIND_NODE || n->args[1].kind != IG_KIND_INT) return NULL;
  ig_table_slot *s = ig_table_find(&w->results, n->args[0].node);
  int64_t i = n->args[1].i.value;
  size_t count = result_count(n->args[0].node);
  if (i < 0) i += (int64_t)count;
  return s && i >= 0 && (size_t)i < count ? (const char **)s->value + i : NULL;
}

static bool name_results(writer *w, const ig_node *n) {
  size_t count = result_count(n);
  const char **names = ig_arena_array(&w->arena, count + 1, sizeof *names);
  ig_table_slot *s = names ? ig_table_put(&w->results, n) : NULL;
  if (!s) {
    (void)ig_fail(w->c, IG_NOMEM, "out of memory");
    return false;
  }
  s->value = names;
  return true;
}

static void name_unused(writer *w, const ig_node *n, const char **names) {
  for (size_t i = 0; i < result_count(n); i++) {
    if (names[i]) continue;
    char text[512];
    int len = snprintf(text, sizeof text, "%s_unused_%zu", n->name, i);
    names[i] =
        ig_arena_strn(&w->arena, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
    if (!names[i]) (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  }
}

static void name_all(writer *w, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind != IG_NODE_CALL || n->val.kind != IG_KIND_LIST) continue;
    if (!name_results(w, n)) return;
  }
  for (const ig_node *n = g->first; n; n = n->next) {
    const char **slot = is_getitem(n) ? slot_of(w, n) : NULL;
    if (slot && !*slot) *slot = n->name;
  }
  for (const ig_node *n = g->first; n; n = n->next) {
    ig_table_slot *s = n->kind == IG_NODE_CALL ? ig_table_find(&w->results, n) : NULL;
    if (s) name_unused(w, n, s->value);
  }
}

// Two getitem nodes of the same result have one name in the file.
static const char *name_of(void *user, const ig_node *n) {
  const char **slot = is_getitem(n) ? slot_of(user, n) : NULL;
  return slot ? *slot : n->name;
}

// ---- nodes

static void put_field(writer *w, const char *key, const char *text) {
  ig_json_key(w->w, key);
  ig_json_str(w->w, text);
}

static void put_input(writer *w, const char *name, const ig_value *v, const ig_arg *type,
                      int kind) {
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "name");
  ig_json_str(w->w, name);
  ig_json_key(w->w, "arg");
  ig_pt2_put_argument(&w->out, v, type);
  if (w->layout == IG_PT2_NEWEST) {
    ig_json_key(w->w, "kind");
    ig_json_int(w->w, kind);
  }
  ig_json_close(w->w, '}');
}

static const ig_arg *find_arg(const ig_schema *s, const char *name) {
  for (size_t i = 0; i < s->nargs; i++) {
    if (strcmp(s->args[i].name, name) == 0) return &s->args[i];
  }
  return NULL;
}

static bool has_default(const ig_node *n, size_t i) {
  const ig_value *v = &n->args[i];
  if (n->hop->slots[i] == IG_SLOT_DIM) return v->kind == IG_KIND_INT && v->i.value == 0;
  return n->hop->slots[i] != IG_SLOT_FLAG || (v->kind == IG_KIND_BOOL && !v->b);
}

// A forward scan over dimension 0 is the default: dimensions and flags are omitted if all have
// their defaults.
static bool is_said(const writer *w, const ig_node *n, size_t i) {
  bool slots = n->callee == IG_CALLEE_HOP && n->npos == ig_hop_slot_count(n->hop);
  if (!slots || w->layout != IG_PT2_NEWEST) return true;
  bool plain = true;
  for (size_t k = 0; k < n->npos; k++) plain = plain && has_default(n, k);
  return !plain || (n->hop->slots[i] != IG_SLOT_DIM && n->hop->slots[i] != IG_SLOT_FLAG);
}

static void put_inputs(writer *w, const ig_node *n) {
  static const char *const size[] = {"self", "dim", ""};  // aten.sym_size.int
  static const char *const letters[] = {"a", "b", "c"};   // Python's own functions
  ig_json_key(w->w, "inputs");
  ig_json_open(w->w, '[');
  for (size_t i = 0; i < n->npos; i++) {
    const ig_arg *type = n->op && i < n->op->schema.nargs ? &n->op->schema.args[i] : NULL;
    const char *name = type                                   ? type->name
                       : n->callee == IG_CALLEE_SIZE && i < 3 ? size[i]
                       : n->callee == IG_CALLEE_SYM && i < 3  ? letters[i]
                                                              : "";
    if (is_said(w, n, i)) put_input(w, name, &n->args[i], type, 1);
  }
  for (size_t i = 0; i < n->nkw; i++) {
    const ig_arg *type = n->op ? find_arg(&n->op->schema, n->keys[i]) : NULL;
    put_input(w, n->keys[i], &n->args[n->npos + i], type, 2);
  }
  ig_json_close(w->w, ']');
}

static void put_output(writer *w, const char *name, const ig_value *val) {
  if (val->kind == IG_KIND_TENSOR) {
    ig_pt2_put_named(&w->out, "as_tensor", name);
    return;
  }
  if (val->kind == IG_KIND_NONE) {
    ig_pt2_put_argument(&w->out, val, NULL);
    return;
  }
  const char *key = val->kind == IG_KIND_INT     ? "as_sym_int"
                    : val->kind == IG_KIND_FLOAT ? "as_sym_float"
                    : val->kind == IG_KIND_BOOL  ? "as_sym_bool"
                                                 : NULL;
  if (!key) {
    (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "result '%s': the export schema has no such result", name);
    return;
  }
  ig_json_open(w->w, '{');
  ig_json_key(w->w, key);
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "as_name");
  ig_json_str(w->w, name);
  ig_json_close(w->w, '}');
  ig_json_close(w->w, '}');
}

// Results of a list inside results: there is no getitem of their own that names them.
static void put_tensor_names(writer *w, const ig_node *n, const char *const *names,
                             const ig_value *list) {
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "as_tensors");
  ig_json_open(w->w, '[');
  for (size_t i = 0; i < list->list.n; i++) {
    if (list->list.at[i].kind != IG_KIND_TENSOR) {
      (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                    "'%s' gives a list of other things than tensors", n->name);
    }
    ig_json_open(w->w, '{');
    put_field(w, "name", names[i]);
    ig_json_close(w->w, '}');
  }
  ig_json_close(w->w, ']');
  ig_json_close(w->w, '}');
}

// The node that uses result i as a whole; NULL: none.
static const ig_node *reader_of(const ig_node *n, size_t i) {
  for (const ig_use *u = n->first_use; u; u = u->next) {
    const ig_node *item = u->user;
    if (is_getitem(item) && item->args[1].kind == IG_KIND_INT &&
        item->args[1].i.value == (int64_t)i) {
      return item;
    }
  }
  return NULL;
}

static void put_nested(writer *w, const ig_node *n, size_t i, const ig_value *list) {
  const ig_node *item = reader_of(n, i);
  const ig_table_slot *s = item ? ig_table_find(&w->results, item) : NULL;
  if (s) {
    put_tensor_names(w, n, s->value, list);
  } else {
    (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "'%s': the list that is result %zu is unused", n->name, i);
  }
}

static void put_outputs(writer *w, const ig_node *n) {
  ig_json_key(w->w, "outputs");
  ig_json_open(w->w, '[');
  ig_table_slot *s = ig_table_find(&w->results, n);
  const char **names = s ? s->value : NULL;
  bool list = names && n->op && n->op->schema.nrets == 1 && n->op->schema.rets[0].list;
  // Older readers take a single result of a higher-order operator as the result itself.
  bool old = n->callee == IG_CALLEE_HOP && w->layout != IG_PT2_NEWEST;
  bool one = old && !names && n->val.kind == IG_KIND_TENSOR;  // their calls return tuples
  if (names && old) list = true;
  bool nothing = n->callee == IG_CALLEE_HOST || (n->op && n->op->schema.nrets == 0);
  if (list) {
    put_tensor_names(w, n, names, &n->val);
  } else if (names) {
    for (size_t i = 0; i < result_count(n); i++) {
      if (n->val.list.at[i].kind == IG_KIND_LIST) {
        put_nested(w, n, i, &n->val.list.at[i]);
      } else {
        put_output(w, names[i], &n->val.list.at[i]);
      }
    }
  } else if (one) {
    put_tensor_names(w, n, &n->name, &(ig_value){.kind = IG_KIND_LIST, .list = {&n->val, 1}});
  } else if (!nothing) {
    put_output(w, n->name, &n->val);
  }
  ig_json_close(w->w, ']');
}

// Of a call with sub-graphs: the names of the nodes that read them, where those are not the names
// of the attributes. The schema has no place for them.
static void put_reader_names(writer *w, const ig_node *n) {
  bool differ = false;
  ig_str names = ig_str_make(w->c->alloc);
  for (size_t i = 0; n->callee == IG_CALLEE_HOP && i < n->npos; i++) {
    const ig_node *sub = n->args[i].kind == IG_KIND_NODE ? n->args[i].node : NULL;
    if (!sub || !sub->sub) continue;
    differ = differ || strcmp(sub->name, sub->target) != 0;
    ig_str_add(&names, "%s%s", names.n ? ";" : "", sub->name);
  }
  if (names.failed) (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  if (differ && !names.failed) put_field(w, IG_PT2_READER_NAMES, names.at);
  ig_str_free(&names);
}

static void put_frames(writer *w, const ig_frames *frames) {
  ig_str text = ig_str_make(w->c->alloc);
  ig_frames_print(&text, frames);
  if (text.failed) (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  if (text.n && !text.failed) put_field(w, IG_PT2_STACK_TRACE, text.at);
  ig_str_free(&text);
}

static void put_module_stack(writer *w, const ig_module_stack *stack) {
  ig_str text = ig_str_make(w->c->alloc);
  ig_modules_print(&text, stack);
  if (text.failed) (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  if (text.n && !text.failed) put_field(w, IG_PT2_MODULE_STACK, text.at);
  ig_str_free(&text);
}

static void put_metadata(writer *w, const ig_node *n) {
  ig_json_key(w->w, "metadata");
  ig_json_open(w->w, '{');
  put_reader_names(w, n);
  if (n->meta.stack) put_frames(w, &n->meta.stack->frames);
  if (n->meta.modules) put_module_stack(w, n->meta.modules);
  for (int i = 0; i < IG_META_KEY_COUNT; i++) {
    const char *text = n->meta.text[i];
    if (text && text[0]) put_field(w, ig_pt2_meta_keys[i], text);
  }
  ig_json_close(w->w, '}');
}

// The names of PyTorch's functions that differ from the printed ones.
static void print_target(const ig_node *n, char *text, size_t cap) {
  const char *prefix = n->callee == IG_CALLEE_OP || n->callee == IG_CALLEE_SIZE ? "torch.ops." : "";
  bool higher = n->callee == IG_CALLEE_HOP;
  if (n->callee == IG_CALLEE_SYM && !strchr(n->target, '.')) prefix = "builtins.";
  (void)snprintf(text, cap, "%s%s", higher ? "torch.ops.higher_order." : prefix,
                 higher ? n->hop->name : n->target);
}

static void put_node(writer *w, const ig_node *n) {
  char target[512];
  bool known = n->callee != IG_CALLEE_HOST || ig_node_is_grad_mode(n, NULL);
  if (!known) {
    (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "'%s' calls %s, which is not an operator", n->name, n->target);
    return;
  }
  if (w->layout == IG_PT2_FOR_2_5 && n->callee == IG_CALLEE_HOP && n->hop->since > 5) {
    (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "'%s' calls %s, which PyTorch 2.5 does not have", n->name, n->hop->name);
    return;
  }
  print_target(n, target, sizeof target);
  size_t test = n->callee == IG_CALLEE_HOP ? ig_hop_find_slot(n->hop, IG_SLOT_TEST) : n->npos;
  if (test < n->npos && n->args[test].kind == IG_KIND_NODE) w->condition = n->args[test].node->sub;
  ig_json_open(w->w, '{');
  put_field(w, "target", target);
  put_inputs(w, n);
  put_outputs(w, n);
  put_metadata(w, n);
  if (w->layout == IG_PT2_NEWEST) {
    ig_json_key(w->w, "is_hop_single_tensor_return");
    if (n->callee == IG_CALLEE_HOP) ig_json_bool(w->w, n->val.kind == IG_KIND_TENSOR);
    if (n->callee != IG_CALLEE_HOP) ig_json_null(w->w);
    put_field(w, "name", n->name);
  }
  ig_json_close(w->w, '}');
}

static void put_nodes(writer *w, const ig_graph *g) {
  ig_json_key(w->w, "nodes");
  ig_json_open(w->w, '[');
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_ATTR && !n->sub) {
      (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                    "constant '%s' is not part of the program's signature", n->target);
    }
    if (n->kind == IG_NODE_MODULE || n->kind == IG_NODE_METHOD) {
      (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING, "'%s' calls a module or a method",
                    n->name);
    }
    if (n->kind == IG_NODE_CALL && !is_getitem(n)) put_node(w, n);
  }
  ig_json_close(w->w, ']');
}

// ---- values

typedef void value_fn(writer *w, const char *name, const ig_value *v, bool input);

// Only inputs can require grad: programs are captured without history.
static void put_tensor_value(writer *w, const char *name, const ig_value *v, bool input) {
  if (v->kind != IG_KIND_TENSOR) return;
  ig_json_key(w->w, name);
  ig_pt2_put_tensor_meta(&w->out, v->tensor, input && v->tensor->requires_grad);
}

static void put_int_value(writer *w, const char *name, const ig_value *v, bool input) {
  if (v->kind != IG_KIND_INT || (input && !v->i.expr)) return;
  ig_json_key(w->w, name);
  ig_pt2_put_number(&w->out, v);
}

static void put_bool_value(writer *w, const char *name, const ig_value *v, bool input) {
  if (v->kind != IG_KIND_BOOL || (input && !v->b_expr)) return;
  ig_json_key(w->w, name);
  ig_pt2_put_number(&w->out, v);
}

static void put_float_value(writer *w, const char *name, const ig_value *v, bool input) {
  if (v->kind != IG_KIND_FLOAT || (input && !v->f_expr)) return;
  if (w->layout == IG_PT2_FOR_2_5) {
    (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                  "'%s' is a symbolic float, which PyTorch 2.5 cannot read", name);
    return;
  }
  ig_json_key(w->w, name);
  ig_pt2_put_number(&w->out, v);
}

static void put_object_value(writer *w, const ig_node *n) {
  if (!ig_node_is_placeholder(n) || n->role != IG_INPUT_OBJECT) return;
  ig_json_key(w->w, n->name);
  ig_json_open(w->w, '{');
  put_field(w, "name", n->name);
  put_field(w, "class_fqn", ig_pt2_object_class(n));
  ig_json_close(w->w, '}');
}

// key NULL: the schema has none of these.
static void put_values(writer *w, const ig_graph *g, const char *key, value_fn *fn) {
  if (key) ig_json_key(w->w, key);
  if (key) ig_json_open(w->w, '{');
  for (const ig_node *n = g->first; n; n = n->next) {
    bool nested = is_getitem(n) && n->val.kind == IG_KIND_LIST;
    if (n->kind == IG_NODE_OUTPUT || (is_getitem(n) && !nested)) continue;
    ig_table_slot *s = ig_table_find(&w->results, n);
    const char **names = s ? s->value : NULL;
    for (size_t i = 0; names && i < result_count(n); i++) {
      fn(w, names[i], &n->val.list.at[i], false);
    }
    if (!names) fn(w, n->name, &n->val, ig_node_is_placeholder(n));
  }
  if (key) ig_json_close(w->w, '}');
}

static void put_objects(writer *w, const ig_graph *g) {
  ig_json_key(w->w, "custom_obj_values");
  ig_json_open(w->w, '{');
  for (const ig_node *n = g->first; n; n = n->next) put_object_value(w, n);
  ig_json_close(w->w, '}');
}

static void put_empty(writer *w, const char *key, const char *brackets) {
  ig_json_key(w->w, key);
  ig_json_open(w->w, brackets[0]);
  ig_json_close(w->w, brackets[1]);
}

// A placeholder with a fixed value is written as that value.
static void put_placeholder(writer *w, const ig_node *n) {
  ig_value node = ig_of_node((ig_node *)n);
  bool symbolic = ig_value_expr(&n->val) != NULL;
  bool fixed = n->role == IG_INPUT_USER && n->val.kind != IG_KIND_TENSOR && !symbolic;
  ig_pt2_put_argument(&w->out, fixed ? &n->val : &node, NULL);
}

static void put_graph(writer *w, const ig_graph *g) {
  const ig_node *last = g->last;
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "inputs");
  ig_json_open(w->w, '[');
  for (const ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next) {
    put_placeholder(w, n);
  }
  ig_json_close(w->w, ']');
  ig_json_key(w->w, "outputs");
  ig_json_open(w->w, '[');
  for (size_t i = 0; i < last->npos; i++) ig_pt2_put_argument(&w->out, &last->args[i], NULL);
  ig_json_close(w->w, ']');
  put_nodes(w, g);
  put_values(w, g, "tensor_values", put_tensor_value);
  put_values(w, g, "sym_int_values", put_int_value);
  put_values(w, g, "sym_bool_values", put_bool_value);
  ig_json_key(w->w, "is_single_tensor_return");
  bool tuples = w->layout != IG_PT2_NEWEST && g != w->g;
  bool bare = g == w->condition || (last->bare && !tuples);
  ig_json_bool(w->w, bare && last->npos == 1);
  put_objects(w, g);
  put_values(w, g, w->layout == IG_PT2_FOR_2_5 ? NULL : "sym_float_values", put_float_value);
  ig_json_close(w->w, '}');
}

// {"name": "true_graph_0", "graph": {...}}
static void put_sub(void *user, const ig_node *n) {
  writer *w = user;
  name_all(w, n->sub);
  ig_json_open(w->w, '{');
  put_field(w, "name", n->target);
  ig_json_key(w->w, "graph");
  put_graph(w, n->sub);
  ig_json_close(w->w, '}');
}

// ---- signature

static void put_arg_name(writer *w, const char *name, const char *cls) {
  ig_json_key(w->w, "arg");
  ig_json_open(w->w, '{');
  put_field(w, "name", name);
  if (cls) put_field(w, "class_fqn", cls);
  ig_json_close(w->w, '}');
}

static void put_input_spec(writer *w, const ig_input_spec *s) {
  static const char *const keys[] = {
      [IG_INPUT_USER] = "user_input",   [IG_INPUT_PARAMETER] = "parameter",
      [IG_INPUT_BUFFER] = "buffer",     [IG_INPUT_CONSTANT] = "tensor_constant",
      [IG_INPUT_OBJECT] = "custom_obj", [IG_INPUT_TOKEN] = "token"};
  const ig_node *n = ig_graph_find(ig_program_graph(w->p), s->name);
  bool fixed = s->kind == IG_INPUT_USER && s->value.kind != IG_KIND_NODE;
  bool constant = fixed && !ig_value_expr(&s->value);
  if (!n) {
    (void)ig_fail(w->c, IG_RUNTIME, "input '%s' is not in the graph", s->name);
    return;
  }
  ig_json_open(w->w, '{');
  ig_json_key(w->w, constant ? "constant_input" : keys[s->kind]);
  ig_json_open(w->w, '{');
  if (constant) {
    put_field(w, "name", s->name);
    ig_json_key(w->w, "value");
    ig_pt2_put_argument(&w->out, &s->value, NULL);
  } else if (s->kind == IG_INPUT_USER) {
    ig_json_key(w->w, "arg");
    put_placeholder(w, n);
  } else {
    static const char *const names[] = {[IG_INPUT_PARAMETER] = "parameter_name",
                                        [IG_INPUT_BUFFER] = "buffer_name",
                                        [IG_INPUT_CONSTANT] = "tensor_constant_name",
                                        [IG_INPUT_OBJECT] = "custom_obj_name",
                                        [IG_INPUT_TOKEN] = NULL};
    put_arg_name(w, s->name, s->kind == IG_INPUT_OBJECT ? ig_pt2_object_class(n) : NULL);
    if (names[s->kind]) put_field(w, names[s->kind], s->target);
    if (s->kind == IG_INPUT_BUFFER) {
      ig_json_key(w->w, "persistent");
      ig_json_bool(w->w, s->persistent);
    }
  }
  ig_json_close(w->w, '}');
  ig_json_close(w->w, '}');
}

static void put_output_spec(writer *w, const ig_output_spec *s) {
  static const char *const keys[][2] = {
      [IG_OUTPUT_USER] = {"user_output", NULL},
      [IG_OUTPUT_LOSS] = {"loss_output", NULL},
      [IG_OUTPUT_BUFFER_MUTATION] = {"buffer_mutation", "buffer_name"},
      [IG_OUTPUT_INPUT_MUTATION] = {"user_input_mutation", "user_input_name"},
      [IG_OUTPUT_GRAD_PARAMETER] = {"gradient_to_parameter", "parameter_name"},
      [IG_OUTPUT_GRAD_INPUT] = {"gradient_to_user_input", "user_input_name"},
      [IG_OUTPUT_TOKEN] = {"token", NULL},
      [IG_OUTPUT_PARAMETER_MUTATION] = {"parameter_mutation", "parameter_name"}};
  ig_json_open(w->w, '{');
  ig_json_key(w->w, keys[s->kind][0]);
  ig_json_open(w->w, '{');
  if (s->kind == IG_OUTPUT_USER) {
    ig_json_key(w->w, "arg");
    ig_pt2_put_argument(&w->out, &s->value, NULL);
  } else {
    const char *name = s->value.kind == IG_KIND_NODE ? name_of(w, s->value.node) : s->name;
    if (!name || (keys[s->kind][1] && !s->target)) {
      (void)ig_fail(w->c, IG_UNSUPPORTED | IG_E_PT2_WRITING,
                    "an output of kind %s has no name: found a constant, expected a value that the "
                    "program computes",
                    keys[s->kind][0]);
      return;
    }
    put_arg_name(w, name, NULL);
  }
  if (keys[s->kind][1]) put_field(w, keys[s->kind][1], s->target);
  ig_json_close(w->w, '}');
  ig_json_close(w->w, '}');
}

static void put_signature(writer *w) {
  const ig_input_spec *in = NULL;
  const ig_output_spec *out = NULL;
  size_t nin = ig_program_inputs(w->p, &in);
  size_t nout = ig_program_outputs(w->p, &out);
  ig_json_key(w->w, "signature");
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "input_specs");
  ig_json_open(w->w, '[');
  for (size_t i = 0; i < nin; i++) put_input_spec(w, &in[i]);
  ig_json_close(w->w, ']');
  ig_json_key(w->w, "output_specs");
  ig_json_open(w->w, '[');
  for (size_t i = 0; i < nout; i++) put_output_spec(w, &out[i]);
  ig_json_close(w->w, ']');
  ig_json_close(w->w, '}');
}

// ---- calling convention

static void put_leaves(ig_json_writer *t, size_t n) {
  for (size_t i = 0; i < n; i++) {
    ig_json_open(t, '{');
    ig_json_key(t, "type");
    ig_json_null(t);
    ig_json_key(t, "context");
    ig_json_null(t);
    ig_json_key(t, "children_spec");
    ig_json_open(t, '[');
    ig_json_close(t, ']');
    ig_json_close(t, '}');
  }
}

static void open_spec(ig_json_writer *t, const char *type, const char *context) {
  ig_json_open(t, '{');
  ig_json_key(t, "type");
  ig_json_str(t, type);
  ig_json_key(t, "context");
  ig_json_str(t, context);
  ig_json_key(t, "children_spec");
  ig_json_open(t, '[');
}

static void close_spec(ig_json_writer *t) {
  ig_json_close(t, ']');
  ig_json_close(t, '}');
}

// For a host without trees of arguments: f(x, y) -> z or (z, u).
static void put_default_spec(writer *w, const char *key, size_t n, bool in) {
  ig_str text = ig_str_make(w->c->alloc);
  ig_json_writer t = {.out = &text};
  ig_json_open(&t, '[');
  ig_json_int(&t, 1);
  if (in) open_spec(&t, "builtins.tuple", "null");
  if (in || n != 1) open_spec(&t, "builtins.tuple", "null");
  put_leaves(&t, n);
  if (in || n != 1) close_spec(&t);
  if (in) {
    open_spec(&t, "builtins.dict", "[]");
    close_spec(&t);
    close_spec(&t);
  }
  ig_json_close(&t, ']');
  if (text.failed) (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  if (!text.failed) put_field(w, key, text.at);
  ig_str_free(&text);
}

static void put_spec(writer *w, const char *key, const char *spec, size_t n, bool in) {
  if (spec[0]) {
    put_field(w, key, spec);
  } else {
    put_default_spec(w, key, n, in);
  }
}

// Do all values that a signature names exist?
static bool are_known(const writer *w, const ig_json *v) {
  const ig_json *name = v->kind == IG_JSON_OBJECT ? ig_json_find(v, "name") : NULL;
  if (name) {
    return name->kind == IG_JSON_STRING && ig_graph_find(w->g, name->text) != NULL;
  }
  for (size_t i = 0; v->kind == IG_JSON_ARRAY && i < v->n; i++) {
    if (!are_known(w, &v->items[i])) return false;
  }
  for (size_t i = 0; v->kind == IG_JSON_OBJECT && i < v->n; i++) {
    if (!are_known(w, &v->members[i].value)) return false;
  }
  return true;
}

// The signature in the program's original file; NULL: none, or the program has changed.
static const ig_json *find_call(writer *w, const char *path) {
  const ig_pt2_origin *o = w->p->origin;
  for (size_t i = 0; o && i < o->calls.n; i++) {
    if (strcmp(o->calls.at[i].name, path) != 0) continue;
    const ig_json *tree = NULL;
    const char *text = o->calls.at[i].value;
    ig_bytes bytes = {(const uint8_t *)text, strlen(text)};
    if (ig_json_parse(w->c, "signature", bytes, &w->arena, NULL, &tree) != IG_OK) return NULL;
    const ig_json *in = ig_json_find(tree, "inputs");
    const ig_json *out = ig_json_find(tree, "outputs");
    return in && out && are_known(w, in) && are_known(w, out) ? tree : NULL;
  }
  return NULL;
}

// What a release knows of a signature: names of parameters came after 2.5.
static void put_call(writer *w, const ig_json *signature) {
  static const char *const fields[] = {"inputs", "outputs", "in_spec", "out_spec"};
  if (w->layout != IG_PT2_FOR_2_5) {
    ig_json_value(w->w, signature);
    return;
  }
  ig_json_open(w->w, '{');
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const ig_json *value = ig_json_find(signature, fields[i]);
    if (!value) continue;
    ig_json_key(w->w, fields[i]);
    ig_json_value(w->w, value);
  }
  ig_json_close(w->w, '}');
}

static void put_module_entry(writer *w, const char *path) {
  const ig_json *signature = find_call(w, path);
  ig_json_open(w->w, '{');
  put_field(w, "fqn", path);
  ig_json_key(w->w, "signature");
  if (signature) put_call(w, signature);
  if (!signature) ig_json_null(w->w);
  ig_json_close(w->w, '}');
}

static bool is_among(const char *const *paths, size_t n, const char *path) {
  for (size_t i = 0; paths && i < n; i++) {
    if (strcmp(paths[i], path) == 0) return true;
  }
  return false;
}

static void put_submodules(writer *w) {
  ig_scope s = ig_scope_open(w->c);
  size_t n = 0;
  const char *const *paths = ig_program_modules(w->c, w->p, &n);
  for (size_t i = 0; paths && i < n; i++) put_module_entry(w, paths[i]);
  const ig_pt2_origin *o = w->p->origin;  // modules without calls of their own
  for (size_t i = 0; o && i < o->calls.n && ig_ctx_status(w->c) == IG_OK; i++) {
    const char *path = o->calls.at[i].name;
    if (!is_among(paths, n, path) && find_call(w, path)) put_module_entry(w, path);
  }
  ig_scope_close(w->c, s);
}

static void put_arg_names(writer *w) {
  const ig_input_spec *in = NULL;
  const char *const *names = NULL;
  size_t nin = ig_program_inputs(w->p, &in);
  size_t n = ig_program_arg_names(w->p, &names);
  ig_json_key(w->w, "forward_arg_names");
  ig_json_open(w->w, '[');
  for (size_t i = 0; i < n; i++) ig_json_str(w->w, names[i]);
  for (size_t i = 0; !names && i < nin; i++) {
    if (in[i].kind == IG_INPUT_USER) ig_json_str(w->w, in[i].name);
  }
  ig_json_close(w->w, ']');
}

static void put_module_calls(writer *w) {
  ig_json_key(w->w, "module_call_graph");
  ig_json_open(w->w, '[');
  ig_json_open(w->w, '{');
  put_field(w, "fqn", "");
  ig_json_key(w->w, "signature");
  ig_json_open(w->w, '{');
  put_empty(w, "inputs", "[]");
  put_empty(w, "outputs", "[]");
  put_spec(w, "in_spec", ig_program_in_spec(w->p), ig_program_user_inputs(w->p), true);
  put_spec(w, "out_spec", ig_program_out_spec(w->p), ig_program_user_outputs(w->p), false);
  if (w->layout != IG_PT2_FOR_2_5) put_arg_names(w);
  ig_json_close(w->w, '}');
  ig_json_close(w->w, '}');
  put_submodules(w);
  ig_json_close(w->w, ']');
}

static void put_bound(writer *w, const char *key, int64_t bound) {
  ig_json_key(w->w, key);
  bool open = bound == INT64_MIN || bound == INT64_MAX;
  if (open && w->layout == IG_PT2_FOR_2_5) {
    ig_json_float(w->w, bound == INT64_MIN ? -HUGE_VAL : HUGE_VAL);
  } else if (open) {
    ig_json_null(w->w);
  } else {
    ig_json_int(w->w, bound);
  }
}

static void put_ranges(writer *w) {
  const ig_range_entry *at = NULL;
  size_t n = ig_program_ranges(w->c, w->p, &at);
  ig_json_key(w->w, "range_constraints");
  ig_json_open(w->w, '{');
  for (size_t i = 0; i < n; i++) {
    ig_json_key(w->w, at[i].text);
    ig_json_open(w->w, '{');
    put_bound(w, "min_val", at[i].lo);
    put_bound(w, "max_val", at[i].hi);
    ig_json_close(w->w, '}');
  }
  ig_json_close(w->w, '}');
}

static void put_opsets(writer *w) {
  size_t n = w->options ? w->options->nopsets : 0;
  bool aten = false;
  ig_json_key(w->w, "opset_version");
  ig_json_open(w->w, '{');
  for (size_t i = 0; i < n; i++) {
    const ig_opset *o = &w->options->opsets[i];
    aten = aten || strcmp(o->name, "aten") == 0;
    ig_json_key(w->w, o->name);
    ig_json_int(w->w, o->version);
  }
  if (!aten) {
    ig_json_key(w->w, "aten");
    ig_json_int(w->w, IG_PT2_ATEN_OPSET);
  }
  ig_json_close(w->w, '}');
}

static void put_guards(writer *w) {
  const ig_pt2_origin *o = w->p->origin;
  ig_json_key(w->w, "guards_code");
  ig_json_open(w->w, '[');
  for (size_t i = 0; o && i < o->guards.n; i++) ig_json_str(w->w, o->guards.at[i]);
  ig_json_close(w->w, ']');
}

static const struct {
  int major;
  int minor;
  const char *torch;
} versions[] = {[IG_PT2_NEWEST] = {8, 20, "2.13.0"},
                [IG_PT2_FOR_2_6] = {8, 2, "2.6.0"},
                [IG_PT2_FOR_2_5] = {7, 3, "2.5.1"}};

static void put_version(writer *w) {
  ig_json_key(w->w, "schema_version");
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "major");
  ig_json_int(w->w, versions[w->layout].major);
  ig_json_key(w->w, "minor");
  ig_json_int(w->w, versions[w->layout].minor);
  ig_json_close(w->w, '}');
}

// The host's text, if it is JSON.
static void put_namedtuples(writer *w) {
  const ig_json *tree = NULL;
  const char *text = w->p->namedtuples ? w->p->namedtuples : "{}";
  ig_bytes bytes = {(const uint8_t *)text, strlen(text)};
  ig_json_key(w->w, "treespec_namedtuple_fields");
  if (ig_json_parse(w->c, "named tuples", bytes, &w->arena, NULL, &tree) == IG_OK) {
    ig_json_value(w->w, tree);
  }
}

static void put_program(writer *w) {
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "graph_module");
  ig_json_open(w->w, '{');
  ig_json_key(w->w, "graph");
  put_graph(w, w->g);
  put_signature(w);
  put_module_calls(w);
  ig_json_key(w->w, "metadata");
  ig_json_open(w->w, '{');
  if (w->p->custom) put_field(w, "custom", w->p->custom);
  const char *forms = ig_release_forms(w->g->release)->name;
  if (forms) put_field(w, IG_PT2_FORMS, forms);
  ig_json_close(w->w, '}');
  if (w->layout == IG_PT2_NEWEST) put_namedtuples(w);
  ig_json_close(w->w, '}');
  put_opsets(w);
  put_ranges(w);
  put_version(w);
  ig_json_key(w->w, "verifiers");
  ig_json_open(w->w, '[');
  // Later releases have a single dialect; 2.5 requires functional operators in the other one.
  bool functional = w->layout == IG_PT2_FOR_2_5 && !ig_program_is_training(w->p);
  ig_json_str(w->w, functional ? "ATEN" : "TRAINING");
  ig_json_close(w->w, ']');
  put_field(w, "torch_version", versions[w->layout].torch);
  if (w->layout == IG_PT2_NEWEST) put_guards(w);
  ig_json_close(w->w, '}');
}

ig_status ig_pt2_write_program(ig_ctx *c, const ig_program *p, const ig_save_options *options,
                               ig_str *out) {
  ig_json_writer json = {.out = out};
  writer w = {.c = c,
              .p = p,
              .g = ig_program_graph(p),
              .options = options,
              .layout = options ? options->layout : IG_PT2_NEWEST,
              .w = &json,
              .arena = ig_arena_make(c->alloc),
              .results = ig_table_make(c->alloc)};
  w.out = (ig_pt2_out){.c = c,
                       .w = &json,
                       .name = name_of,
                       .graph = put_sub,
                       .user = &w,
                       .old_none = w.layout != IG_PT2_NEWEST,
                       .old_floats = w.layout != IG_PT2_NEWEST,
                       .infix = w.layout == IG_PT2_FOR_2_5};
  ig_scope scope = ig_scope_open(c);
  name_all(&w, w.g);
  if (ig_ctx_status(c) == IG_OK) put_program(&w);
  ig_scope_close(c, scope);
  if (out->failed) (void)ig_fail(c, IG_NOMEM, "out of memory");
  ig_table_free(&w.results);
  ig_arena_free(&w.arena);
  return ig_ctx_status(c);
}
