// SPDX-License-Identifier: Apache-2.0
// Reading and writing arrays in .npy files and .npz archives.
#include "codec/npy.h"

#include <string.h>

#include "codec/bits.h"

// Bytes have no order.
bool ig_npy_is_swapped(const ig_npy *a) {
  return a->kind != 'S' && a->width > 1 && a->big != (IG_BIG_ENDIAN != 0);
}

static void copy_element(const ig_npy *a, bool swap, const uint8_t *src, uint8_t *dst) {
  if (!swap) {
    memcpy(dst, src, a->width);
    return;
  }
  // A complex number is two, a text is characters of four bytes.
  size_t part = a->kind == 'c' ? a->width / 2u : a->kind == 'U' ? 4u : a->width;
  for (size_t i = 0; i < a->width; i += part) {
    for (size_t k = 0; k < part; k++) dst[i + k] = src[i + part - 1 - k];
  }
}

void ig_npy_copy(const ig_npy *a, uint8_t *dst) {
  if (a->data.n == 0) return;
  bool swap = ig_npy_is_swapped(a);
  if (!swap && (!a->fortran || a->ndim < 2)) {
    memcpy(dst, a->data.at, a->data.n);
    return;
  }
  int64_t stride[IG_NPY_MAX_DIMS] = {0};  // in elements
  int64_t step = 1;
  for (int k = 0; k < a->ndim; k++) {
    int dim = a->fortran ? k : a->ndim - 1 - k;
    stride[dim] = step;
    step *= a->shape[dim];
  }
  int64_t index[IG_NPY_MAX_DIMS] = {0};
  int64_t at = 0;
  for (int64_t i = 0; i < step; i++) {
    // admitted: the reader of the head bounds the number of elements by the bytes
    copy_element(a, swap, a->data.at + at * a->width, dst + i * a->width);
    for (int dim = a->ndim - 1; dim >= 0; dim--) {
      at += stride[dim];
      if (++index[dim] < a->shape[dim]) break;
      at -= stride[dim] * a->shape[dim];
      index[dim] = 0;
    }
  }
}

static const char *array_name(ig_npz *z, const char *member) {
  size_t n = strlen(member);
  bool suffix = n >= 4 && strcmp(member + n - 4, ".npy") == 0;
  return ig_arena_strn(&z->arena, member, suffix ? n - 4 : n);
}

static ig_status read_member(ig_ctx *c, ig_npz *z, size_t i) {
  const ig_zip_entry *e = &z->zip.entries[i];
  ig_bytes bytes = {0};
  z->names[i] = array_name(z, e->name);
  if (!z->names[i]) return ig_fail(c, IG_NOMEM, "out of memory");
  IG_RETURN_IF_ERR(ig_zip_read(c, e, &z->arena, &bytes));
  return ig_npy_read(c, e->name, bytes, &z->arrays[i]);
}

ig_status ig_npz_open(ig_ctx *c, const char *name, ig_bytes in, const ig_limits *limits,
                      ig_npz *out) {
  *out = (ig_npz){.arena = ig_arena_make(c->alloc)};
  // Arrays are named by users; x and X are two names.
  IG_RETURN_IF_ERR(ig_zip_open_any_case(c, name, in, limits, &out->zip));
  size_t n = out->zip.n;
  out->names = ig_arena_array(&out->arena, n, sizeof *out->names);
  out->arrays = ig_arena_array(&out->arena, n, sizeof *out->arrays);
  ig_status st = out->names && out->arrays ? IG_OK : ig_fail(c, IG_NOMEM, "out of memory");
  for (size_t i = 0; i < n && st == IG_OK; i++) st = read_member(c, out, i);
  out->n = n;
  if (st != IG_OK) ig_npz_close(out);
  return st;
}

void ig_npz_close(ig_npz *z) {
  ig_zip_close(&z->zip);
  ig_arena_free(&z->arena);
  z->n = 0;
}

const ig_npy *ig_npz_find(const ig_npz *z, const char *name) {
  for (size_t i = 0; i < z->n; i++) {
    if (strcmp(z->names[i], name) == 0) return &z->arrays[i];
  }
  return NULL;
}

ig_status ig_npz_add(ig_zip_writer *w, const char *name, const ig_npy *a) {
  ig_str head = ig_str_make(w->c->alloc);
  ig_str member = ig_str_make(w->c->alloc);
  ig_str_add(&member, "%s.npy", name);
  ig_status st =
      member.failed ? ig_fail(w->c, IG_NOMEM, "out of memory") : ig_npy_head(w->c, a, &head);
  if (st == IG_OK) {
    ig_bytes parts[] = {{(const uint8_t *)head.at, head.n}, a->data};
    st = ig_zip_add(w, member.at, parts, 2);
  }
  ig_str_free(&member);
  ig_str_free(&head);
  return st;
}
