// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals.
#include <string.h>

#include "onnx_read/reader.h"

static ig_rd_value *sequence(ig_rd *r, size_t i) {
  ig_rd_value *v = ig_rd_val(r, i);
  if (v && v->kind == IG_RD_OPTIONAL && v->nitems == 1) v = v->items[0];
  if (v && v->kind == IG_RD_SEQUENCE) return v;
  if (v) ig_rd_fail(r, IG_BAD_TYPE, "input %zu is not a sequence", i);
  return NULL;
}

// A position; `room` more than the last element is allowed.
static bool position(ig_rd *r, size_t input, const ig_rd_value *v, size_t room, size_t *out) {
  int64_t n = (int64_t)(v->nitems + room);
  int64_t at = ig_rd_one_const(r, input);
  if (!ig_rd_ok(r)) return false;
  if (at < 0) at += (int64_t)v->nitems;
  if (at < 0 || at >= n) {
    ig_rd_fail(r, IG_BAD_INDEX, "position %lld in a sequence of %zu", (long long)at, v->nitems);
    return false;
  }
  *out = (size_t)at;
  return true;
}

static void read_empty(ig_rd *r) {
  ig_rd_value *v = ig_rd_of_items(r, IG_RD_SEQUENCE, NULL, 0);
  if (v) v->elem = (int)ig_rd_attr_int(r, "dtype", IG_OM_FLOAT);
  ig_rd_out_val(r, 0, v);
}

static void read_construct(ig_rd *r) {
  for (size_t i = 0; i < r->nin; i++) {
    if (!ig_rd_val(r, i)) return;
  }
  ig_rd_out_val(r, 0, ig_rd_of_items(r, IG_RD_SEQUENCE, r->in, r->nin));
}

static void read_insert(ig_rd *r) {
  ig_rd_value *v = sequence(r, 0);
  ig_rd_value *item = ig_rd_val(r, 1);
  if (!v || !item) return;
  size_t at = v->nitems;
  if (ig_rd_has(r, 2) && !position(r, 2, v, 1, &at)) return;
  ig_rd_value **items = ig_scope_array(r->c, v->nitems + 1, sizeof *items);
  if (!items) return;
  if (at) memcpy(items, v->items, at * sizeof *items);
  items[at] = item;
  if (v->nitems > at) memcpy(items + at + 1, v->items + at, (v->nitems - at) * sizeof *items);
  ig_rd_out_val(r, 0, ig_rd_of_items(r, IG_RD_SEQUENCE, items, v->nitems + 1));
}

static void read_erase(ig_rd *r) {
  ig_rd_value *v = sequence(r, 0);
  if (!v) return;
  if (v->nitems == 0) {
    ig_rd_fail(r, IG_BAD_INDEX, "the sequence is empty");
    return;
  }
  size_t at = v->nitems - 1;
  if (ig_rd_has(r, 1) && !position(r, 1, v, 0, &at)) return;
  ig_rd_value **items = ig_scope_array(r->c, v->nitems, sizeof *items);
  if (!items) return;
  memcpy(items, v->items, v->nitems * sizeof *items);
  memmove(items + at, items + at + 1, (v->nitems - at - 1) * sizeof *items);
  ig_rd_value *out = ig_rd_of_items(r, IG_RD_SEQUENCE, items, v->nitems - 1);
  if (out) out->elem = v->elem;
  ig_rd_out_val(r, 0, out);
}

static void read_at(ig_rd *r) {
  ig_rd_value *v = sequence(r, 0);
  size_t at = 0;
  if (v && position(r, 1, v, 0, &at)) ig_rd_out_val(r, 0, v->items[at]);
}

static void read_length(ig_rd *r) {
  ig_rd_value *v = sequence(r, 0);
  ig_int n = ig_const(v ? (int64_t)v->nitems : 0);
  if (v) ig_rd_out_val(r, 0, ig_rd_of_ints(r, &n, 1, 0, IG_OM_INT64));
}

typedef struct pieces {
  int axis;
  int64_t size;   // of the axis
  int64_t chunk;  // of every part; 0: see `sizes`
  const int64_t *sizes;
  size_t n;
  bool drop;  // single slices without the axis
} pieces;

static void give_parts(ig_rd *r, ig_tensor *t, const pieces *p) {
  ig_rd_value **items = ig_scope_array(r->c, p->n, sizeof *items);
  int64_t start = 0;
  for (size_t i = 0; items && i < p->n && ig_rd_ok(r); i++) {
    int64_t part = p->chunk ? p->chunk : p->sizes[i];
    if (part < 0 || start > p->size) ig_rd_fail(r, IG_INVALID, "the parts do not fit");
    int64_t end = part < p->size - start ? start + part : p->size;
    ig_tensor *x = ig_rd_slice(r, t, p->axis, start, end, 1);
    if (p->drop) x = ig_rd_squeeze(r, x, p->axis);
    items[i] = ig_rd_of_tensor(r, x, ig_rd_elem(r, 0));
    start = end;
  }
  if (items && ig_rd_ok(r)) ig_rd_out_val(r, 0, ig_rd_of_items(r, IG_RD_SEQUENCE, items, p->n));
}

static void read_split_to(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  pieces p = {.axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim)};
  if (ig_rd_ok(r) && ig_rd_has(r, 1)) p.sizes = ig_rd_consts(r, 1, &p.n);
  if (!ig_rd_ok(r)) return;
  p.size = ig_rd_plain(r, ig_sizes(t)[p.axis]);
  p.drop = !p.sizes && !ig_rd_attr_int(r, "keepdims", 1);
  const ig_tensor *given = p.sizes ? ig_rd_in(r, 1) : NULL;
  if (!given || given->ndim == 0) {
    p.chunk = p.sizes ? p.sizes[0] : 1;
    if (p.chunk < 1) {
      ig_rd_fail(r, IG_INVALID, "parts of size %lld", (long long)p.chunk);
      return;
    }
    p.n = (size_t)(p.size / p.chunk + (p.size % p.chunk != 0));
  }
  give_parts(r, t, &p);
}

static void read_concat_from(ig_rd *r) {
  ig_rd_value *v = sequence(r, 0);
  if (!v) return;
  if (v->nitems == 0) {
    ig_rd_fail(r, IG_INVALID, "the sequence is empty");
    return;
  }
  ig_tensor **parts = ig_scope_array(r->c, v->nitems, sizeof *parts);
  for (size_t i = 0; parts && i < v->nitems; i++) parts[i] = ig_rd_tensor(r, v->items[i]);
  if (!parts || !ig_rd_ok(r)) return;
  bool fresh = ig_rd_attr_int(r, "new_axis", 0);
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), parts[0]->ndim + fresh);
  if (!ig_rd_ok(r)) return;
  ig_tensor *t =
      fresh ? ig_rd_stack(r, parts, v->nitems, axis) : ig_rd_cat(r, parts, v->nitems, axis);
  ig_rd_out_elem(r, 0, t, v->items[0]->elem);
}

// ---- optionals

static void read_optional(ig_rd *r) {
  if (!ig_rd_has(r, 0)) {
    ig_rd_out_val(r, 0, ig_rd_of_items(r, IG_RD_OPTIONAL, NULL, 0));
    return;
  }
  ig_rd_out_val(r, 0, ig_rd_of_items(r, IG_RD_OPTIONAL, r->in, 1));
}

static void read_has_element(ig_rd *r) {
  const ig_rd_value *v = ig_rd_has(r, 0) ? r->in[0] : NULL;
  ig_int yes = ig_const(v && (v->kind != IG_RD_OPTIONAL || v->nitems));
  ig_rd_out_val(r, 0, ig_rd_of_ints(r, &yes, 1, 0, IG_OM_BOOL));
}

static void read_get_element(ig_rd *r) {
  ig_rd_value *v = ig_rd_val(r, 0);
  if (v && v->kind == IG_RD_OPTIONAL) {
    if (v->nitems == 0) {
      ig_rd_fail(r, IG_INVALID, "the optional is empty");
      return;
    }
    v = v->items[0];
  }
  ig_rd_out_val(r, 0, v);
}

const ig_rd_row ig_rd_rows_sequence[] = {
    {"SequenceEmpty", 11, read_empty},
    {"SequenceConstruct", 11, read_construct},
    {"SequenceInsert", 11, read_insert},
    {"SequenceErase", 11, read_erase},
    {"SequenceAt", 11, read_at},
    {"SequenceLength", 11, read_length},
    {"SplitToSequence", 11, read_split_to},
    {"ConcatFromSequence", 11, read_concat_from},
    {"Optional", 15, read_optional},
    {"OptionalHasElement", 15, read_has_element},
    {"OptionalGetElement", 15, read_get_element},
    {NULL, 0, NULL},
};
