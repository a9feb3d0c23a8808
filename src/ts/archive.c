// SPDX-License-Identifier: Apache-2.0
// Opening TorchScript archives: members, sources, the tree of modules with their weights.
#include "ts/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "codec/bits.h"

#define BAD(ts, ...) ig_fail((ts)->zip.c, IG_SYNTAX | IG_E_SCRIPT_ARCHIVE, __VA_ARGS__)

static ig_status no_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory");
}

// ---- members and sources

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text);
  size_t k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

static ig_status add_source(ig_ctx *c, ig_ts *ts, const ig_zip_entry *e, const char *name) {
  ig_bytes b = {0};
  IG_RETURN_IF_ERR(ig_zip_read_text(c, e, &ts->zip.limits, &ts->arena, &b));
  if (b.n > ts->zip.limits.max_text) {
    return BAD(ts, "%s: source '%s' of %zu bytes, the limit is %" PRIu64, ts->zip.name, name, b.n,
               ts->zip.limits.max_text);
  }
  if ((b.n && memchr(b.at, 0, b.n)) || ig_utf8_check(b.at, b.n) != b.n) {
    return BAD(ts, "%s: source '%s' is not UTF-8", ts->zip.name, name);
  }
  ig_ts_source source = {name, ig_arena_strn(&ts->arena, (const char *)b.at, b.n)};
  if (!source.text || !ig_vec_push(ts->alloc, &ts->sources, source)) return no_memory(c);
  return IG_OK;
}

static ig_status read_members(ig_ctx *c, ig_ts *ts) {
  size_t skip = strlen(ts->zip.root) + 1;
  static const char code[] = "code/";
  for (size_t i = 0; i < ts->zip.zip.n; i++) {
    const ig_zip_entry *e = &ts->zip.zip.entries[i];
    ig_ts_member m = {e->name + skip, e->size};
    if (!ig_vec_push(ts->alloc, &ts->members, m)) return no_memory(c);
    if (strncmp(m.name, code, sizeof code - 1) == 0 && ends_with(m.name, ".py")) {
      IG_RETURN_IF_ERR(add_source(c, ts, e, m.name + sizeof code - 1));
    }
  }
  return ig_ts_read_classes(c, ts);
}

// ---- modules

typedef struct walk {
  ig_ctx *c;
  ig_ts *ts;
  uint64_t steps;
} walk;

static const char *join(ig_ts *ts, const char *prefix, const char *name) {
  size_t n = strlen(prefix) + strlen(name) + 2;
  char *text = ig_arena_push(&ts->arena, n);
  if (text) (void)snprintf(text, n, "%s%s%s", prefix, *prefix ? "." : "", name);
  return text;
}

static ig_ts_role role_of(const ig_ts_class *class, const char *name) {
  ig_map_value *v = class ? ig_map_find(&class->roles, name) : NULL;
  return v ? (ig_ts_role)(v->num - 1) : IG_TS_ATTRIBUTE;
}

static ig_status visit(walk *w, const char *prefix, const ig_object *o, size_t depth);

static ig_status visit_attribute(walk *w, const char *prefix, const ig_object *o, size_t i,
                                 size_t depth) {
  const ig_object *state = ig_object_state(o);
  const ig_object *value = ig_object_at(state, i);
  size_t n = 0;
  const char *key = ig_object_text(ig_object_key(state, i), &n);
  bool module = ig_object_kind_of(value) == IG_OBJECT_INSTANCE;
  if (!module && ig_object_kind_of(value) != IG_OBJECT_TENSOR) return IG_OK;
  if (strlen(key) != n || !n) return BAD(w->ts, "%s: an attribute without a name", w->ts->zip.name);
  const char *name = join(w->ts, prefix, key);
  if (!name) return no_memory(w->c);
  if (module) return visit(w, name, value, depth + 1);
  const ig_ts_class *class = ig_ts_find_class(w->ts, ig_object_text(o, NULL));
  ig_ts_weight weight = {name, role_of(class, key), ig_object_tensor(value)};
  return ig_vec_push(w->ts->alloc, &w->ts->weights, weight) ? IG_OK : no_memory(w->c);
}

// A module may be shared; the limits bound the length of the walk.
static ig_status visit(walk *w, const char *prefix, const ig_object *o, size_t depth) {
  const ig_object *state = ig_object_state(o);
  ig_object_kind kind = ig_object_kind_of(state);
  const ig_object *training = ig_object_find(state, "training");
  ig_ts_module m = {prefix, ig_object_text(o, NULL), ig_object_bool(training)};
  w->steps += 1 + ig_object_count(state) + strlen(prefix) / 8;  // names are kept
  if (depth > w->ts->zip.limits.max_depth || w->steps > w->ts->zip.limits.max_nodes) {
    return BAD(w->ts, "%s: too many modules, or nested too deeply, at '%.200s'", w->ts->zip.name,
               prefix);
  }
  // An object that is not a module has an arbitrary state.
  if (kind != IG_OBJECT_DICT) return IG_OK;
  if (training && !ig_vec_push(w->ts->alloc, &w->ts->modules, m)) return no_memory(w->c);
  for (size_t i = 0; i < ig_object_count(state); i++) {
    IG_RETURN_IF_ERR(visit_attribute(w, prefix, o, i, depth));
  }
  return IG_OK;
}

// ---- opening

static ig_status check_kind(ig_ctx *c, const ig_ts *ts) {
  const ig_torch_zip *z = &ts->zip;
  if (ig_torch_zip_find(z, "model.json")) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_SCRIPT_ARCHIVE,
                   "%s: a TorchScript archive of PyTorch 1.3 or older (model.json); save it again "
                   "with a newer PyTorch",
                   z->name);
  }
  if (ig_torch_zip_find(z, "data.pkl") && ig_torch_zip_find(z, "constants.pkl")) return IG_OK;
  return ig_fail(c, IG_SYNTAX | IG_E_SCRIPT_ARCHIVE,
                 "%s: not a TorchScript archive: it has no 'data.pkl' and 'constants.pkl'",
                 z->name);
}

// (version, (name, table ...), ...)
static ig_status read_lite(ig_ctx *c, ig_ts *ts, const ig_unpack *proto) {
  if (!ig_torch_zip_find(&ts->zip, "bytecode.pkl")) return IG_OK;
  IG_RETURN_IF_ERR(ig_torch_zip_unpickle(&ts->zip, proto, "bytecode.pkl", "constants", &ts->lite));
  const ig_object *version = ig_object_at(ts->lite, 0);
  if (ig_object_kind_of(ts->lite) != IG_OBJECT_TUPLE ||
      ig_object_kind_of(version) != IG_OBJECT_INT || ig_object_int(version) < 1) {
    return ig_fail(c, IG_SYNTAX | IG_E_SCRIPT_ARCHIVE,
                   "%s: bytecode that does not begin with its version", ts->zip.name);
  }
  ts->bytecode = ig_object_int(version);
  return IG_OK;
}

// {"forward": [input, ...]}. The file does not have the data of these tensors.
static ig_status read_traced(ig_ts *ts) {
  if (!ig_torch_zip_find(&ts->zip, "traced_inputs.pkl")) return IG_OK;
  ig_unpack proto = {.script = true, .meta = true};
  return ig_torch_zip_unpickle(&ts->zip, &proto, "traced_inputs.pkl", "traced_inputs", &ts->traced);
}

static ig_status read_all(ig_ctx *c, ig_ts *ts) {
  ig_unpack proto = {.script = true};
  IG_RETURN_IF_ERR(check_kind(c, ts));
  IG_RETURN_IF_ERR(ig_torch_zip_check(&ts->zip));
  IG_RETURN_IF_ERR(
      ig_torch_zip_unpickle(&ts->zip, &proto, "constants.pkl", "constants", &ts->constants));
  if (ig_object_kind_of(ts->constants) != IG_OBJECT_TUPLE) {
    return BAD(ts, "%s: constants are %s, expected a tuple", ts->zip.name,
               ig_object_kind_text(ig_object_kind_of(ts->constants)));
  }
  IG_RETURN_IF_ERR(ig_torch_zip_unpickle(&ts->zip, &proto, "data.pkl", "data", &ts->root));
  if (ig_object_kind_of(ts->root) != IG_OBJECT_INSTANCE) {
    return BAD(ts, "%s: holds %s, expected a module", ts->zip.name,
               ig_object_kind_text(ig_object_kind_of(ts->root)));
  }
  IG_RETURN_IF_ERR(read_lite(c, ts, &proto));
  IG_RETURN_IF_ERR(read_traced(ts));
  IG_RETURN_IF_ERR(read_members(c, ts));
  walk w = {.c = c, .ts = ts};
  return visit(&w, "", ts->root, 1);
}

ig_status ig_ts_parse(ig_ctx *c, const char *name, ig_bytes bytes, ig_file *owner,
                      const ig_limits *limits, ig_ts **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_ts *ts = ig_mem_new(c->alloc, sizeof *ts);
  if (!ts) return no_memory(c);
  ts->alloc = c->alloc;
  ts->arena = ig_arena_make(c->alloc);
  ts->classes = ig_map_make(c->alloc);
  if (owner) ig_ref_retain(&owner->ref);
  ts->file = owner;
  ig_status st = ig_torch_zip_open(c, name, bytes, owner, limits, true, &ts->zip);
  ts->open = st == IG_OK;
  if (st == IG_OK) st = read_all(c, ts);
  if (st == IG_OK) {
    ts->zip.c = NULL;  // the archive outlives the context
    ts->zip.name = NULL;
    *out = ts;
  } else {
    ig_ts_free(ts);
  }
  return st;
}

ig_status ig_ts_open(ig_ctx *c, const char *path, const ig_limits *limits, ig_ts **out) {
  *out = NULL;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(ig_file_map(c, path, &f));
  ig_status st = ig_ts_parse(c, path, f->bytes, f, limits, out);
  ig_file_release(f);
  return st;
}

void ig_ts_free(ig_ts *ts) {
  if (!ts) return;
  ig_object_free(ts->root);
  ig_object_free(ts->constants);
  ig_object_free(ts->lite);
  ig_object_free(ts->traced);
  for (size_t i = 0; i < ts->all_classes.n; i++) ig_map_free(&ts->all_classes.at[i]->roles);
  ig_vec_free(ts->alloc, &ts->all_classes);
  ig_map_free(&ts->classes);
  ig_vec_free(ts->alloc, &ts->members);
  ig_vec_free(ts->alloc, &ts->sources);
  ig_vec_free(ts->alloc, &ts->weights);
  ig_vec_free(ts->alloc, &ts->modules);
  if (ts->open) ig_torch_zip_free(&ts->zip);
  ig_arena_free(&ts->arena);
  ig_file_release(ts->file);
  ig_mem_free(ts->alloc, ts, sizeof *ts);
}

// ---- inspection

int ig_ts_version(const ig_ts *ts) {
  return ts->zip.version;
}
int64_t ig_ts_bytecode(const ig_ts *ts) {
  return ts->bytecode;
}
size_t ig_ts_members(const ig_ts *ts, const ig_ts_member **list) {
  *list = ts->members.at;
  return ts->members.n;
}
size_t ig_ts_sources(const ig_ts *ts, const ig_ts_source **list) {
  *list = ts->sources.at;
  return ts->sources.n;
}
size_t ig_ts_weights(const ig_ts *ts, const ig_ts_weight **list) {
  *list = ts->weights.at;
  return ts->weights.n;
}
size_t ig_ts_modules(const ig_ts *ts, const ig_ts_module **list) {
  *list = ts->modules.at;
  return ts->modules.n;
}
const ig_object *ig_ts_constants(const ig_ts *ts) {
  return ts->constants;
}
const ig_object *ig_ts_root(const ig_ts *ts) {
  return ts->root;
}
const ig_object *ig_ts_lite(const ig_ts *ts) {
  return ts->lite;
}
