// SPDX-License-Identifier: Apache-2.0
// JSON of the export schema -> program. The nodes of the file are called one after the other under
// an open capture: what they record is the graph. So arguments are bound to schemas and shapes are
// inferred as for any other call, and a file cannot describe what a program could not do; its own
// description of each tensor is compared with the inferred one. At the end the nodes get the names
// that they have in the file.
#include <stdio.h>
#include <string.h>

#include "ir/program.h"
#include "op/record.h"
#include "pt2/schema.h"
#include "pt2/values.h"

typedef struct wish {
  ig_node *node;
  const char *name;
} wish;

typedef struct reader {
  ig_ctx *c;
  const ig_pt2_source *source;
  ig_pt2_in in;
  ig_map names;    // name -> ig_value *
  ig_map weights;  // fqn -> ig_pt2_weight *
  const ig_json *tensor_values;
  IG_VEC(wish) wishes;
  ig_value *outs;
  ig_output_kind *kinds;
  const char **targets;
  size_t nouts;
} reader;

static ig_status no_memory(reader *r) {
  return ig_fail(r->c, IG_NOMEM, "out of memory");
}

// ---- names

// Names end up in printed code.
static bool is_identifier(const char *s) {
  size_t n = 0;
  for (; s[n]; n++) {
    bool letter = (s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_';
    bool digit = s[n] >= '0' && s[n] <= '9';
    if (!letter && !(digit && n)) return false;
  }
  return n > 0 && n < 1000;
}

static ig_status define(reader *r, const ig_json *at, const char *name, const ig_value *value) {
  if (!is_identifier(name)) {
    return ig_pt2_fail(&r->in, at, IG_SYNTAX, "'%.100s' is not a name", name);
  }
  ig_map_value *v = ig_map_put(&r->names, name);
  ig_value *copy = ig_arena_push(r->source->arena, sizeof *copy);
  if (!v || !copy) return no_memory(r);
  if (v->ptr) return ig_pt2_fail(&r->in, at, IG_SYNTAX, "'%.100s' is defined twice", name);
  *copy = *value;
  v->ptr = copy;
  return IG_OK;
}

static ig_status name_later(reader *r, ig_node *node, const char *name) {
  wish item = {node, name};
  return ig_vec_push(r->c->alloc, &r->wishes, item) ? IG_OK : no_memory(r);
}

static bool is_unread_item(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM && n->users == 0;
}

// Gives all nodes their names at once: those that the capture has dealt out are free again.
static ig_status rename_all(reader *r, ig_graph *g) {
  for (size_t i = 0; i < r->wishes.n; i++) {
    ig_map_value *v = ig_map_find(&g->names, r->wishes.at[i].node->name);
    if (v) v->ptr = NULL;
  }
  for (size_t i = 0; i < r->wishes.n; i++) {
    ig_node *n = r->wishes.at[i].node;
    if (is_unread_item(n)) continue;  // dropped
    const char *kept = ig_graph_keep_text(r->c, g, r->wishes.at[i].name);
    ig_map_value *v = kept ? ig_map_put(&g->names, kept) : NULL;
    if (!v) return no_memory(r);
    ig_node *other = v->ptr;
    v->ptr = n;
    if (n->target == n->name) n->target = kept;
    n->name = kept;
    // A node that has no name in the file makes room.
    if (other && !ig_graph_rename(r->c, g, other, other->name)) return ig_ctx_status(r->c);
  }
  return IG_OK;
}

// getitem nodes of results that nobody reads.
static void drop_unread_items(ig_graph *g) {
  for (ig_node *n = g->last, *prev = NULL; n; n = prev) {
    prev = n->prev;
    if (is_unread_item(n)) ig_graph_erase(g, n);
  }
}

// ---- inputs

static const ig_json *described(const reader *r, const char *name) {
  return ig_json_find(r->tensor_values, name);
}

static ig_status add_placeholder(reader *r, const ig_json *at, const ig_placeholder *p,
                                 const ig_meta *m) {
  const ig_tensor *t = ig_record_placeholder(r->c, p, m);
  if (!t) return ig_ctx_status(r->c);
  ig_value v = ig_of_tensor((ig_tensor *)t);
  IG_RETURN_IF_ERR(define(r, at, p->name, &v));
  return name_later(r, t->node, p->name);
}

static ig_status read_weight_input(reader *r, const ig_json *spec, ig_input_kind kind,
                                   const char *key) {
  const char *target = ig_pt2_get_text(&r->in, spec, key);
  const char *name =
      ig_pt2_get_text(&r->in, ig_pt2_get(&r->in, spec, "arg", IG_JSON_OBJECT), "name");
  const ig_json *persistent = ig_json_find(spec, "persistent");
  if (!target || !name) return ig_ctx_status(r->c);
  const ig_map_value *found = ig_map_find(&r->weights, target);
  if (!found)
    return ig_pt2_fail(&r->in, spec, IG_SYNTAX, "the archive has no weight '%.100s'", target);
  const ig_pt2_weight *w = found->ptr;
  ig_meta m;
  ig_meta_of(w->tensor, &m);
  ig_placeholder p = {
      .role = kind,
      .persistent = !persistent || persistent->kind != IG_JSON_BOOL || persistent->b,
      .name = name,
      .path = target,
      .value = w->tensor,
      .requires_grad = w->tensor->requires_grad};
  if (kind != IG_INPUT_BUFFER) p.persistent = false;
  return add_placeholder(r, spec, &p, &m);
}

static ig_status read_fixed_input(reader *r, const ig_json *at, const char *name,
                                  const ig_value *value) {
  ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name};
  IG_RETURN_IF_ERR(define(r, at, name, value));
  ig_record_placeholder_value(r->c, &p, value);
  IG_RETURN_IF_ERR(ig_ctx_status(r->c));
  return name_later(r, r->c->capture->last, name);
}

// {"arg": {"as_tensor": {"name": "x"}}}; other arguments are literals and have no name here.
static ig_status read_user_input(reader *r, const ig_json *spec, size_t number) {
  const ig_json *arg = ig_pt2_get(&r->in, spec, "arg", IG_JSON_OBJECT);
  const ig_json *tensor = arg ? ig_json_find(arg, "as_tensor") : NULL;
  if (arg && !tensor) {
    char name[32];
    (void)snprintf(name, sizeof name, "arg_%zu", number);
    const char *kept = ig_arena_strn(r->source->arena, name, strlen(name));
    ig_value v = ig_pt2_get_argument(&r->in, arg);
    if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
    return kept ? read_fixed_input(r, spec, kept, &v) : no_memory(r);
  }
  const char *name = ig_pt2_get_text(&r->in, tensor, "name");
  if (!name) return ig_ctx_status(r->c);
  const ig_json *meta = described(r, name);
  if (!meta) return ig_pt2_fail(&r->in, spec, IG_SYNTAX, "input '%.100s' is not described", name);
  ig_meta m;
  ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name};
  if (!ig_pt2_get_tensor_meta(&r->in, meta, &m, &p.requires_grad)) return ig_ctx_status(r->c);
  return add_placeholder(r, spec, &p, &m);
}

static ig_status read_input(reader *r, const ig_json *v, size_t number) {
  const ig_json_member *m = ig_pt2_union(&r->in, v);
  if (!m) return ig_ctx_status(r->c);
  if (strcmp(m->key, "parameter") == 0) {
    return read_weight_input(r, &m->value, IG_INPUT_PARAMETER, "parameter_name");
  }
  if (strcmp(m->key, "buffer") == 0) {
    return read_weight_input(r, &m->value, IG_INPUT_BUFFER, "buffer_name");
  }
  if (strcmp(m->key, "tensor_constant") == 0) {
    return read_weight_input(r, &m->value, IG_INPUT_CONSTANT, "tensor_constant_name");
  }
  if (strcmp(m->key, "user_input") == 0) return read_user_input(r, &m->value, number);
  if (strcmp(m->key, "constant_input") == 0) {
    const char *name = ig_pt2_get_text(&r->in, &m->value, "name");
    ig_value value =
        ig_pt2_get_argument(&r->in, ig_pt2_get(&r->in, &m->value, "value", IG_JSON_OBJECT));
    return name && ig_ctx_status(r->c) == IG_OK ? read_fixed_input(r, v, name, &value)
                                                : ig_ctx_status(r->c);
  }
  return ig_pt2_fail(&r->in, v, IG_UNSUPPORTED, "inputs of kind '%.50s' are not supported", m->key);
}

// ---- nodes

static const ig_op *find_op(reader *r, const ig_json *node) {
  const char *target = ig_pt2_get_text(&r->in, node, "target");
  static const char prefix[] = "torch.ops.";
  if (!target) return NULL;
  bool plain = strncmp(target, prefix, strlen(prefix)) == 0;
  const ig_op *op = plain ? ig_op_find(r->c, target + strlen(prefix)) : NULL;
  if (!op)
    (void)ig_pt2_fail(&r->in, node, IG_UNSUPPORTED, "operator '%.100s' is not known", target);
  return op;
}

static void set_meta(reader *r, const ig_json *node) {
  static const struct {
    const char *key;
    ig_meta_key meta;
  } keys[] = {{"stack_trace", IG_META_STACK_TRACE},
              {"nn_module_stack", IG_META_NN_MODULE_STACK},
              {"source_fn_stack", IG_META_SOURCE_FN},
              {"torch_fn", IG_META_TORCH_FN}};
  const ig_json *meta = ig_json_find(node, "metadata");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const ig_json *text = meta ? ig_json_find(meta, keys[i].key) : NULL;
    ig_capture_set_meta(r->c, keys[i].meta,
                        text && text->kind == IG_JSON_STRING ? text->text : NULL);
  }
}

// Positional arguments come first; what is out of its place goes by its name.
static ig_status read_arguments(reader *r, const ig_op *op, const ig_json *node, ig_bound *call) {
  const ig_json *inputs = ig_pt2_get(&r->in, node, "inputs", IG_JSON_ARRAY);
  if (!inputs) return ig_ctx_status(r->c);
  if (inputs->n > op->schema.nargs) {
    return ig_pt2_fail(&r->in, inputs, IG_SYNTAX, "%zu arguments for %s, which takes %zu",
                       inputs->n, op->target, op->schema.nargs);
  }
  ig_value *values = ig_arena_push(r->source->arena, (inputs->n + 1) * sizeof *values);
  const char **keys = ig_arena_push(r->source->arena, (inputs->n + 1) * sizeof *keys);
  if (!values || !keys) return no_memory(r);
  *call = (ig_bound){.ns = op->schema.ns, .name = op->schema.name, .values = values, .keys = keys};
  for (size_t i = 0; i < inputs->n; i++) {
    const char *name = ig_pt2_get_text(&r->in, &inputs->items[i], "name");
    values[i] =
        ig_pt2_get_argument(&r->in, ig_pt2_get(&r->in, &inputs->items[i], "arg", IG_JSON_OBJECT));
    if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
    bool in_place =
        call->nkw == 0 && i < op->schema.npos && strcmp(op->schema.args[i].name, name) == 0;
    if (in_place) {
      call->npos++;
    } else {
      keys[call->nkw++] = name;
    }
  }
  return IG_OK;
}

static ig_status compare(reader *r, const ig_json *at, const char *name, const ig_tensor *t) {
  const ig_json *meta = described(r, name);
  if (!meta) return ig_pt2_fail(&r->in, at, IG_SYNTAX, "tensor '%.100s' is not described", name);
  ig_meta m;
  bool grad = false;
  if (!ig_pt2_get_tensor_meta(&r->in, meta, &m, &grad)) return ig_ctx_status(r->c);
  bool same = m.dtype == t->dtype && m.ndim == t->ndim;
  for (int d = 0; d < m.ndim && same; d++) same = m.size[d].value == ig_sizes(t)[d].value;
  if (same) return IG_OK;
  return ig_pt2_fail(
      &r->in, meta, IG_SYNTAX,
      "tensor '%.100s' is described with another dtype or other sizes than its operator gives",
      name);
}

// One result of a call: its name in the file.
static ig_status take_result(reader *r, const ig_json *named, const ig_value *v, ig_node *node) {
  const char *name = ig_pt2_get_text(&r->in, named, "name");
  if (!name) return ig_ctx_status(r->c);
  if (v->kind != IG_KIND_TENSOR) {
    return ig_pt2_fail(&r->in, named, IG_SYNTAX, "'%.100s' is no tensor result", name);
  }
  IG_RETURN_IF_ERR(compare(r, named, name, v->tensor));
  IG_RETURN_IF_ERR(define(r, named, name, v));
  return name_later(r, node, name);
}

// The element of a result that a getitem picks; results are picked in order.
static ig_node *item_of(const ig_node *call, size_t i) {
  for (ig_node *n = call->next; n; n = n->next) {
    bool picks = n->callee == IG_CALLEE_GETITEM && n->args[0].node == call;
    if (picks && n->args[1].i.value == (int64_t)i) return n;
  }
  return NULL;
}

static ig_status take_items(reader *r, const ig_json *at, ig_node *call,
                            const ig_json *const *named, size_t n) {
  const ig_value *val = &call->val;
  if (val->kind != IG_KIND_LIST || val->list.n != n) {
    return ig_pt2_fail(&r->in, at, IG_SYNTAX, "%zu results for %s, which gives %zu", n,
                       call->target, val->kind == IG_KIND_LIST ? val->list.n : 1);
  }
  for (size_t i = 0; i < n; i++) {
    if (!named[i]) continue;
    ig_node *item = item_of(call, i);
    if (item) IG_RETURN_IF_ERR(take_result(r, named[i], &item->val, item));
  }
  return IG_OK;
}

// {"as_tensor": {...}} -> the named object; NULL: None, or an error.
static const ig_json *named_result(reader *r, const ig_json *v) {
  const ig_json_member *m = ig_pt2_union(&r->in, v);
  if (!m || strcmp(m->key, "as_none") == 0) return NULL;
  if (strcmp(m->key, "as_tensor") == 0) return &m->value;
  (void)ig_pt2_fail(&r->in, v, IG_UNSUPPORTED, "results of kind '%.50s' are not supported", m->key);
  return NULL;
}

// A call with several results has a name of its own.
static ig_status name_call(reader *r, const ig_json *node, ig_node *call) {
  const ig_json *name = ig_json_find(node, "name");
  if (!name || name->kind != IG_JSON_STRING) return IG_OK;  // since schema 8.17
  ig_value none = ig_none();
  IG_RETURN_IF_ERR(define(r, name, name->text, &none));
  return name_later(r, call, name->text);
}

static ig_status take_several(reader *r, const ig_json *node, const ig_json *outputs,
                              const ig_json *list, ig_node *call) {
  size_t n = list ? list->n : outputs->n;
  const ig_json **named = ig_arena_push(r->source->arena, (n + 1) * sizeof *named);
  if (!named) return no_memory(r);
  for (size_t i = 0; i < n; i++) {
    named[i] = list ? &list->items[i] : named_result(r, &outputs->items[i]);
  }
  IG_RETURN_IF_ERR(ig_ctx_status(r->c));
  if (n == 0 && call->val.kind == IG_KIND_NONE) return IG_OK;
  IG_RETURN_IF_ERR(name_call(r, node, call));
  return take_items(r, outputs, call, named, n);
}

static ig_status take_results(reader *r, const ig_json *node, ig_node *call) {
  const ig_json *outputs = ig_pt2_get(&r->in, node, "outputs", IG_JSON_ARRAY);
  if (!outputs) return ig_ctx_status(r->c);
  const ig_json *only = outputs->n == 1 ? &outputs->items[0] : NULL;
  const ig_json *list = only ? ig_json_find(only, "as_tensors") : NULL;
  if (list && list->kind != IG_JSON_ARRAY) {
    return ig_pt2_fail(&r->in, list, IG_SYNTAX, "expected an array");
  }
  if (list || !only || call->val.kind == IG_KIND_LIST) {
    return take_several(r, node, outputs, list, call);
  }
  const ig_json *named = named_result(r, only);
  return named ? take_result(r, named, &call->val, call) : ig_ctx_status(r->c);
}

static ig_status read_node(reader *r, const ig_json *node) {
  const ig_op *op = find_op(r, node);
  ig_bound call = {0};
  if (!op) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(read_arguments(r, op, node, &call));
  set_meta(r, node);
  ig_graph *g = r->c->capture;
  ig_node *before = g->last;
  ig_value outs[IG_MAX_RETURNS];
  ig_call_overload(r->c, op, &call, outs);
  if (ig_ctx_status(r->c) != IG_OK) {
    ig_note(r->c, "in %s, byte %zu", r->in.file, node->at);
    return ig_ctx_status(r->c);
  }
  ig_node *made = before ? before->next : g->first;
  while (made && made->op != op) made = made->next;
  if (!made) return ig_pt2_fail(&r->in, node, IG_UNSUPPORTED, "%s leaves no node", op->target);
  return take_results(r, node, made);
}

// ---- outputs

static ig_status read_output(reader *r, const ig_json *v, size_t i) {
  static const struct {
    const char *key;
    ig_output_kind kind;
    const char *target;
  } kinds[] = {{"user_output", IG_OUTPUT_USER, NULL},
               {"loss_output", IG_OUTPUT_LOSS, NULL},
               {"buffer_mutation", IG_OUTPUT_BUFFER_MUTATION, "buffer_name"},
               {"user_input_mutation", IG_OUTPUT_INPUT_MUTATION, "user_input_name"},
               {"gradient_to_parameter", IG_OUTPUT_GRAD_PARAMETER, "parameter_name"},
               {"gradient_to_user_input", IG_OUTPUT_GRAD_INPUT, "user_input_name"}};
  const ig_json_member *m = ig_pt2_union(&r->in, v);
  size_t k = 0;
  if (!m) return ig_ctx_status(r->c);
  while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].key, m->key) != 0) k++;
  if (k == sizeof kinds / sizeof *kinds) {
    return ig_pt2_fail(&r->in, v, IG_UNSUPPORTED, "outputs of kind '%.50s' are not supported",
                       m->key);
  }
  r->kinds[i] = kinds[k].kind;
  if (kinds[k].target) r->targets[i] = ig_pt2_get_text(&r->in, &m->value, kinds[k].target);
  const ig_json *arg = ig_pt2_get(&r->in, &m->value, "arg", IG_JSON_OBJECT);
  if (!arg) return ig_ctx_status(r->c);
  bool bare = ig_json_find(arg, "name") != NULL;  // TensorArgument, not Argument
  ig_json_member wrapped = {"as_tensor", strlen("as_tensor"), *arg};
  ig_json argument = {.kind = IG_JSON_OBJECT, .at = arg->at, .n = 1, .members = &wrapped};
  r->outs[i] = ig_pt2_get_argument(&r->in, bare ? &argument : arg);
  return ig_ctx_status(r->c);
}

static ig_status read_outputs(reader *r, const ig_json *specs) {
  r->nouts = specs->n;
  r->outs = ig_arena_push(r->source->arena, (specs->n + 1) * sizeof *r->outs);
  r->kinds = ig_arena_push(r->source->arena, (specs->n + 1) * sizeof *r->kinds);
  r->targets = ig_arena_push(r->source->arena, (specs->n + 1) * sizeof *r->targets);
  if (!r->outs || !r->kinds || !r->targets) return no_memory(r);
  for (size_t i = 0; i < specs->n; i++) IG_RETURN_IF_ERR(read_output(r, &specs->items[i], i));
  return IG_OK;
}

// ---- program

static ig_status index_weights(reader *r, const ig_pt2_weights *list) {
  for (size_t i = 0; i < list->n; i++) {
    ig_map_value *v = ig_map_put(&r->weights, list->at[i].name);
    if (!v) return no_memory(r);
    if (!v->ptr) v->ptr = &list->at[i];
  }
  return IG_OK;
}

static ig_status keep_state(reader *r, const ig_pt2_weights *list, bool constants) {
  ig_graph *g = r->c->capture;
  for (size_t i = 0; i < list->n; i++) {
    const ig_pt2_weight *w = &list->at[i];
    const ig_table_slot *fake = ig_table_find(&g->tensors, w->tensor);
    const ig_tensor *t = fake ? fake->value : NULL;
    bool buffer = t && t->node && t->node->role == IG_INPUT_BUFFER;
    ig_state_kind kind = constants     ? (buffer ? IG_STATE_TEMPORARY : IG_STATE_CONSTANT)
                         : w->is_param ? IG_STATE_PARAMETER
                                       : IG_STATE_BUFFER;
    ig_state s = {kind, ig_graph_keep_text(r->c, g, w->name), w->tensor, false};
    if (!s.name || !ig_vec_push(g->alloc, &g->state, s)) return no_memory(r);
    (void)ig_tensor_retain(w->tensor);
  }
  return IG_OK;
}

static ig_status check_version(reader *r, const ig_json *doc) {
  const ig_json *version = ig_pt2_get(&r->in, doc, "schema_version", IG_JSON_OBJECT);
  int64_t major = ig_pt2_get_int(&r->in, version, "major");
  if (version && major != IG_PT2_SCHEMA_MAJOR) {
    return ig_pt2_fail(&r->in, version, IG_UNSUPPORTED, "export schema %lld, only %d is read",
                       (long long)major, IG_PT2_SCHEMA_MAJOR);
  }
  return ig_ctx_status(r->c);
}

static ig_status read_graph(reader *r, const ig_json *module) {
  const ig_json *graph = ig_pt2_get(&r->in, module, "graph", IG_JSON_OBJECT);
  const ig_json *signature = ig_pt2_get(&r->in, module, "signature", IG_JSON_OBJECT);
  const ig_json *inputs = ig_pt2_get(&r->in, signature, "input_specs", IG_JSON_ARRAY);
  const ig_json *outputs = ig_pt2_get(&r->in, signature, "output_specs", IG_JSON_ARRAY);
  const ig_json *nodes = ig_pt2_get(&r->in, graph, "nodes", IG_JSON_ARRAY);
  r->tensor_values = ig_pt2_get(&r->in, graph, "tensor_values", IG_JSON_OBJECT);
  if (!inputs || !outputs || !nodes || !r->tensor_values) return ig_ctx_status(r->c);
  for (size_t i = 0; i < inputs->n; i++) IG_RETURN_IF_ERR(read_input(r, &inputs->items[i], i));
  IG_RETURN_IF_ERR(keep_state(r, r->source->state, false));
  IG_RETURN_IF_ERR(keep_state(r, r->source->constants, true));
  for (size_t i = 0; i < nodes->n; i++) IG_RETURN_IF_ERR(read_node(r, &nodes->items[i]));
  return read_outputs(r, outputs);
}

static void set_specs(reader *r, const ig_json *module, ig_program *p) {
  const ig_json *calls = ig_json_find(module, "module_call_graph");
  for (size_t i = 0; calls && calls->kind == IG_JSON_ARRAY && i < calls->n; i++) {
    const ig_json *fqn = ig_json_find(&calls->items[i], "fqn");
    const ig_json *signature = ig_json_find(&calls->items[i], "signature");
    if (!fqn || fqn->kind != IG_JSON_STRING || fqn->n || !signature) continue;
    const char *in = ig_pt2_get_text(&r->in, signature, "in_spec");
    const char *out = ig_pt2_get_text(&r->in, signature, "out_spec");
    if (in && out) ig_program_set_specs(r->c, p, in, out);
    return;
  }
}

static ig_status read_program(reader *r, const ig_json *doc, ig_program **out) {
  IG_RETURN_IF_ERR(check_version(r, doc));
  const ig_json *module = ig_pt2_get(&r->in, doc, "graph_module", IG_JSON_OBJECT);
  if (!module) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(ig_capture_begin(r->c));
  ig_graph *g = NULL;
  ig_status st = read_graph(r, module);
  if (st != IG_OK) {
    ig_capture_abort(r->c);
    return st;
  }
  IG_RETURN_IF_ERR(ig_capture_end(r->c, r->outs, r->nouts, &g));
  drop_unread_items(g);
  st = rename_all(r, g);
  if (st == IG_OK) st = ig_graph_verify(r->c, g);
  if (st != IG_OK) {
    ig_graph_free(g);
    return st;
  }
  ig_program *p = ig_program_create(r->c, g, r->kinds, r->targets);
  if (p) set_specs(r, module, p);
  if (ig_ctx_status(r->c) == IG_OK) {
    *out = p;
  } else {
    ig_program_free(p);
  }
  return ig_ctx_status(r->c);
}

ig_status ig_pt2_read_program(ig_ctx *c, const ig_pt2_source *source, ig_program **out) {
  *out = NULL;
  const ig_json *doc = NULL;
  IG_RETURN_IF_ERR(ig_json_parse(c, source->name, source->text, source->arena, NULL, &doc));
  reader r = {
      .c = c, .source = source, .names = ig_map_make(c->alloc), .weights = ig_map_make(c->alloc)};
  r.in = (ig_pt2_in){.c = c,
                     .file = source->name,
                     .text = source->text,
                     .arena = source->arena,
                     .names = &r.names};
  ig_status st = index_weights(&r, source->state);
  if (st == IG_OK) st = index_weights(&r, source->constants);
  if (st == IG_OK) st = read_program(&r, doc, out);
  ig_vec_free(c->alloc, &r.wishes);
  ig_map_free(&r.names);
  ig_map_free(&r.weights);
  return st;
}
