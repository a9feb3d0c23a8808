// SPDX-License-Identifier: Apache-2.0
// Opening a model file, and queries about it. The file is mapped once; the format's row fills the
// description.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/explain.h"
#include "base/limits.h"
#include "base/options.h"
#include "base/str.h"
#include "model/compiled.h"
#include "rt/packs.h"
#include "tensor/texts.h"

// ---- building

static ig_status no_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory");
}

static void *push(ig_ctx *c, ig_model *m, size_t size) {
  void *p = ig_arena_push(&m->arena, size);
  if (!p) (void)no_memory(c);
  return p;
}

const char *ig_model_text(ig_ctx *c, ig_model *m, const char *text) {
  const char *copy = ig_arena_strn(&m->arena, text, strlen(text));
  if (!copy) (void)no_memory(c);
  return copy;
}

static const char *format(ig_ctx *c, ig_model *m, const char *fmt, va_list ap) {
  char text[1024];
  (void)vsnprintf(text, sizeof text, fmt, ap);
  return ig_model_text(c, m, text);
}

#define ADD(c, m, list, item) \
  ((item) && (ig_vec_push((m)->alloc, list, item) || no_memory(c) == IG_OK))

bool ig_model_add_fact(ig_ctx *c, ig_model *m, ig_fact_group group, const char *name,
                       const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *value = format(c, m, fmt, ap);
  va_end(ap);
  ig_model_fact *f = value ? push(c, m, sizeof *f) : NULL;
  if (f) *f = (ig_model_fact){group, ig_model_text(c, m, name), value};
  return ADD(c, m, &m->facts, f);
}

bool ig_model_add_finding(ig_ctx *c, ig_model *m, ig_cause why, const char *where, const char *fmt,
                          ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *text = format(c, m, fmt, ap);
  va_end(ap);
  ig_model_finding *f = text ? push(c, m, sizeof *f) : NULL;
  const ig_explanation *e = ig_cause_explanation(why);
  if (f) {
    *f = (ig_model_finding){ig_cause_status(why), ig_model_text(c, m, where), text,
                            e ? e->code : NULL};
  }
  return ADD(c, m, &m->findings, f);
}

bool ig_model_add_weight(ig_ctx *c, ig_model *m, const char *name, ig_weight_role role,
                         ig_tensor *t) {
  ig_model_weight *w = push(c, m, sizeof *w);
  if (w) *w = (ig_model_weight){ig_model_text(c, m, name), role, t, NULL};
  if (!w || !w->name || !ADD(c, m, &m->weights, w)) return false;
  (void)ig_tensor_retain(t);
  return true;
}

bool ig_model_add_texts(ig_ctx *c, ig_model *m, const char *name, const ig_value *texts) {
  ig_model_weight *w = push(c, m, sizeof *w);
  ig_value *copy = push(c, m, sizeof *copy);
  if (!w || !copy) return false;
  *copy = *texts;
  *w = (ig_model_weight){ig_model_text(c, m, name), IG_WEIGHT_ARRAY, NULL, copy};
  return w->name && ig_texts_copy(c, &m->arena, copy) && ADD(c, m, &m->weights, w);
}

static ig_model_port *new_port(ig_ctx *c, ig_model *m, const char *name) {
  ig_model_port *p = push(c, m, sizeof *p);
  const char *copy = p ? ig_model_text(c, m, name) : NULL;
  if (!copy) return NULL;
  *p = (ig_model_port){.name = copy, .ndim = -1};
  return p;
}

ig_model_port *ig_model_add_input(ig_ctx *c, ig_model *m, const char *name) {
  ig_model_port *p = new_port(c, m, name);
  return ADD(c, m, &m->inputs, p) ? p : NULL;
}

ig_model_port *ig_model_add_output(ig_ctx *c, ig_model *m, const char *name) {
  ig_model_port *p = new_port(c, m, name);
  return ADD(c, m, &m->outputs, p) ? p : NULL;
}

bool ig_model_port_tensor(ig_ctx *c, ig_model *m, ig_model_port *port, ig_dtype dtype, int ndim) {
  port->kind = IG_KIND_TENSOR;
  port->dtype = dtype;
  ig_model_dim **dims = push(c, m, ig_mem_mul((size_t)ndim + 1, sizeof *dims));
  for (int d = 0; dims && d < ndim; d++) {
    dims[d] = push(c, m, sizeof **dims);
    if (!dims[d]) return false;
  }
  port->dims = (const ig_model_dim *const *)dims;
  port->ndim = ndim;
  return dims != NULL;
}

bool ig_model_count_operator(ig_ctx *c, ig_model *m, const char *name) {
  const ig_map_value *known = ig_map_find(&m->counted, name);
  if (known) {
    ((ig_model_operator *)known->ptr)->count++;
    return true;
  }
  ig_model_operator *o = push(c, m, sizeof *o);
  if (o) *o = (ig_model_operator){ig_model_text(c, m, name), 1};
  if (!o || !o->name || !ADD(c, m, &m->operators, o)) return false;
  ig_map_value *v = ig_map_put(&m->counted, o->name);
  if (!v) return no_memory(c) == IG_OK;
  v->ptr = o;
  return true;
}

static int by_count(const void *a, const void *b) {
  const ig_model_operator *x = *(ig_model_operator *const *)a;
  const ig_model_operator *y = *(ig_model_operator *const *)b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return strcmp(x->name, y->name);
}

static void sort_operators(ig_model *m) {
  if (m->operators.n) {
    qsort((void *)m->operators.at, m->operators.n, sizeof *m->operators.at, by_count);
  }
}

ig_status ig_model_settle(ig_ctx *c, ig_model *m, ig_status st) {
  if (st == IG_OK || ig_status_is_final(st) || !m->options.inspect) return st;
  ig_str text = ig_str_make(c->alloc);
  ig_cause why = ig_ctx_cause(c);
  ig_str_add(&text, "%s", ig_ctx_error(c));
  ig_ctx_clear(c);
  bool ok = !text.failed && ig_model_add_finding(c, m, why, "", "%s", text.at);
  ig_str_free(&text);
  return ok ? IG_OK : c->status;
}

void ig_model_stage(const ig_model *m, const char *stage, uint64_t done, uint64_t total) {
  if (m->options.progress) m->options.progress(m->options.progress_user, stage, done, total);
}

// ---- archives

const ig_zip_entry *ig_model_find(const ig_model *m, const char *name) {
  char path[512];
  int n = snprintf(path, sizeof path, "%s%s", m->root, name);
  return n > 0 && (size_t)n < sizeof path ? ig_zip_find(&m->zip, path) : NULL;
}

const char *ig_model_member_text(ig_ctx *c, ig_model *m, const char *name) {
  const ig_zip_entry *e = ig_model_find(m, name);
  ig_bytes bytes;
  if (!e || e->size > 4096 || ig_zip_read(c, e, &m->arena, &bytes) != IG_OK) return NULL;
  while (bytes.n && bytes.at[bytes.n - 1] <= ' ') bytes.n--;
  return ig_arena_strn(&m->arena, (const char *)bytes.at, bytes.n);
}

// The folder that every member is in; PyTorch's archives have one.
static const char *find_root(ig_model *m) {
  const char *first = m->zip.n ? m->zip.entries[0].name : "";
  const char *slash = strchr(first, '/');
  if (!slash) return "";
  size_t n = (size_t)(slash - first) + 1;
  for (size_t i = 1; i < m->zip.n; i++) {
    if (strncmp(m->zip.entries[i].name, first, n) != 0) return "";
  }
  return ig_arena_strn(&m->arena, first, n);
}

// Where archives store extra files.
static const char *extra_name(const char *name) {
  static const char *const folders[] = {"extra/", "extra_files/"};
  for (size_t i = 0; i < 2; i++) {
    size_t n = strlen(folders[i]);
    if (strncmp(name, folders[i], n) == 0) return name + n;
  }
  return NULL;
}

static ig_status list_members(ig_ctx *c, ig_model *m) {
  size_t root = strlen(m->root);
  for (size_t i = 0; i < m->zip.n; i++) {
    const ig_zip_entry *e = &m->zip.entries[i];
    const char *extra = extra_name(e->name + root);
    ig_model_member *item = push(c, m, sizeof *item);
    if (item) *item = (ig_model_member){extra ? extra : e->name + root, e->size, extra != NULL};
    if (!ADD(c, m, &m->members, item)) return c->status;
  }
  return IG_OK;
}

static ig_status open_zip(ig_ctx *c, ig_model *m) {
  static const uint8_t magic[] = {'P', 'K', 3, 4};
  static const uint8_t empty[] = {'P', 'K', 5, 6};
  const ig_bytes *b = &m->file->bytes;
  m->root = "";
  if (b->n < 4 || (memcmp(b->at, magic, 4) != 0 && memcmp(b->at, empty, 4) != 0)) return IG_OK;
  IG_RETURN_IF_ERR(ig_zip_open(c, m->name, *b, m->options.limits, &m->zip));
  m->is_zip = true;
  m->root = find_root(m);
  return m->root ? list_members(c, m) : no_memory(c);
}

// ---- lifetime

static void destroy(ig_ref *ref) {
  ig_model *m = (ig_model *)ref;
  if (m->format && m->format->close) m->format->close(m);
  for (size_t i = 0; i < m->weights.n; i++) ig_tensor_release(m->weights.at[i]->tensor);
  ig_program_free(m->runnable);
  ig_program_free(m->program);
  ig_vec_free(m->alloc, &m->inputs);
  ig_vec_free(m->alloc, &m->outputs);
  ig_vec_free(m->alloc, &m->weights);
  ig_vec_free(m->alloc, &m->operators);
  ig_vec_free(m->alloc, &m->facts);
  ig_vec_free(m->alloc, &m->members);
  ig_vec_free(m->alloc, &m->findings);
  if (m->is_zip) ig_zip_close(&m->zip);
  ig_file_release(m->file);
  ig_compiled_close(m->compiled);
  ig_packs_free(m->packs);
  ig_arena_free(&m->arena);
  ig_mem_free(m->alloc, m, sizeof *m);
}

ig_model *ig_model_retain(ig_model *m) {
  ig_ref_retain(&m->ref);
  return m;
}

void ig_model_free(ig_model *m) {
  if (m) ig_ref_release(&m->ref);
}

static ig_status read_model(ig_ctx *c, ig_model *m) {
  ig_model_stage(m, "reading", 0, m->file->bytes.n);
  if (ig_compiled_is(m)) IG_RETURN_IF_ERR(ig_compiled_open(c, m));
  IG_RETURN_IF_ERR(open_zip(c, m));
  m->format = ig_model_detect(c, m);
  if (!m->format) return c->status;
  if (m->compiled) IG_RETURN_IF_ERR(ig_compiled_use(c, m));
  ig_scope s = ig_scope_open(c);
  m->counted = ig_map_make(c->alloc);
  ig_status st = m->format->open(c, m);
  ig_map_free(&m->counted);
  sort_operators(m);
  ig_scope_close(c, s);
  return st;
}

// Takes ownership of the file.
static ig_status create(ig_ctx *c, const char *name, ig_file *file, bool in_memory,
                        const ig_model_options *options, ig_model **out) {
  ig_model *m = ig_mem_new(c->alloc, sizeof *m);
  if (!m) {
    ig_file_release(file);
    return no_memory(c);
  }
  m->ref.destroy = destroy;
  atomic_init(&m->ref.count, 1);
  m->alloc = c->alloc;
  m->arena = ig_arena_make(c->alloc);
  m->file = file;
  m->in_memory = in_memory;
  m->root = "";
  IG_OPTIONS_TAKE(&m->options, options, progress_user);
  m->limits = ig_limits_of(c, m->options.limits);
  m->name = ig_model_text(c, m, name);
  const ig_account outer = ig_account_open(c, &m->limits);
  m->packs = m->name ? ig_packs_create(c) : NULL;
  ig_status st = m->packs ? read_model(c, m) : c->status;
  ig_account_close(c, &outer);
  m->options = (ig_model_options){0};
  if (st == IG_OK) {
    *out = m;
  } else {
    ig_model_free(m);
  }
  return st;
}

ig_status ig_model_open(ig_ctx *c, const char *path, const ig_model_options *options,
                        ig_model **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_file *file = NULL;
  IG_RETURN_IF_ERR(ig_file_map(c, path, &file));
  return create(c, path, file, false, options, out);
}

static void destroy_view(ig_ref *ref) {
  ig_file *f = (ig_file *)ref;
  ig_mem_free(f->alloc, f, sizeof *f);
}

static bool wants_copy(const ig_model_options *options) {
  ig_model_options o;
  IG_OPTIONS_TAKE(&o, options, progress_user);
  return o.copy;
}

ig_status ig_model_open_bytes(ig_ctx *c, const char *name, const void *data, size_t n,
                              const ig_model_options *options, ig_model **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  ig_file *f = NULL;
  if (wants_copy(options)) {
    IG_RETURN_IF_ERR(ig_file_copy(c, (ig_bytes){data, n}, &f));
    return create(c, name, f, true, options, out);
  }
  f = ig_mem_new(c->alloc, sizeof *f);
  if (!f) return no_memory(c);
  f->ref.destroy = destroy_view;
  atomic_init(&f->ref.count, 1);
  f->alloc = c->alloc;
  f->bytes = (ig_bytes){data, n};
  return create(c, name, f, true, options, out);
}

// ---- inspection

ig_model_kind ig_model_get_kind(const ig_model *m) {
  return m->compiled ? IG_MODEL_COMPILED : m->format->kind;
}
const char *ig_model_name(const ig_model *m) {
  return m->name;
}
uint64_t ig_model_file_bytes(const ig_model *m) {
  return m->compiled ? m->compiled->whole->bytes.n : m->file->bytes.n;
}
ig_program *ig_model_program(const ig_model *m) {
  return m->program;
}
ig_program *ig_model_runnable(const ig_model *m) {
  return m->runnable;
}

#define LIST(verb, type, field)                                        \
  size_t ig_model_##verb(const ig_model *m, const type *const **out) { \
    *out = (const type *const *)m->field.at;                           \
    return m->field.n;                                                 \
  }
LIST(inputs, ig_model_port, inputs)
LIST(outputs, ig_model_port, outputs)
LIST(weights, ig_model_weight, weights)
LIST(operators, ig_model_operator, operators)
LIST(facts, ig_model_fact, facts)
LIST(members, ig_model_member, members)
LIST(findings, ig_model_finding, findings)

ig_status ig_model_member_data(ig_ctx *c, const ig_model *m, size_t i, const void **data,
                               size_t *n) {
  *data = NULL;
  *n = 0;
  if (c->status != IG_OK) return c->status;
  if (i >= m->members.n) {
    return ig_fail(c, IG_BAD_INDEX, "%s: no member %zu: there are %zu", m->name, i, m->members.n);
  }
  const ig_zip_entry *e = &m->zip.entries[i];
  if (!e->deflated) {
    IG_RETURN_IF_ERR(ig_zip_verify(c, e));
    *data = e->packed.at;
    *n = e->packed.n;
    return IG_OK;
  }
  uint8_t *copy = ig_scope_push(c, (size_t)e->size + 1);
  if (!copy) return c->status;
  IG_RETURN_IF_ERR(ig_zip_inflate(c, e, copy));
  *data = copy;
  *n = (size_t)e->size;
  return IG_OK;
}

// "arg12" -> 12; -1: something else.
static int number_after(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  if (strncmp(name, prefix, n) != 0) return -1;
  size_t digits = strspn(name + n, "0123456789");
  if (digits == 0 || digits > 6 || name[n + digits]) return -1;
  return (int)strtol(name + n, NULL, 10);
}

int ig_model_find_input(const ig_model *m, const char *name) {
  for (size_t i = 0; i < m->inputs.n; i++) {
    if (strcmp(m->inputs.at[i]->name, name) == 0) return (int)i;
  }
  int i = number_after(name, "arg");
  return i >= 0 && (size_t)i < m->inputs.n ? i : -1;
}

// PyTorch 2.1 writes L__self___a_b for the buffer a.b.
static bool is_mangled(const char *mangled, const char *name) {
  static const char prefix[] = "L__self___";
  if (strncmp(mangled, prefix, sizeof prefix - 1) != 0) return false;
  mangled += sizeof prefix - 1;
  while (*name && *mangled == (*name == '.' ? '_' : *name)) {
    name++;
    mangled++;
  }
  return *name == 0 && *mangled == 0;
}

static int find_target(const ig_model *m, ig_port_role role, const char *target) {
  int mangled = -1;
  for (size_t i = 0; i < m->outputs.n; i++) {
    const ig_model_port *p = m->outputs.at[i];
    if (p->role != role || !p->target) continue;
    if (strcmp(p->target, target) == 0) return (int)i;
    if (is_mangled(p->target, target)) mangled = (int)i;
  }
  return mangled;
}

int ig_model_find_output(const ig_model *m, const char *name) {
  for (size_t i = 0; i < m->outputs.n; i++) {
    const ig_model_port *p = m->outputs.at[i];
    if (p->role == IG_PORT_USER && strcmp(p->name, name) == 0) return (int)i;
  }
  if (strncmp(name, "mut_buf.", 8) == 0) return find_target(m, IG_PORT_BUFFER, name + 8);
  int i = number_after(name, "mut_arg");
  if (i >= 0) {
    return (size_t)i < m->inputs.n ? find_target(m, IG_PORT_INPUT, m->inputs.at[i]->name) : -1;
  }
  int wanted = number_after(name, "out");
  for (size_t k = 0; k < m->outputs.n && wanted >= 0; k++) {
    if (m->outputs.at[k]->role == IG_PORT_USER && wanted-- == 0) return (int)k;
  }
  return -1;
}
