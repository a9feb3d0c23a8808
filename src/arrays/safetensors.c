// SPDX-License-Identifier: Apache-2.0
// safetensors: a length, a JSON header, the bytes. Reading checks every rule of the format: unique
// names, data that covers the buffer without holes or overlaps, sizes that match the shapes.
// Writing uses the order and padding of the safetensors library.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/arrays.h"
#include "arrays/unpack.h"
#include "base/cause.h"
#include "base/limits.h"
#include "codec/bits.h"
#include "codec/json.h"
#include "tensor/tensor.h"

enum { HEADER_MAX = 100000000, LENGTH = 8 };

// In the order in which the library sorts them; IG_DTYPE_COUNT: no such dtype here.
static const struct {
  const char *name;
  ig_dtype dtype;
} types[] = {
    {"BOOL", IG_BOOL},
    {"F4", IG_DTYPE_COUNT},
    {"F6_E2M3", IG_DTYPE_COUNT},
    {"F6_E3M2", IG_DTYPE_COUNT},
    {"U8", IG_U8},
    {"I8", IG_I8},
    {"F8_E5M2", IG_F8E5M2},
    {"F8_E4M3", IG_F8E4M3FN},
    {"F8_E8M0", IG_DTYPE_COUNT},
    {"F8_E4M3FNUZ", IG_DTYPE_COUNT},
    {"F8_E5M2FNUZ", IG_DTYPE_COUNT},
    {"I16", IG_I16},
    {"U16", IG_U16},
    {"F16", IG_F16},
    {"BF16", IG_BF16},
    {"I32", IG_I32},
    {"U32", IG_U32},
    {"F32", IG_F32},
    {"C64", IG_C64},
    {"F64", IG_F64},
    {"I64", IG_I64},
    {"U64", IG_U64},
};
enum { NTYPES = sizeof types / sizeof *types };

// ---- reading

typedef struct piece {
  uint64_t begin;
  uint64_t end;
  const char *name;
} piece;

typedef struct reader {
  ig_ctx *c;
  const ig_arrays_in *in;
  ig_arena arena;
  ig_bytes data;
  piece *pieces;
} reader;

static ig_status bad(reader *r, const ig_json *at, const char *name, const char *what) {
  return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS, "%s: offset %zu: tensor '%.100s': %s",
                 r->in->name, LENGTH + at->at, name, what);
}

static ig_status read_dtype(reader *r, const ig_json *entry, const char *name, ig_dtype *out) {
  const ig_json *d = ig_json_find(entry, "dtype");
  if (!d || d->kind != IG_JSON_STRING) return bad(r, entry, name, "no dtype");
  for (size_t i = 0; i < NTYPES; i++) {
    if (strcmp(types[i].name, d->text) != 0) continue;
    *out = types[i].dtype;
    if (*out != IG_DTYPE_COUNT) return IG_OK;
    return ig_fail(r->c, IG_UNSUPPORTED | IG_E_SAFETENSORS,
                   "%s: tensor '%.100s': element type %s is not supported", r->in->name, name,
                   d->text);
  }
  return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS,
                 "%s: offset %zu: tensor '%.100s': unknown dtype '%.40s'", r->in->name,
                 LENGTH + d->at, name, d->text);
}

static ig_status read_shape(reader *r, const ig_json *entry, const char *name, int64_t *shape,
                            int *ndim, int64_t *numel) {
  const ig_json *s = ig_json_find(entry, "shape");
  if (!s || s->kind != IG_JSON_ARRAY) return bad(r, entry, name, "no shape");
  if (s->n > IG_MAX_DIM) return bad(r, s, name, "too many dimensions");
  *ndim = (int)s->n;
  *numel = 1;
  bool empty = false;
  bool ok = true;
  for (size_t i = 0; i < s->n; i++) {
    const ig_json *v = &s->items[i];
    if (v->kind != IG_JSON_INT || v->i < 0)
      return bad(r, v, name, "a size that is not a number >= 0");
    shape[i] = v->i;
    empty = empty || v->i == 0;
    ok = ok && ig_checked_mul(*numel, v->i, numel);
  }
  if (empty) *numel = 0;
  return ok || empty ? IG_OK : bad(r, s, name, "more elements than can be counted");
}

static ig_status read_offsets(reader *r, const ig_json *entry, const char *name, piece *p) {
  const ig_json *o = ig_json_find(entry, "data_offsets");
  if (!o || o->kind != IG_JSON_ARRAY || o->n != 2 || o->items[0].kind != IG_JSON_INT ||
      o->items[1].kind != IG_JSON_INT || o->items[0].i < 0 || o->items[1].i < o->items[0].i) {
    return bad(r, entry, name, "data_offsets are not [begin, end]");
  }
  *p = (piece){(uint64_t)o->items[0].i, (uint64_t)o->items[1].i, name};
  if (p->end <= r->data.n) return IG_OK;
  return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS,
                 "%s: offset %zu: tensor '%.100s' ends at %" PRIu64 " of %zu bytes of data",
                 r->in->name, LENGTH + o->at, name, p->end, r->data.n);
}

static ig_status read_entry(reader *r, const ig_json_member *m, piece *p, ig_weight *out) {
  ig_dtype dtype = IG_F32;
  int64_t shape[IG_MAX_DIM];
  int64_t numel = 0;
  int64_t need = 0;
  int ndim = 0;
  const ig_json *entry = &m->value;
  if (strlen(m->key) != m->key_n) return bad(r, entry, m->key, "a zero character in the name");
  if (entry->kind != IG_JSON_OBJECT) return bad(r, entry, m->key, "expected an object");
  if (entry->n != 3) return bad(r, entry, m->key, "expected dtype, shape and data_offsets");
  IG_RETURN_IF_ERR(read_dtype(r, entry, m->key, &dtype));
  IG_RETURN_IF_ERR(read_shape(r, entry, m->key, shape, &ndim, &numel));
  IG_RETURN_IF_ERR(read_offsets(r, entry, m->key, p));
  if (!ig_checked_mul(numel, (int64_t)ig_dtype_size(dtype), &need) ||
      (uint64_t)need != p->end - p->begin) {
    return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS,
                   "%s: offset %zu: tensor '%.100s' has %" PRIu64
                   " bytes, its shape needs %" PRId64,
                   r->in->name, LENGTH + entry->at, m->key, p->end - p->begin, need);
  }
  ig_bytes b = {r->data.at + p->begin, (size_t)need};
  ig_tensor *bytes = ig_elements_tensor(r->c, b, r->in->owner, dtype);
  if (!bytes) return ig_ctx_status(r->c);
  if (dtype == IG_BOOL) ig_bools_normalize(ig_tensor_data(bytes), b.n);
  ig_meta meta;
  ig_meta_init(&meta, dtype, ig_device_cpu());
  for (int d = 0; d < ndim; d++) ig_meta_push_dim(r->c, &meta, ig_const(shape[d]));
  meta.view_of = bytes;
  ig_meta_contiguous(r->c, &meta);
  char *name = ig_scope_push(r->c, m->key_n + 1);
  if (name) memcpy(name, m->key, m->key_n + 1);
  *out = (ig_weight){.name = name, .tensor = ig_tensor_make(r->c, &meta, false)};
  return ig_ctx_status(r->c);
}

static ig_status read_metadata(reader *r, const ig_json *m, ig_tensor_list *out) {
  if (m->kind != IG_JSON_OBJECT) return bad(r, m, "__metadata__", "expected an object");
  ig_text_pair *pairs = ig_scope_array(r->c, m->n + 1, sizeof *pairs);
  for (size_t i = 0; pairs && i < m->n; i++) {
    const ig_json_member *item = &m->members[i];
    if (item->value.kind != IG_JSON_STRING || strlen(item->key) != item->key_n ||
        strlen(item->value.text) != item->value.n) {
      return bad(r, &item->value, "__metadata__", "expected texts");
    }
    char *text = ig_scope_push(r->c, ig_mem_add(item->key_n + 2, item->value.n));
    if (!text) break;
    memcpy(text, item->key, item->key_n + 1);
    memcpy(text + item->key_n + 1, item->value.text, item->value.n + 1);
    pairs[i] = (ig_text_pair){text, text + item->key_n + 1};
  }
  out->metadata = pairs;
  out->n_metadata = m->n;
  return ig_ctx_status(r->c);
}

static int by_begin(const void *a, const void *b) {
  const piece *x = a;
  const piece *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

// The tensors must cover the buffer contiguously from the first byte to the last.
static ig_status check_cover(reader *r, size_t n) {
  uint64_t at = 0;
  qsort(r->pieces, n, sizeof *r->pieces, by_begin);
  for (size_t i = 0; i < n; i++) {
    const piece *p = &r->pieces[i];
    if (p->begin != at) {
      return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS,
                     "%s: tensor '%.100s' begins at %" PRIu64 " of the data, %s %" PRIu64,
                     r->in->name, p->name, p->begin,
                     p->begin < at ? "inside the one that ends at" : "with a hole behind", at);
    }
    at = p->end;
  }
  if (at == r->data.n) return IG_OK;
  return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS,
                 "%s: %" PRIu64 " bytes of tensors in a buffer of %zu bytes", r->in->name, at,
                 r->data.n);
}

static ig_status read_all(reader *r, const ig_json *doc, ig_tensor_list *out) {
  size_t n = 0;
  ig_limits limits = ig_limits_of(r->c, r->in->limits);
  if (doc->kind != IG_JSON_OBJECT) {
    return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS, "%s: the header is not an object",
                   r->in->name);
  }
  if (doc->n > limits.max_entries) {
    return ig_fail(r->c, IG_SYNTAX | IG_E_SAFETENSORS, "%s: %zu tensors, the limit is %" PRIu64,
                   r->in->name, doc->n, limits.max_entries);
  }
  ig_weight *list = ig_scope_array(r->c, doc->n + 1, sizeof *list);
  r->pieces = ig_arena_array(&r->arena, doc->n + 1, sizeof *r->pieces);
  if (!list || !r->pieces) return ig_fail(r->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < doc->n; i++) {
    const ig_json_member *m = &doc->members[i];
    if (strcmp(m->key, "__metadata__") == 0) {
      IG_RETURN_IF_ERR(read_metadata(r, &m->value, out));
    } else {
      IG_RETURN_IF_ERR(read_entry(r, m, &r->pieces[n], &list[n]));
      n++;
    }
  }
  IG_RETURN_IF_ERR(check_cover(r, n));
  out->at = list;
  out->n = n;
  return IG_OK;
}

ig_status ig_safetensors_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out) {
  *out = (ig_tensor_list){0};
  if (in->bytes.n < LENGTH + 2) {
    return ig_fail(c, IG_SYNTAX | IG_E_SAFETENSORS, "%s: %zu bytes are no safetensors file",
                   in->name, in->bytes.n);
  }
  uint64_t n = ig_load64(in->bytes.at);
  if (n > HEADER_MAX || n > in->bytes.n - LENGTH) {
    return ig_fail(c, IG_SYNTAX | IG_E_SAFETENSORS,
                   "%s: offset 0: a header of %" PRIu64 " bytes in a file of %zu", in->name, n,
                   in->bytes.n);
  }
  if (n == 0 || in->bytes.at[LENGTH] != '{') {
    return ig_fail(c, IG_SYNTAX | IG_E_SAFETENSORS,
                   "%s: offset %d: the header does not begin with '{'", in->name, LENGTH);
  }
  reader r = {.c = c,
              .in = in,
              .arena = ig_arena_make(c->alloc),
              .data = {in->bytes.at + LENGTH + n, in->bytes.n - LENGTH - (size_t)n}};
  const ig_json *doc = NULL;
  ig_bytes header = {in->bytes.at + LENGTH, (size_t)n};
  ig_status st = ig_json_parse(c, in->name, header, &r.arena, in->limits, &doc);
  if (st == IG_OK) st = read_all(&r, doc, out);
  ig_arena_free(&r.arena);
  return st;
}

// ---- writing

typedef struct entry {
  const ig_weight *w;
  size_t rank;
} entry;

static int by_rank(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
  return strcmp(x->w->name, y->w->name);
}

static ig_status rank(ig_ctx *c, const ig_weight *w, entry *out) {
  size_t i = 0;
  if (w->texts) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_SAFETENSORS,
                   "array '%s' holds texts, which safetensors cannot; write .npz", w->name);
  }
  while (i < NTYPES && types[i].dtype != w->tensor->dtype) i++;
  if (i == NTYPES) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_SAFETENSORS, "tensor '%s': safetensors has no %s",
                   w->name, ig_dtype_text(w->tensor->dtype));
  }
  if (ig_tensor_is_fake(w->tensor)) {
    return ig_fail(c, IG_INVALID, "tensor '%s' has no data: it is a fake or meta tensor", w->name);
  }
  if (strcmp(w->name, "__metadata__") == 0) {
    return ig_fail(c, IG_INVALID, "a tensor cannot be called '__metadata__'");
  }
  *out = (entry){w, i};
  return IG_OK;
}

static void put_header(const ig_tensor_list *list, const entry *order, ig_json_writer *w) {
  int64_t at = 0;
  ig_json_open(w, '{');
  if (list->n_metadata) {
    ig_json_key(w, "__metadata__");
    ig_json_open(w, '{');
    for (size_t i = 0; i < list->n_metadata; i++) {
      ig_json_key(w, list->metadata[i].key);
      ig_json_str(w, list->metadata[i].value);
    }
    ig_json_close(w, '}');
  }
  for (size_t i = 0; i < list->n; i++) {
    const ig_tensor *t = order[i].w->tensor;
    int64_t end = at + ig_tensor_numel(t) * (int64_t)ig_dtype_size(t->dtype);
    ig_json_key(w, order[i].w->name);
    ig_json_open(w, '{');
    ig_json_key(w, "dtype");
    ig_json_str(w, types[order[i].rank].name);
    ig_json_key(w, "shape");
    ig_json_open(w, '[');
    for (int d = 0; d < t->ndim; d++) ig_json_int(w, ig_tensor_size(t, d).value);
    ig_json_close(w, ']');
    ig_json_key(w, "data_offsets");
    ig_json_open(w, '[');
    ig_json_int(w, at);
    ig_json_int(w, end);
    ig_json_close(w, ']');
    ig_json_close(w, '}');
    at = end;
  }
  ig_json_close(w, '}');
}

static ig_status put_all(ig_ctx *c, const ig_tensor_list *list, const entry *order, ig_str *head,
                         ig_sink *out) {
  ig_json_writer w = {.out = head, .compact = true, .unicode = true};
  put_header(list, order, &w);
  while (head->n % LENGTH && !head->failed) ig_str_add(head, " ");
  if (head->failed) return ig_fail(c, IG_NOMEM, "out of memory");
  if (head->n > HEADER_MAX) {
    return ig_fail(c, IG_UNSUPPORTED | IG_E_SAFETENSORS,
                   "a header of %zu bytes, safetensors allows %d", head->n, HEADER_MAX);
  }
  uint8_t length[LENGTH];
  ig_store64(length, head->n);
  ig_sink_put(out, length, sizeof length);
  ig_sink_put(out, head->at, head->n);
  for (size_t i = 0; i < list->n; i++) {
    ig_bytes b;
    uint8_t *copy = NULL;
    IG_RETURN_IF_ERR(ig_tensor_bytes(c, order[i].w->name, order[i].w->tensor, &b, &copy));
    ig_sink_put(out, b.at, b.n);
    ig_mem_free(c->alloc, copy, copy ? b.n : 0);
  }
  return IG_OK;
}

ig_status ig_safetensors_print(ig_ctx *c, const ig_tensor_list *list, ig_sink *out) {
  entry *order = ig_mem_array(c->alloc, list->n, sizeof *order);
  ig_str head = ig_str_make(c->alloc);
  ig_status st = order ? IG_OK : ig_fail(c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < list->n && st == IG_OK; i++) st = rank(c, &list->at[i], &order[i]);
  if (st == IG_OK) {
    qsort(order, list->n, sizeof *order, by_rank);
    for (size_t i = 1; i < list->n && st == IG_OK; i++) {
      if (order[i].rank == order[i - 1].rank &&
          strcmp(order[i].w->name, order[i - 1].w->name) == 0) {
        st = ig_fail(c, IG_INVALID, "tensor '%s' occurs twice", order[i].w->name);
      }
    }
  }
  if (st == IG_OK) st = put_all(c, list, order, &head, out);
  ig_str_free(&head);
  ig_mem_array_free(c->alloc, order, list->n, sizeof *order);
  return st;
}
