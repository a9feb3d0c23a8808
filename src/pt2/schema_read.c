// SPDX-License-Identifier: Apache-2.0
// JSON of the export schema, of any version -> program.
#include <stdio.h>
#include <string.h>

#include "ingot/pass.h"
#include "pt2/reader.h"

// ---- versions

// A bare number (1, 2), or {"major": 8, "minor": 20}; since then a reader accepts any minor
// version.
static ig_status read_version(ig_pt2_reader *r, const ig_json *doc) {
  const ig_json *version = ig_json_find(doc, "schema_version");
  if (!version) {
    return ig_pt2_fail(&r->in, doc, IG_SYNTAX, "no 'schema_version': not a saved program");
  }
  if (version->kind == IG_JSON_INT) {
    r->in.major = version->i;
  } else {
    r->in.major = ig_pt2_get_int(&r->in, version, "major");
    r->in.minor = ig_pt2_get_int(&r->in, version, "minor");
  }
  if (ig_ctx_status(r->c) != IG_OK) return ig_ctx_status(r->c);
  if (r->in.major < 1 || r->in.major > IG_PT2_SCHEMA_MAJOR) {
    return ig_pt2_fail(&r->in, version, IG_UNSUPPORTED,
                       "export schema %lld.%lld; versions 1 to %d are read", (long long)r->in.major,
                       (long long)r->in.minor, IG_PT2_SCHEMA_MAJOR);
  }
  return IG_OK;
}

// ---- weights

static ig_status index_weights(ig_pt2_reader *r, const ig_pt2_weights *list, bool constants) {
  for (size_t i = 0; list && i < list->n; i++) {
    ig_pt2_weight *w = &list->at[i];
    w->name = ig_pt2_weight_path(r, w->name);
    ig_map_value *v = ig_map_put(&r->weights, w->name);
    if (!v) return ig_pt2_no_memory(r);
    w->constant = constants;
    w->role = IG_INPUT_USER;
    if (!v->ptr) v->ptr = w;
  }
  return IG_OK;
}

static const char *address_of(const ig_tensor *t) {
  size_t bytes = ig_mem_mul((size_t)t->offset.value, ig_dtype_size(t->dtype));
  return (const char *)t->storage->data + bytes;  // admitted: inside the storage
}

static bool is_same_view(const ig_tensor *a, const ig_tensor *b) {
  if (a->dtype != b->dtype || a->ndim != b->ndim || a->requires_grad != b->requires_grad) {
    return false;
  }
  for (int d = 0; d < 2 * a->ndim; d++) {
    if (a->dims[d].value != b->dims[d].value) return false;
  }
  return true;
}

// Weights that are the same memory, read in the same way, become one tensor: files do not say that
// they were one.
static ig_status tie_weights(ig_pt2_reader *r, const ig_pt2_weights *list) {
  ig_table first = ig_table_make(r->c->alloc);  // address -> ig_pt2_weight
  ig_status st = IG_OK;
  for (size_t i = 0; st == IG_OK && list && i < list->n; i++) {
    ig_pt2_weight *w = &list->at[i];
    if (!w->tensor || ig_is_fake(w->tensor) || ig_tensor_numel(w->tensor) == 0) continue;
    ig_table_slot *slot = ig_table_put(&first, address_of(w->tensor));
    if (!slot) st = ig_pt2_no_memory(r);
    const ig_pt2_weight *known = slot ? slot->value : NULL;
    if (slot && !known) slot->value = w;
    bool same = known && known->is_param == w->is_param && is_same_view(known->tensor, w->tensor);
    if (same) w->tensor = known->tensor;
  }
  ig_table_free(&first);
  return st;
}

static ig_status keep_state(ig_pt2_reader *r, const ig_pt2_weights *list, bool constants) {
  ig_graph *g = r->scope->g;
  for (size_t i = 0; list && i < list->n; i++) {
    const ig_pt2_weight *w = &list->at[i];
    if (!w->tensor) continue;  // an object
    bool param = w->role == IG_INPUT_PARAMETER || (w->role == IG_INPUT_USER && w->is_param);
    ig_state_kind kind = constants
                             ? (w->role == IG_INPUT_BUFFER ? IG_STATE_TEMPORARY : IG_STATE_CONSTANT)
                         : param ? IG_STATE_PARAMETER
                                 : IG_STATE_BUFFER;
    ig_state s = {kind, ig_graph_keep_text(r->c, g, w->name), w->tensor, false};
    if (!s.name || !ig_vec_push(g->alloc, &g->state, s)) return ig_pt2_no_memory(r);
    (void)ig_tensor_retain(w->tensor);
  }
  return IG_OK;
}

// ---- calling convention

static const ig_json *root_signature(const ig_json *module) {
  const ig_json *calls = ig_json_find(module, "module_call_graph");
  for (size_t i = 0; calls && calls->kind == IG_JSON_ARRAY && i < calls->n; i++) {
    const ig_json *fqn = ig_json_find(&calls->items[i], "fqn");
    const ig_json *signature = ig_json_find(&calls->items[i], "signature");
    bool root = fqn && fqn->kind == IG_JSON_STRING && fqn->n == 0;
    if (root && signature && signature->kind == IG_JSON_OBJECT) return signature;
  }
  const ig_json *spec = ig_json_find(module, "call_spec");  // schema 1
  return spec && spec->kind == IG_JSON_OBJECT ? spec : NULL;
}

// Schema 1 describes only the positional arguments; later ones a pair of them and the keyword
// arguments.
static const char *with_keywords(ig_pt2_reader *r, const char *in) {
  static const char head[] =
      "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [";
  static const char tail[] =
      ", {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]";
  size_t n = strlen(in);
  if (r->in.major > 1 || n < sizeof "[1, ]" || strncmp(in, "[1, ", 4) != 0) return in;
  size_t room = n + sizeof head + sizeof tail;
  char *text = ig_arena_push(r->source->arena, room);
  if (!text) {
    (void)ig_pt2_no_memory(r);
    return in;
  }
  (void)snprintf(text, room, "%s%.*s%s", head, (int)(n - 5), in + 4, tail);
  return text;
}

static void set_specs(ig_pt2_reader *r, const ig_json *module, ig_program *p) {
  const ig_json *signature = root_signature(module);
  if (!signature) return;
  const char *in = ig_pt2_get_text(&r->in, signature, "in_spec");
  const char *out = ig_pt2_get_text(&r->in, signature, "out_spec");
  if (!in || !out) return;
  // Reading these would require importing the module that the file names.
  if (strstr(in, "__enum__") || strstr(out, "__enum__")) {
    (void)ig_pt2_fail(&r->in, signature, IG_UNSUPPORTED,
                      "a tree specification with an enumeration: such containers are not read");
    return;
  }
  ig_program_set_specs(r->c, p, with_keywords(r, in), out);
}

static void set_names(ig_pt2_reader *r, const ig_json *module, ig_program *p) {
  const ig_json *signature = root_signature(module);
  const ig_json *names = signature ? ig_json_find(signature, "forward_arg_names") : NULL;
  if (!names || names->kind != IG_JSON_ARRAY) return;
  const char **at = ig_arena_array(r->source->arena, names->n + 1, sizeof *at);
  if (!at) (void)ig_pt2_no_memory(r);
  for (size_t i = 0; at && i < names->n; i++) {
    const ig_json *name = &names->items[i];
    bool plain = name->kind == IG_JSON_STRING && ig_pt2_name_is_plain(name->text);
    if (!plain) return;  // only messages and printed code use them
    at[i] = name->text;
  }
  if (at) ig_program_set_arg_names(r->c, p, at, names->n);
}

static void set_modules(ig_pt2_reader *r, const ig_json *module, ig_program *p) {
  const ig_json *calls = ig_json_find(module, "module_call_graph");
  if (!calls || calls->kind != IG_JSON_ARRAY) return;
  const char **at = ig_arena_array(r->source->arena, calls->n + 1, sizeof *at);
  if (!at) (void)ig_pt2_no_memory(r);
  size_t n = 0;
  for (size_t i = 0; at && i < calls->n; i++) {
    const ig_json *fqn = ig_json_find(&calls->items[i], "fqn");
    bool named = fqn && fqn->kind == IG_JSON_STRING && fqn->n && !memchr(fqn->text, 0, fqn->n);
    if (named) at[n++] = fqn->text;
  }
  if (at) ig_program_set_modules(r->c, p, at, n);
}

static void set_texts(ig_pt2_reader *r, const ig_json *module, ig_program *p) {
  const ig_json *metadata = ig_json_find(module, "metadata");
  const ig_json *custom = metadata ? ig_json_find(metadata, "custom") : NULL;
  const ig_json *tuples = ig_json_find(module, "treespec_namedtuple_fields");
  bool plain = custom && custom->kind == IG_JSON_STRING && !memchr(custom->text, 0, custom->n);
  ig_str text = ig_str_make(r->c->alloc);
  ig_json_writer w = {.out = &text};
  bool any = tuples && tuples->kind == IG_JSON_OBJECT && tuples->n;
  if (any) ig_json_value(&w, tuples);
  if (text.failed) (void)ig_pt2_no_memory(r);
  ig_program_set_texts(r->c, p, plain ? custom->text : NULL, any && !text.failed ? text.at : NULL);
  ig_str_free(&text);
}

// ---- versions and guards

static ig_status add_text(ig_pt2_reader *r, const char *name, const ig_json *v) {
  if (!v || v->kind != IG_JSON_STRING) return IG_OK;
  return ig_pt2_origin_fact(r->c, r->source->origin, name, "%.300s", v->text);
}

static ig_status add_opset(ig_pt2_reader *r, const ig_json_member *m) {
  char name[128];
  if (m->value.kind != IG_JSON_INT) return IG_OK;
  (void)snprintf(name, sizeof name, "opset %.100s", m->key);
  return ig_pt2_origin_fact(r->c, r->source->origin, name, "%lld", (long long)m->value.i);
}

static ig_status add_schema(ig_pt2_reader *r) {
  char minor[32] = "";
  if (r->in.major > 2) (void)snprintf(minor, sizeof minor, ".%lld", (long long)r->in.minor);
  return ig_pt2_origin_fact(r->c, r->source->origin, "schema", "%lld%s", (long long)r->in.major,
                            minor);
}

static ig_status read_facts(ig_pt2_reader *r, const ig_json *doc) {
  const ig_json *verifiers = ig_json_find(doc, "verifiers");
  const ig_json *opsets = ig_json_find(doc, "opset_version");
  if (!r->source->origin) return IG_OK;
  IG_RETURN_IF_ERR(add_schema(r));
  IG_RETURN_IF_ERR(add_text(r, "torch_version", ig_json_find(doc, "torch_version")));
  IG_RETURN_IF_ERR(add_text(r, "dialect", ig_json_find(doc, "dialect")));
  for (size_t i = 0; verifiers && verifiers->kind == IG_JSON_ARRAY && i < verifiers->n; i++) {
    IG_RETURN_IF_ERR(add_text(r, "dialect", &verifiers->items[i]));
  }
  for (size_t i = 0; opsets && opsets->kind == IG_JSON_OBJECT && i < opsets->n; i++) {
    IG_RETURN_IF_ERR(add_opset(r, &opsets->members[i]));
  }
  return IG_OK;
}

static ig_status read_guards(ig_pt2_reader *r, const ig_json *doc) {
  const ig_json *guards = ig_json_find(doc, "guards_code");
  for (size_t i = 0; r->source->origin && guards && guards->kind == IG_JSON_ARRAY && i < guards->n;
       i++) {
    const ig_json *v = &guards->items[i];
    if (v->kind != IG_JSON_STRING || memchr(v->text, 0, v->n)) {
      return ig_pt2_fail(&r->in, v, IG_SYNTAX, "a guard that is no text");
    }
    IG_RETURN_IF_ERR(ig_pt2_origin_guard(r->c, r->source->origin, v->text));
  }
  return IG_OK;
}

// Preserved module call signatures.
static ig_status read_calls(ig_pt2_reader *r, const ig_json *module) {
  const ig_json *calls = ig_json_find(module, "module_call_graph");
  bool any = r->source->origin && calls && calls->kind == IG_JSON_ARRAY;
  for (size_t i = 0; any && i < calls->n && ig_ctx_status(r->c) == IG_OK; i++) {
    const ig_json *fqn = ig_json_find(&calls->items[i], "fqn");
    const ig_json *signature = ig_json_find(&calls->items[i], "signature");
    bool kept = fqn && fqn->kind == IG_JSON_STRING && fqn->n && !memchr(fqn->text, 0, fqn->n) &&
                signature && signature->kind == IG_JSON_OBJECT;
    if (!kept) continue;
    ig_str text = ig_str_make(r->c->alloc);
    ig_json_writer w = {.out = &text};
    ig_json_value(&w, signature);
    bool ok = !text.failed && !strstr(text.at, "__enum__");  // as for the program itself
    if (text.failed) (void)ig_pt2_no_memory(r);
    ig_status st = ok ? ig_pt2_origin_call(r->c, r->source->origin, fqn->text, text.at) : IG_OK;
    ig_str_free(&text);
    IG_RETURN_IF_ERR(st);
  }
  return ig_ctx_status(r->c);
}

// ---- program

static ig_status read_graph(ig_pt2_reader *r, const ig_json *module, ig_pt2_outputs *outputs) {
  const ig_json *graph = ig_pt2_get(&r->in, module, "graph", IG_JSON_OBJECT);
  if (!graph) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(ig_pt2_read_inputs(r, module));
  IG_RETURN_IF_ERR(keep_state(r, r->source->state, false));
  IG_RETURN_IF_ERR(keep_state(r, r->source->constants, true));
  IG_RETURN_IF_ERR(ig_pt2_read_constants(r, graph, true));
  IG_RETURN_IF_ERR(ig_pt2_read_nodes(r, graph));
  IG_RETURN_IF_ERR(ig_pt2_read_outputs(r, module, outputs));
  ig_pt2_drop_unread(r->scope->g);
  if (!ig_graph_lift_constants(r->c, r->scope->g)) return ig_ctx_status(r->c);
  return ig_graph_verify(r->c, r->scope->g);
}

static ig_release find_release(const ig_json *module) {
  const ig_json *metadata = ig_json_find(module, "metadata");
  const ig_json *forms = metadata ? ig_json_find(metadata, IG_PT2_FORMS) : NULL;
  if (!forms || forms->kind != IG_JSON_STRING) return IG_RELEASE_2_4;
  return ig_release_find(forms->text);
}

static ig_program *make_program(ig_pt2_reader *r, const ig_json *doc, const ig_json *module) {
  ig_pt2_scope scope;
  ig_pt2_outputs outputs = {0};
  const ig_json *graph = ig_pt2_get(&r->in, module, "graph", IG_JSON_OBJECT);
  const ig_json *ranges = ig_json_find(doc, "range_constraints");
  r->release = find_release(module);
  if (!graph || ig_pt2_read_symbols(r, graph, ranges) != IG_OK) return NULL;
  ig_status st = ig_pt2_scope_open(r, graph, &scope);
  if (st == IG_OK) st = read_graph(r, module, &outputs);
  ig_pt2_scope_close(r, &scope, NULL);
  r->c->file = NULL;  // of the last node: its text is freed with the graph
  if (st != IG_OK) {
    ig_graph_free(scope.g);
    return NULL;
  }
  ig_program *p = ig_program_create(r->c, scope.g, outputs.kinds, outputs.targets);
  if (!p) return NULL;
  set_specs(r, module, p);
  set_names(r, module, p);
  set_modules(r, module, p);
  set_texts(r, module, p);
  if (r->writes) ig_program_set_training(p, true);
  if (ig_ctx_status(r->c) == IG_OK && ig_pt2_set_ranges(r, ranges, p) == IG_OK) return p;
  ig_program_free(p);
  return NULL;
}

static ig_status read_program(ig_pt2_reader *r, const ig_json *doc, ig_program **out) {
  IG_RETURN_IF_ERR(read_version(r, doc));
  const ig_json *module = ig_pt2_get(&r->in, doc, "graph_module", IG_JSON_OBJECT);
  if (!module) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(read_facts(r, doc));
  IG_RETURN_IF_ERR(read_guards(r, doc));
  IG_RETURN_IF_ERR(read_calls(r, module));
  const ig_json *graph = ig_pt2_get(&r->in, module, "graph", IG_JSON_OBJECT);
  if (!graph) return ig_ctx_status(r->c);
  IG_RETURN_IF_ERR(ig_pt2_read_modules(r, graph));
  IG_RETURN_IF_ERR(tie_weights(r, r->source->state));
  IG_RETURN_IF_ERR(index_weights(r, r->source->state, false));
  IG_RETURN_IF_ERR(index_weights(r, r->source->constants, true));
  ig_program *p = make_program(r, doc, module);
  if (p && ig_ctx_status(r->c) == IG_OK) {
    *out = p;
  } else {
    ig_program_free(p);
  }
  return ig_ctx_status(r->c);
}

ig_status ig_pt2_read_program(ig_ctx *c, const ig_pt2_source *source, ig_program **out) {
  *out = NULL;
  const ig_json *doc = NULL;
  IG_RETURN_IF_ERR(
      ig_json_parse(c, source->name, source->text, source->arena, source->limits, &doc));
  ig_map exprs = ig_map_make(c->alloc);
  ig_pt2_reader r = {.c = c,
                     .source = source,
                     .weights = ig_map_make(c->alloc),
                     .modules = ig_map_make(c->alloc),
                     .stacks = ig_map_make(c->alloc),
                     .frames = ig_map_make(c->alloc),
                     .solved = ig_map_make(c->alloc)};
  r.in = (ig_pt2_in){.c = c,
                     .file = source->name,
                     .text = source->text,
                     .arena = source->arena,
                     .exprs = &exprs,
                     .sub = ig_pt2_read_sub,
                     .user = &r};
  // Descriptions of values are not recorded, and use the symbols of this program.
  const char *file = c->file;
  int line = c->line;
  ig_mode_scope mode =
      ig_mode_push(c, &(ig_mode_change){IG_MODE_CAPTURE | IG_MODE_SYM, {.sym = ig_sym_create(c)}});
  ig_scope s = ig_scope_open(c);
  ig_status st = c->mode->sym ? read_program(&r, doc, out) : ig_pt2_no_memory(&r);
  ig_scope_close(c, s);
  if (c->mode->sym) ig_ref_release(&c->mode->sym->ref);
  ig_mode_pop(c, &mode);
  (void)ig_ctx_at(c, file, line);
  ig_map_free(&exprs);
  ig_map_free(&r.weights);
  ig_map_free(&r.solved);
  ig_map_free(&r.modules);
  ig_map_free(&r.stacks);
  ig_map_free(&r.frames);
  return st;
}
