// SPDX-License-Identifier: Apache-2.0
// Writing compiled models. The model is written first, into memory, and opened from there, so that
// its weights are found by the same keys as in the file; then it is planned, and what the plan has
// packed is appended.
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/options.h"
#include "ingot/diff.h"
#include "model/compiled.h"
#include "model/session.h"
#include "onnx/proto_model.h"

typedef struct writer {
  ig_ctx *c;
  ig_compile_options options;
  const ig_model *m;
  ig_bytes model;    // sections
  ig_bytes weights;  //
  bool has_weights;
  ig_precision precision;
  ig_sink parts[2];  // what they lie in, if not in the model's file
  IG_VEC(struct packed {
    ig_compiled_pack record;
    const void *data;
  })
  packs;
  uint64_t at;  // where the next one lies
} writer;

static void stage(const writer *w, const char *what, uint64_t done, uint64_t total) {
  if (w->options.progress) w->options.progress(w->options.progress_user, what, done, total);
}

static uint64_t aligned(uint64_t at) {
  return (at + IG_COMPILED_ALIGN - 1) / IG_COMPILED_ALIGN * IG_COMPILED_ALIGN;
}

// ---- the file

static void put(uint8_t *at, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static void put_section(uint8_t *at, uint32_t kind, ig_bytes b, uint64_t offset) {
  put(at, kind, 4);
  put(at + 4, ig_crc32(0, b.at, b.n), 4);
  put(at + 8, offset, 8);
  put(at + 16, b.n, 8);
}

static void put_pack(uint8_t *at, const ig_compiled_pack *k) {
  uint64_t error = 0;
  memcpy(&error, &k->error, sizeof error);
  put(at, k->key, 8);
  put(at + 8, k->method, 4);
  put(at + 12, k->crc, 4);
  put(at + 16, error, 8);
  put(at + 24, k->offset, 8);
  put(at + 32, k->bytes, 8);
}

static size_t head_size(const writer *w) {
  return IG_COMPILED_HEAD + (size_t)(w->has_weights ? 2 : 1) * IG_COMPILED_SECTION +
         w->packs.n * IG_COMPILED_PACK;
}

static int by_key(const void *a, const void *b) {
  uint64_t x = ((const struct packed *)a)->record.key;
  uint64_t y = ((const struct packed *)b)->record.key;
  return x < y ? -1 : x > y;
}

// Records of one key are of the same weights.
static void order(writer *w) {
  if (w->packs.n) qsort(w->packs.at, w->packs.n, sizeof *w->packs.at, by_key);
  size_t n = 0;
  for (size_t i = 0; i < w->packs.n; i++) {
    if (n && w->packs.at[n - 1].record.key == w->packs.at[i].record.key) continue;
    w->packs.at[n++] = w->packs.at[i];
  }
  w->packs.n = n;
}

static void put_head(const writer *w, uint64_t model, uint64_t weights, uint64_t total,
                     uint8_t *head) {
  size_t size = head_size(w);
  memcpy(head, ig_compiled_magic, sizeof ig_compiled_magic);
  put(head + 8, IG_COMPILED_VERSION, 4);
  put(head + 16, size, 8);
  put(head + 24, total, 8);
  const char *level = ig_compiled_level(ig_cpu_level());
  for (size_t i = 0; level[i]; i++) head[32 + i] = (uint8_t)level[i];
  put(head + 48, w->has_weights ? 2 : 1, 4);
  put(head + 52, w->packs.n, 4);
  put(head + 56, w->precision, 4);
  uint8_t *at = head + IG_COMPILED_HEAD;
  put_section(at, IG_SECTION_MODEL, w->model, model);
  at += IG_COMPILED_SECTION;
  if (w->has_weights) {
    put_section(at, IG_SECTION_WEIGHTS, w->weights, weights);
    at += IG_COMPILED_SECTION;
  }
  for (size_t i = 0; i < w->packs.n; i++, at += IG_COMPILED_PACK) {
    put_pack(at, &w->packs.at[i].record);
  }
  put(head + 12, ig_crc32(0, head + 16, size - 16), 4);
}

static ig_status write_file(writer *w, ig_sink *to) {
  ig_ctx *c = w->c;
  order(w);
  size_t size = head_size(w);
  uint64_t model = aligned(size);
  uint64_t weights = aligned(model + w->model.n);
  uint64_t total = w->has_weights ? weights + w->weights.n : model + w->model.n;
  for (size_t i = 0; i < w->packs.n; i++) {
    ig_compiled_pack *k = &w->packs.at[i].record;
    k->offset = aligned(total);
    total = k->offset + k->bytes;
  }
  ig_scope scope = ig_scope_open(c);
  uint8_t *head = ig_scope_array(c, size, 1);
  if (head) {
    memset(head, 0, size);
    put_head(w, model, weights, total, head);
    ig_sink_put(to, head, size);
  }
  ig_scope_close(c, scope);
  if (!head) return c->status;
  ig_sink_zeros(to, (size_t)(model - to->total));
  ig_sink_put(to, w->model.at, w->model.n);
  if (w->has_weights) {
    ig_sink_zeros(to, (size_t)(weights - to->total));
    ig_sink_put(to, w->weights.at, w->weights.n);
  }
  for (size_t i = 0; i < w->packs.n; i++) {
    const ig_compiled_pack *k = &w->packs.at[i].record;
    stage(w, "writing", to->total, total);
    ig_sink_zeros(to, (size_t)(k->offset - to->total));
    ig_sink_put(to, w->packs.at[i].data, (size_t)k->bytes);
  }
  return IG_OK;
}

// ---- what is in it

// The model as bytes: an ONNX model in two parts, so that its weights are aligned and all there.
static ig_status write_model(writer *w, const ig_model *m) {
  const ig_onnx_model *onnx = ig_model_onnx(m);
  if (!onnx) {
    w->model = m->file->bytes;
    return IG_OK;
  }
  IG_RETURN_IF_ERR(ig_om_write_parts(w->c, onnx, &w->parts[0], &w->parts[1]));
  if (w->parts[0].error || w->parts[1].error) return ig_fail(w->c, IG_NOMEM, "out of memory");
  w->model = (ig_bytes){w->parts[0].at, w->parts[0].n};
  w->weights = (ig_bytes){w->parts[1].at, w->parts[1].n};
  w->has_weights = true;
  return IG_OK;
}

static void add_pack(void *user, const ig_pack *k) {
  writer *w = user;
  ig_pack_source source = k->source;
  struct packed item = {.data = NULL};
  size_t bytes = 0;
  if (w->c->status != IG_OK || !ig_compiled_key(w->c, w->m, &source, &item.record.key)) return;
  item.data = ig_layer_packed(k->layer, &bytes);
  item.record.method = ig_layer_method_of(k->layer);
  item.record.error = ig_layer_error(k->layer);
  item.record.bytes = bytes;
  item.record.crc = ig_crc32(0, item.data, bytes);
  if (!ig_vec_push(w->c->alloc, &w->packs, item)) {
    (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  }
}

// A layer that stays f32: a record without bytes.
static void add_f32(void *user, const ig_pack_source *s) {
  writer *w = user;
  struct packed item = {.data = NULL};
  if (w->c->status != IG_OK || !ig_compiled_key(w->c, w->m, s, &item.record.key)) return;
  if (!ig_vec_push(w->c->alloc, &w->packs, item)) {
    (void)ig_fail(w->c, IG_NOMEM, "out of memory");
  }
}

static void report(void *user, const ig_plan_loss *l) {
  const writer *w = user;
  int64_t offset = 0;
  int64_t weight = ig_compiled_weight(w->m, l->weight, &offset);
  const char *name = l->name[0] || weight < 0 ? l->name : w->m->weights.at[weight]->name;
  ig_layer_report r = {name, l->target, l->error, l->kept};
  if (w->options.report) w->options.report(w->options.report_user, &r);
}

static ig_status measure(writer *w, ig_session *s) {
  ig_plan_measure m = {w->options.loss, report, w};
  stage(w, "measuring", 0, 0);
  return ig_session_measure(s, &m);
}

static ig_status set_zeros(ig_session *s, size_t i) {
  ig_ctx *c = s->c;
  const ig_model_port *p = s->m->inputs.at[i];
  int64_t sizes[IG_MAX_DIM];
  if (p->kind != IG_KIND_TENSOR || p->ndim < 0 || p->dtype == IG_DTYPE_COUNT) {
    return ig_fail(c, IG_INVALID, "%s: input '%s': the model does not state its sizes: give it",
                   s->m->name, p->name);
  }
  IG_RETURN_IF_ERR(ig_model_input_sizes(c, s->m, i, NULL, 0, sizes));
  ig_tensor *t = ig_tensor_empty(c, p->dtype, sizes, p->ndim);
  size_t bytes = t ? ig_mem_mul((size_t)ig_tensor_numel(t), ig_dtype_size(p->dtype)) : 0;
  if (bytes) memset(ig_tensor_data(t), 0, bytes);
  return t ? ig_session_set(s, p->name, t) : c->status;
}

// A session of the copy, with the inputs of the other one, that has planned.
static ig_status plan(writer *w, const ig_session *from, ig_session *s) {
  IG_RETURN_IF_ERR(ig_session_copy_inputs(from, s));
  for (size_t i = 0; i < s->nin; i++) {
    if (!ig_session_input_at(s, i)) IG_RETURN_IF_ERR(set_zeros(s, i));
  }
  if (w->precision != IG_PRECISION_F32 && w->options.loss > 0) {
    IG_RETURN_IF_ERR(measure(w, s));
  }
  stage(w, "packing", 0, 0);
  char *text = ig_session_plan_text(s);
  ig_text_free(w->c, text);
  return w->c->status;
}

static ig_status save(writer *w, const char *path) {
  ig_sink file = ig_sink_memory(w->c->alloc);
  ig_status st = ig_sink_file(w->c, path, &file);
  if (st == IG_OK) st = write_file(w, &file);
  if (st == IG_OK) st = ig_sink_close(w->c, &file);
  ig_sink_drop(&file);
  return st;
}

static ig_status compile(writer *w, const ig_session *from, const char *path) {
  ig_ctx *c = w->c;
  ig_sink first = ig_sink_memory(c->alloc);
  ig_model *copy = NULL;
  ig_session *s = NULL;
  stage(w, "reading", 0, 0);
  ig_model_options open = {.size = sizeof open, .limits = &from->m->limits};
  ig_status st = write_model(w, from->m);
  if (st == IG_OK) st = write_file(w, &first);
  if (st == IG_OK) st = first.error ? ig_fail(c, IG_NOMEM, "out of memory") : IG_OK;
  if (st == IG_OK) st = ig_model_open_bytes(c, from->m->name, first.at, first.n, &open, &copy);
  if (st == IG_OK) st = ig_session_create_with(c, copy, &from->options, &s);
  w->m = copy;
  if (st == IG_OK) st = plan(w, from, s);
  if (st == IG_OK) {
    ig_packs_each(copy->packs, add_pack, w);
    ig_packs_each_f32(copy->packs, add_f32, w);
    st = c->status;
  }
  if (st == IG_OK) st = save(w, path);
  ig_session_free(s);
  ig_model_free(copy);
  ig_sink_drop(&first);
  return st;
}

ig_status ig_session_compile(ig_session *s, const char *path, const ig_compile_options *options) {
  ig_ctx *c = s->c;
  if (c->status != IG_OK) return c->status;
  if (s->m->format->export) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "%s: TorchScript code is not planned; convert it to a program first "
                   "(ingot convert, ig_session_export)",
                   s->m->name);
  }
  writer w = {.c = c, .parts = {ig_sink_memory(c->alloc), ig_sink_memory(c->alloc)}};
  IG_OPTIONS_TAKE(&w.options, options, report_user);
  ig_scope scope = ig_scope_open(c);
  w.precision = ig_session_precision(s);
  ig_status st = compile(&w, s, path);
  ig_scope_close(c, scope);
  ig_sink_drop(&w.parts[0]);
  ig_sink_drop(&w.parts[1]);
  ig_vec_free(c->alloc, &w.packs);
  return st;
}
