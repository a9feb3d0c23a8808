// SPDX-License-Identifier: Apache-2.0
// Parsing TensorProto and SparseTensorProto. Elements stored as raw bytes are used in place;
// numbers in typed fields are converted to raw bytes.
#include <string.h>

#include "base/blocks.h"
#include "base/cause.h"
#include "codec/bits.h"
#include "onnx/proto_parse.h"

enum { TENSOR_MAX_DIM = IG_MAX_DIM };

typedef struct typed {
  ig_proto_ints ints;      // int32_data, int64_data, uint64_data
  ig_proto_floats floats;  // float_data
  ig_proto_doubles doubles;
  IG_VEC(ig_bytes) strings;
  unsigned fields;  // numbers of the fields that were there, as bits
} typed;

static void typed_free(ig_alloc a, typed *t) {
  ig_vec_free(a, &t->ints);
  ig_vec_free(a, &t->floats);
  ig_vec_free(a, &t->doubles);
  ig_vec_free(a, &t->strings);
}

// Always false.
static bool bad(ig_om_parser *p, const ig_om_tensor *t, const char *what) {
  (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: tensor '%s': %s", p->m->name, t->name,
                what);
  return false;
}

// Which typed field a type uses.
static unsigned field_of(int elem) {
  switch (elem) {
    case IG_OM_FLOAT:
    case IG_OM_COMPLEX64:
      return 4;
    case IG_OM_DOUBLE:
    case IG_OM_COMPLEX128:
      return 10;
    case IG_OM_STRING:
      return 6;
    case IG_OM_INT64:
      return 7;
    case IG_OM_UINT32:
    case IG_OM_UINT64:
      return 11;
    default:
      return 5;
  }
}

// One number as bytes in the machine's order. Sub-byte elements are packed already: one number per
// byte.
static void store(uint8_t *at, int64_t v, size_t width) {
  for (size_t i = 0; i < width; i++) at[i] = (uint8_t)((uint64_t)v >> (8 * i));
  if (IG_BIG_ENDIAN) ig_order_swap(at, width, width);
}

static void take_numbers(ig_om_parser *p, ig_om_tensor *t, const typed *d, size_t bytes) {
  const void *from = NULL;
  size_t have = 0;
  switch (field_of(t->elem)) {
    case 4:
      from = d->floats.at;
      have = ig_mem_mul(d->floats.n, sizeof(float));
      break;
    case 10:
      from = d->doubles.at;
      have = ig_mem_mul(d->doubles.n, sizeof(double));
      break;
    case 7:
      from = d->ints.at;
      have = ig_mem_mul(d->ints.n, sizeof(int64_t));
      break;
    default: {
      unsigned bits = ig_om_elem_bits(t->elem);
      size_t width = bits < 8 ? 1 : bits / 8;
      uint8_t *to = ig_om_push(p, ig_mem_mul(d->ints.n, width) + 1);
      uint8_t *at = to;
      for (size_t i = 0; to && i < d->ints.n; i++, at += width) store(at, d->ints.at[i], width);
      t->raw = (ig_bytes){to, to ? d->ints.n * width : 0};
      if (to && t->raw.n != bytes) (void)bad(p, t, "another number of elements than its dims tell");
      return;
    }
  }
  if (have != bytes) {
    (void)bad(p, t, "another number of elements than its dims tell");
    return;
  }
  uint8_t *to = ig_om_push(p, have + 1);
  if (to && have) memcpy(to, from, have);
  t->raw = (ig_bytes){to, to ? have : 0};
}

static bool count(ig_om_parser *p, ig_om_tensor *t, size_t *bytes) {
  t->numel = 1;
  for (int d = 0; d < t->ndim; d++) {
    if (t->dims[d] < 0) return bad(p, t, "a dimension is negative");
    if (!ig_checked_mul(t->numel, t->dims[d], &t->numel)) {
      return bad(p, t, "its number of elements overflows");
    }
  }
  int64_t bits = 0;
  unsigned width = ig_om_elem_bits(t->elem);
  if (!ig_checked_mul(t->numel, width, &bits) || bits > INT64_MAX - 8) {
    return bad(p, t, "its number of bytes overflows");
  }
  *bytes = (size_t)((bits + 7) / 8);
  return true;
}

static void finish_strings(ig_om_parser *p, ig_om_tensor *t, typed *d) {
  if ((int64_t)d->strings.n != t->numel) {
    (void)bad(p, t, "another number of strings than its dims tell");
    return;
  }
  t->strings = IG_OM_SETTLE(p, &d->strings);
  memset(&d->strings, 0, sizeof d->strings);
}

// Bytes of a file are little-endian: on other machines they are copied.
static bool to_native(ig_om_parser *p, ig_om_tensor *t) {
  if (!IG_BIG_ENDIAN || ig_om_elem_part(t->elem) == 1 || t->raw.n == 0) return true;
  uint8_t *to = ig_om_push(p, t->raw.n);
  if (!to) return false;
  memcpy(to, t->raw.at, t->raw.n);
  ig_order_swap(to, t->raw.n, ig_om_elem_part(t->elem));
  t->raw.at = to;
  t->file = NULL;
  t->own = true;
  return true;
}

// Weights that do not lie in a file as elements must are copied once, for everybody who reads them.
static bool align(ig_om_parser *p, ig_om_tensor *t) {
  enum { LARGE = 16 << 10 };
  if (!t->file || t->raw.n < LARGE) return true;
  if ((uintptr_t)t->raw.at % ig_om_elem_part(t->elem) == 0) return true;
  uint8_t *to = ig_om_push(p, t->raw.n);
  if (!to) return false;
  memcpy(to, t->raw.at, t->raw.n);
  ig_pages_forget(t->raw.at, t->raw.n);
  t->raw.at = to;
  t->file = NULL;
  t->own = true;
  return true;
}

// The elements are in exactly one place: raw bytes, the typed field of its type, or a file. Only an
// empty tensor may have none.
static bool finish(ig_om_parser *p, ig_om_tensor *t, typed *d, bool has_raw) {
  size_t bytes = 0;
  unsigned used = d->fields;
  if (t->elem <= 0 || t->elem >= IG_OM_ELEM_COUNT) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: tensor '%s': data_type %d is not known",
                  p->m->name, t->name, t->elem);
    return false;
  }
  if (!count(p, t, &bytes)) return false;
  if (t->external) {
    if (used || has_raw) return bad(p, t, "has elements of its own beside external data");
    if (t->elem == IG_OM_STRING) return bad(p, t, "strings cannot be external data");
    return ig_om_external(p, t, bytes) == IG_OK && to_native(p, t);
  }
  if ((used != 0) + has_raw > 1 && !(has_raw && t->raw.n == 0)) {
    return bad(p, t, "has both raw_data and typed data");
  }
  if (used && used != 1u << field_of(t->elem)) {
    return bad(p, t, "its elements are in the field of another type");
  }
  if (t->elem == IG_OM_STRING) {
    if (has_raw && t->raw.n) return bad(p, t, "strings cannot be raw_data");
    finish_strings(p, t, d);
  } else if (used) {
    take_numbers(p, t, d, bytes);
  } else if (t->raw.n != bytes) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                  "%s: tensor '%s': found %zu bytes, expected %zu for %lld elements of %s",
                  p->m->name, t->name, t->raw.n, bytes, (long long)t->numel,
                  ig_om_elem_text(t->elem));
  } else {
    (void)(to_native(p, t) && align(p, t));
  }
  return p->c->status == IG_OK;
}

static void take_field(ig_om_parser *p, ig_proto *in, const ig_proto_field *f, ig_om_tensor *t,
                       typed *d, ig_proto_ints *dims, bool *has_raw) {
  ig_arena *arena = &p->m->arena;
  switch (f->number) {
    case 1:
      (void)ig_proto_add_ints(in, f, dims);
      break;
    case 2:
      t->elem = (int)ig_proto_int(in, f);
      break;
    case 3:
      (void)ig_fail(p->c, IG_UNSUPPORTED | IG_E_ONNX_MODEL, "%s: tensor '%s' is a segment",
                    p->m->name, t->name);
      break;
    case 4:
      d->fields |= 1u << 4;
      (void)ig_proto_add_floats(in, f, &d->floats);
      break;
    case 5:
    case 7:
    case 11:
      d->fields |= 1u << f->number;
      (void)ig_proto_add_ints(in, f, &d->ints);
      break;
    case 6: {
      d->fields |= 1u << 6;
      ig_bytes s = ig_proto_blob(in, f);
      if (!ig_vec_push(p->c->alloc, &d->strings, s)) (void)ig_fail(p->c, IG_NOMEM, "out of memory");
      break;
    }
    case 8:
      t->name = ig_proto_text(in, f, arena);
      break;
    case 9:
      *has_raw = true;
      t->raw = ig_proto_blob(in, f);
      t->file = p->m->file;
      break;
    case 10:
      d->fields |= 1u << 10;
      (void)ig_proto_add_doubles(in, f, &d->doubles);
      break;
    case 12:
      t->doc = ig_proto_text(in, f, arena);
      break;
    case 14:
      t->external = ig_proto_int(in, f) == 1;
      break;
    default:
      break;
  }
}

static const int64_t *take_dims(ig_om_parser *p, const char *name, ig_proto_ints *dims, int *ndim) {
  if (dims->n > TENSOR_MAX_DIM) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                  "%s: tensor '%s': found %zu dimensions, expected at most %d", p->m->name, name,
                  dims->n, TENSOR_MAX_DIM);
    ig_vec_free(p->c->alloc, dims);
    return NULL;
  }
  *ndim = (int)dims->n;
  return IG_OM_SETTLE(p, dims);
}

const ig_om_tensor *ig_om_parse_tensor(ig_om_parser *p, ig_proto *in) {
  ig_om_tensor *t = ig_om_push(p, sizeof *t);
  if (!t) return NULL;
  *t = (ig_om_tensor){.name = "", .doc = ""};
  typed d = {0};
  ig_proto_ints dims = {0};
  IG_VEC(ig_om_entry) entries = {0};
  bool has_raw = false;
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 13) {
      ig_om_entry e = {"", ""};
      ig_proto sub = ig_proto_message(in, &f);
      if (ig_om_parse_entry(p, &sub, &e) && !ig_vec_push(p->c->alloc, &entries, e)) {
        (void)ig_fail(p->c, IG_NOMEM, "out of memory");
      }
    } else {
      take_field(p, in, &f, t, &d, &dims, &has_raw);
    }
    if (!t->name) t->name = "";
  }
  t->dims = take_dims(p, t->name, &dims, &t->ndim);
  t->nexternal = entries.n;
  t->externals = IG_OM_SETTLE(p, &entries);
  if (p->c->status == IG_OK) (void)finish(p, t, &d, has_raw);
  typed_free(p->c->alloc, &d);
  return p->c->status == IG_OK ? t : NULL;
}

const ig_om_sparse *ig_om_parse_sparse(ig_om_parser *p, ig_proto *in) {
  ig_om_sparse *s = ig_om_push(p, sizeof *s);
  ig_proto_ints dims = {0};
  ig_proto_field f;
  while (s && ig_proto_next(in, &f)) {
    if (f.number == 1 || f.number == 2) {
      ig_proto sub = ig_proto_message(in, &f);
      const ig_om_tensor *t = ig_om_parse_tensor(p, &sub);
      *(f.number == 1 ? &s->values : &s->indices) = t;
    } else if (f.number == 3) {
      (void)ig_proto_add_ints(in, &f, &dims);
    }
  }
  if (!s) return NULL;
  s->dims = take_dims(p, s->values ? s->values->name : "", &dims, &s->ndim);
  if (p->c->status != IG_OK) return NULL;
  const ig_om_tensor *v = s->values;
  const ig_om_tensor *i = s->indices;
  if (!v || !i || v->ndim != 1 || i->elem != IG_OM_INT64 || i->ndim < 1 || i->ndim > 2 ||
      i->dims[0] != v->numel || (i->ndim == 2 && i->dims[1] != s->ndim) || s->ndim < 1) {
    (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL,
                  "%s: sparse tensor '%s': expected values of 1 dimension and one int64 index per "
                  "value, flat or with one column per dimension",
                  p->m->name, v ? v->name : "");
    return NULL;
  }
  return s;
}
