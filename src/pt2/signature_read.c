// SPDX-License-Identifier: Apache-2.0
// Signatures of every schema -> placeholders and outputs. From schema 2 on there is one spec per
// input and output; schema 1 has maps from names of nodes to names of weights.
#include <stdio.h>
#include <string.h>

#include "pt2/reader.h"

// ---- inputs

typedef struct input {
  ig_input_kind kind;
  const char *name;  // of the placeholder
  const char *path;  // of the weight, or the user's name
  const ig_json *at;
  bool temporary;  // a buffer that is not persistent
} input;

static ig_status push_input(ig_pt2_reader *r, const input *in, const ig_value *val,
                            ig_tensor *weight) {
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER,
                   .role = in->kind,
                   .persistent = in->kind == IG_INPUT_BUFFER && !in->temporary,
                   .path = ig_graph_keep_text(r->c, r->scope->g, in->path ? in->path : in->name),
                   .constant = weight,
                   .val = *val};
  return ig_pt2_define(r, in->at, in->name, ig_pt2_push(r, &proto, in->name));
}

static bool same_description(const ig_tensor *described, const ig_tensor *weight) {
  bool same = described->dtype == weight->dtype && described->ndim == weight->ndim;
  for (int d = 0; same && d < weight->ndim; d++) {
    ig_int size = ig_sizes(described)[d];
    same = size.expr || size.value == ig_sizes(weight)[d].value;
  }
  return same;
}

static ig_status read_weight(ig_pt2_reader *r, input *in) {
  const ig_map_value *slot = ig_map_find(&r->weights, in->path);
  ig_pt2_weight *w = slot ? slot->ptr : NULL;
  ig_value val;
  if (!w || !w->tensor) {
    return ig_pt2_fail(&r->in, in->at, IG_SYNTAX, "weight '%.200s' is not in the archive",
                       in->path);
  }
  if (!ig_pt2_describe_tensor(r, in->at, in->name, &val)) return ig_ctx_status(r->c);
  if (!same_description(val.tensor, w->tensor)) {
    return ig_pt2_fail(&r->in, in->at, IG_SYNTAX,
                       "weight '%.200s' is described with another dtype or other sizes", in->path);
  }
  if (in->kind == IG_INPUT_BUFFER) in->temporary = in->temporary || w->constant;
  w->role = in->kind;
  return push_input(r, in, &val, w->tensor);
}

// Objects cannot be read: they are named, and rejected by default.
static ig_status read_object(ig_pt2_reader *r, const input *in, const ig_json *arg) {
  const ig_json *fqn = arg ? ig_json_find(arg, "class_fqn") : NULL;
  bool plain = fqn && fqn->kind == IG_JSON_STRING && !memchr(fqn->text, 0, fqn->n);
  const char *cls = plain ? fqn->text : "?";
  ig_value val = ig_of_str(cls);  // all there is
  if (!r->source->objects) {
    return ig_pt2_fail(&r->in, in->at, IG_UNSUPPORTED,
                       "input '%.100s' is a custom object of class '%.200s': such objects are not "
                       "loaded unless asked for",
                       in->path ? in->path : in->name, cls);
  }
  return push_input(r, in, &val, NULL);
}

static ig_status read_user_input(ig_pt2_reader *r, const ig_json *arg, input *in, size_t i) {
  char literal[32];
  ig_value val;
  const ig_json *object = ig_json_find(arg, "as_custom_obj");
  in->kind = IG_INPUT_USER;
  if (object && object->kind == IG_JSON_OBJECT) {
    in->name = ig_pt2_get_text(&r->in, object, "name");
    in->kind = IG_INPUT_OBJECT;
    return in->name ? read_object(r, in, object) : ig_ctx_status(r->c);
  }
  if (!ig_pt2_describe(r, arg, &in->name, &val)) return ig_ctx_status(r->c);
  (void)snprintf(literal, sizeof literal, "arg%zu_1", i);
  if (!in->name) in->name = ig_graph_keep_text(r->c, r->scope->g, literal);
  return in->name ? push_input(r, in, &val, NULL) : ig_ctx_status(r->c);
}

static ig_status read_constant(ig_pt2_reader *r, const ig_json *v, input *in) {
  in->kind = IG_INPUT_USER;
  in->name = ig_pt2_get_text(&r->in, v, "name");
  const ig_json *value = ig_pt2_get(&r->in, v, "value", IG_JSON_OBJECT);
  ig_value val = value ? ig_pt2_get_argument(&r->in, value) : ig_none();
  return ig_ctx_status(r->c) == IG_OK ? push_input(r, in, &val, NULL) : ig_ctx_status(r->c);
}

// Newer files describe tokens as empty tensors.
static ig_status read_token(ig_pt2_reader *r, const input *in) {
  ig_value val = ig_none();
  bool described = r->scope->tensors && ig_json_find(r->scope->tensors, in->name);
  if (described && !ig_pt2_describe_tensor(r, in->at, in->name, &val)) return ig_ctx_status(r->c);
  return push_input(r, in, &val, NULL);
}

static ig_status read_input(ig_pt2_reader *r, const ig_json *v, size_t i) {
  static const struct {
    const char *key;
    ig_input_kind kind;
    const char *path;
  } weights[] = {{"parameter", IG_INPUT_PARAMETER, "parameter_name"},
                 {"buffer", IG_INPUT_BUFFER, "buffer_name"},
                 {"tensor_constant", IG_INPUT_CONSTANT, "tensor_constant_name"},
                 {"custom_obj", IG_INPUT_OBJECT, "custom_obj_name"},
                 {"token", IG_INPUT_TOKEN, NULL}};
  const ig_json_member *m = ig_pt2_union(&r->in, v);
  input in = {.at = v};
  if (!m) return ig_ctx_status(r->c);
  if (strcmp(m->key, "constant_input") == 0) return read_constant(r, &m->value, &in);
  const ig_json *arg = ig_pt2_get(&r->in, &m->value, "arg", IG_JSON_OBJECT);
  if (!arg) return ig_ctx_status(r->c);
  if (strcmp(m->key, "user_input") == 0) return read_user_input(r, arg, &in, i);
  for (size_t k = 0; k < sizeof weights / sizeof *weights; k++) {
    if (strcmp(m->key, weights[k].key) != 0) continue;
    in.kind = weights[k].kind;
    in.name = ig_pt2_get_text(&r->in, arg, "name");
    in.path = weights[k].path ? ig_pt2_get_text(&r->in, &m->value, weights[k].path) : in.name;
    const ig_json *persistent = ig_json_find(&m->value, "persistent");
    in.temporary = persistent && persistent->kind == IG_JSON_BOOL && !persistent->b;
    if (!in.name || !in.path) return ig_ctx_status(r->c);
    if (in.kind == IG_INPUT_OBJECT) return read_object(r, &in, arg);
    return in.kind == IG_INPUT_TOKEN ? read_token(r, &in) : read_weight(r, &in);
  }
  return ig_pt2_fail(&r->in, v, IG_UNSUPPORTED, "inputs of kind '%.50s' are not supported", m->key);
}

// Schema 1: {"arg0_1": "fc.weight"}
static const char *mapped(const ig_json *signature, const char *map, const char *name) {
  const ig_json *m = ig_json_find(signature, map);
  const ig_json *v = m ? ig_json_find(m, name) : NULL;
  return v && v->kind == IG_JSON_STRING && !memchr(v->text, 0, v->n) ? v->text : NULL;
}

static ig_status read_old_input(ig_pt2_reader *r, const ig_json *signature, const ig_json *arg,
                                size_t i) {
  static const struct {
    const char *map;
    ig_input_kind kind;
  } maps[] = {{"inputs_to_parameters", IG_INPUT_PARAMETER},
              {"inputs_to_buffers", IG_INPUT_BUFFER},
              {"inputs_to_lifted_tensor_constants", IG_INPUT_CONSTANT}};
  const ig_json_member *m = ig_pt2_union(&r->in, arg);
  const ig_json *tensor = m && strcmp(m->key, "as_tensor") == 0 ? &m->value : NULL;
  input in = {.at = arg};
  if (!m) return ig_ctx_status(r->c);
  if (tensor && tensor->kind == IG_JSON_OBJECT) {
    in.name = ig_pt2_get_text(&r->in, tensor, "name");
    if (!in.name) return ig_ctx_status(r->c);
  }
  for (size_t k = 0; in.name && k < sizeof maps / sizeof *maps; k++) {
    const char *name = mapped(signature, maps[k].map, in.name);
    in.kind = maps[k].kind;
    in.path = name ? ig_pt2_weight_path(r, name) : NULL;
    if (in.path) return read_weight(r, &in);
  }
  in.name = NULL;
  return read_user_input(r, arg, &in, i);
}

ig_status ig_pt2_read_inputs(ig_pt2_reader *r, const ig_json *module) {
  const ig_json *graph = ig_pt2_get(&r->in, module, "graph", IG_JSON_OBJECT);
  const ig_json *signature = ig_pt2_get(&r->in, module, "signature", IG_JSON_OBJECT);
  const ig_json *inputs = ig_pt2_get(&r->in, graph, "inputs", IG_JSON_ARRAY);
  if (!inputs) return ig_ctx_status(r->c);
  if (r->in.major == 1) {
    for (size_t i = 0; i < inputs->n; i++) {
      IG_RETURN_IF_ERR(read_old_input(r, signature, &inputs->items[i], i));
    }
    return IG_OK;
  }
  const ig_json *specs = ig_pt2_get(&r->in, signature, "input_specs", IG_JSON_ARRAY);
  if (!specs) return ig_ctx_status(r->c);
  if (specs->n != inputs->n) {
    return ig_pt2_fail(&r->in, specs, IG_SYNTAX, "%zu input specs for %zu inputs", specs->n,
                       inputs->n);
  }
  for (size_t i = 0; i < specs->n; i++) IG_RETURN_IF_ERR(read_input(r, &specs->items[i], i));
  return IG_OK;
}

// ---- outputs

static const struct {
  const char *key;
  ig_output_kind kind;
  const char *target;
} kinds[] = {{"user_output", IG_OUTPUT_USER, NULL},
             {"loss_output", IG_OUTPUT_LOSS, NULL},
             {"token", IG_OUTPUT_TOKEN, NULL},
             {"buffer_mutation", IG_OUTPUT_BUFFER_MUTATION, "buffer_name"},
             {"parameter_mutation", IG_OUTPUT_PARAMETER_MUTATION, "parameter_name"},
             {"user_input_mutation", IG_OUTPUT_INPUT_MUTATION, "user_input_name"},
             {"gradient_to_parameter", IG_OUTPUT_GRAD_PARAMETER, "parameter_name"},
             {"gradient_to_user_input", IG_OUTPUT_GRAD_INPUT, "user_input_name"}};

// The target of a mutation or a gradient must exist.
static ig_status check_target(ig_pt2_reader *r, const ig_json *v, ig_output_kind kind,
                              const char *target) {
  bool user = kind == IG_OUTPUT_INPUT_MUTATION || kind == IG_OUTPUT_GRAD_INPUT;
  for (const ig_node *n = r->scope->g->first; n && ig_node_is_placeholder(n); n = n->next) {
    bool same_kind = user ? n->role == IG_INPUT_USER : n->role != IG_INPUT_USER;
    if (same_kind && strcmp(user ? n->name : n->path, target) == 0) return IG_OK;
  }
  return ig_pt2_fail(&r->in, v, IG_SYNTAX, "output of '%.100s', which is not an input", target);
}

static ig_status read_output(ig_pt2_reader *r, const ig_json *v, ig_pt2_outputs *out, size_t i) {
  const ig_json_member *m = ig_pt2_union(&r->in, v);
  size_t k = 0;
  if (!m) return ig_ctx_status(r->c);
  while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].key, m->key) != 0) k++;
  if (k == sizeof kinds / sizeof *kinds) {
    return ig_pt2_fail(&r->in, v, IG_UNSUPPORTED, "outputs of kind '%.50s' are not supported",
                       m->key);
  }
  out->kinds[i] = kinds[k].kind;
  if (!kinds[k].target) return IG_OK;
  out->targets[i] = ig_pt2_get_text(&r->in, &m->value, kinds[k].target);
  return out->targets[i] ? check_target(r, v, out->kinds[i], out->targets[i]) : ig_ctx_status(r->c);
}

static ig_status read_old_output(ig_pt2_reader *r, const ig_json *signature, const ig_json *arg,
                                 ig_pt2_outputs *out, size_t i) {
  static const struct {
    const char *map;
    ig_output_kind kind;
  } maps[] = {{"buffers_to_mutate", IG_OUTPUT_BUFFER_MUTATION},
              {"user_inputs_to_mutate", IG_OUTPUT_INPUT_MUTATION}};
  const ig_json *tensor = ig_json_find(arg, "as_tensor");
  const ig_json *name = tensor ? ig_json_find(tensor, "name") : NULL;
  out->kinds[i] = IG_OUTPUT_USER;
  if (!name || name->kind != IG_JSON_STRING) return IG_OK;
  for (size_t k = 0; k < sizeof maps / sizeof *maps && !out->targets[i]; k++) {
    const char *target = mapped(signature, maps[k].map, name->text);
    if (!target) continue;
    out->targets[i] = ig_pt2_weight_path(r, target);
    out->kinds[i] = maps[k].kind;
  }
  return out->targets[i] ? check_target(r, arg, out->kinds[i], out->targets[i]) : IG_OK;
}

ig_status ig_pt2_read_outputs(ig_pt2_reader *r, const ig_json *module, ig_pt2_outputs *out) {
  const ig_json *graph = ig_pt2_get(&r->in, module, "graph", IG_JSON_OBJECT);
  const ig_json *signature = ig_pt2_get(&r->in, module, "signature", IG_JSON_OBJECT);
  const ig_json *outputs = ig_pt2_get(&r->in, graph, "outputs", IG_JSON_ARRAY);
  const ig_json *specs =
      r->in.major == 1 ? outputs : ig_pt2_get(&r->in, signature, "output_specs", IG_JSON_ARRAY);
  if (!outputs || !specs) return ig_ctx_status(r->c);
  if (specs->n != outputs->n) {
    return ig_pt2_fail(&r->in, specs, IG_SYNTAX, "%zu output specs for %zu outputs", specs->n,
                       outputs->n);
  }
  ig_arena *arena = r->source->arena;
  out->n = outputs->n;
  out->values = ig_arena_array(arena, out->n + 1, sizeof *out->values);
  out->kinds = ig_arena_array(arena, out->n + 1, sizeof *out->kinds);
  out->targets = ig_arena_array(arena, out->n + 1, sizeof *out->targets);
  if (!out->values || !out->kinds || !out->targets) return ig_pt2_no_memory(r);
  for (size_t i = 0; i < out->n; i++) {
    out->targets[i] = NULL;
    out->values[i] = ig_pt2_get_argument(&r->in, &outputs->items[i]);
    if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
    ig_status st = r->in.major == 1 ? read_old_output(r, signature, &outputs->items[i], out, i)
                                    : read_output(r, &specs->items[i], out, i);
    if (st != IG_OK) return st;
  }
  ig_node proto = {.kind = IG_NODE_OUTPUT, .args = out->values, .npos = out->n, .target = "output"};
  (void)ig_pt2_push(r, &proto, "output");
  return ig_ctx_status(r->c);
}
