// SPDX-License-Identifier: Apache-2.0
// Named tensors in .npz archives. An array that lies in the file as a tensor would lie in memory is
// not copied: its storage is a piece of the mapping and keeps that alive.
#include <string.h>

#include "base/file.h"
#include "codec/npy.h"
#include "ingot/file.h"
#include "tensor/copy.h"
#include "tensor/tensor.h"

// The dtypes that NumPy has, by kind and width.
static const struct {
  ig_dtype dtype;
  char kind;
  uint8_t width;
} types[] = {
    {IG_BOOL, 'b', 1}, {IG_U8, 'u', 1},  {IG_I8, 'i', 1},  {IG_I16, 'i', 2},   {IG_I32, 'i', 4},
    {IG_I64, 'i', 8},  {IG_U16, 'u', 2}, {IG_U32, 'u', 4}, {IG_U64, 'u', 8},   {IG_F16, 'f', 2},
    {IG_F32, 'f', 4},  {IG_F64, 'f', 8}, {IG_C64, 'c', 8}, {IG_C128, 'c', 16},
};
enum { NTYPES = sizeof types / sizeof *types };

// ---- loading

static void release_file(void *user) {
  ig_file_release(user);
}

static bool lies_well(const ig_npy *a) {
  return !a->big && (!a->fortran || a->ndim < 2) && (uintptr_t)a->data.at % a->width == 0;
}

// Unpacked members live in the archive's arena, not in the file.
static bool in_file(const ig_file *f, const ig_npy *a) {
  return a->data.at >= f->bytes.at && a->data.at + a->data.n <= f->bytes.at + f->bytes.n;
}

static ig_tensor *to_tensor(ig_ctx *c, ig_file *f, const ig_npy *a) {
  size_t i = 0;
  while (types[i].kind != a->kind || types[i].width != a->width) i++;
  if (a->data.n && in_file(f, a) && lies_well(a)) {
    ig_ref_retain(&f->ref);
    ig_foreign memory = {
        .data = (void *)a->data.at, .bytes = a->data.n, .free_fn = release_file, .user = f};
    return ig_tensor_wrap(c, types[i].dtype, a->shape, a->ndim, &memory);
  }
  ig_tensor *t = ig_tensor_empty(c, types[i].dtype, a->shape, a->ndim);
  if (t) ig_npy_copy(a, ig_tensor_data(t));
  return t;
}

static ig_status load_all(ig_ctx *c, ig_file *f, const ig_npz *z, const ig_weight **list) {
  ig_weight *out = ig_scope_push(c, (z->n + 1) * sizeof *out);
  for (size_t i = 0; i < z->n && out; i++) {
    size_t n = strlen(z->names[i]) + 1;
    char *name = ig_scope_push(c, n);
    if (!name) break;
    memcpy(name, z->names[i], n);
    out[i] = (ig_weight){name, to_tensor(c, f, &z->arrays[i])};
  }
  *list = out;
  return ig_ctx_status(c);
}

ig_status ig_tensors_load(ig_ctx *c, const char *path, const ig_weight **list, size_t *n) {
  *list = NULL;
  *n = 0;
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(ig_file_map(c, path, &f));
  ig_npz z;
  ig_status st = ig_npz_open(c, path, f->bytes, NULL, &z);
  if (st == IG_OK) {
    st = load_all(c, f, &z, list);
    if (st == IG_OK) *n = z.n;
    ig_npz_close(&z);
  }
  ig_file_release(f);
  return st;
}

// ---- saving

static ig_status describe(ig_ctx *c, const ig_weight *w, ig_npy *a) {
  const ig_tensor *t = w->tensor;
  size_t i = 0;
  while (i < NTYPES && types[i].dtype != t->dtype) i++;
  if (i == NTYPES) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "array '%s': NumPy has no %s; convert it, for instance to float32", w->name,
                   ig_dtype_text(t->dtype));
  }
  if (ig_tensor_is_fake(t)) {
    return ig_fail(c, IG_INVALID, "array '%s' has no data: it is a fake or meta tensor", w->name);
  }
  *a = (ig_npy){.kind = types[i].kind, .width = types[i].width, .ndim = t->ndim};
  for (int d = 0; d < t->ndim; d++) a->shape[d] = ig_tensor_size(t, d).value;
  a->data.n = (size_t)ig_tensor_numel(t) * a->width;
  return IG_OK;
}

static ig_status add(ig_ctx *c, ig_zip_writer *w, const ig_weight *item) {
  ig_npy a;
  IG_RETURN_IF_ERR(describe(c, item, &a));
  if (a.data.n == 0 || ig_tensor_is_dense(item->tensor)) {
    a.data.at = ig_tensor_data(item->tensor);
    return ig_npz_add(w, item->name, &a);
  }
  uint8_t *copy = ig_mem_new(c->alloc, a.data.n);
  if (!copy) return ig_fail(c, IG_NOMEM, "out of memory");
  ig_tensor_read(item->tensor, item->tensor->dtype, copy);
  a.data.at = copy;
  ig_status st = ig_npz_add(w, item->name, &a);
  ig_mem_free(c->alloc, copy, a.data.n);
  return st;
}

ig_status ig_tensors_save(ig_ctx *c, const char *path, const ig_weight *list, size_t n) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_sink sink;
  IG_RETURN_IF_ERR(ig_sink_file(c, path, &sink));
  ig_zip_writer w;
  ig_zip_writer_init(&w, c, &sink, IG_ZIP_ALIGN);
  ig_status st = IG_OK;
  for (size_t i = 0; i < n && st == IG_OK; i++) st = add(c, &w, &list[i]);
  if (st == IG_OK) st = ig_zip_finish(&w);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_zip_writer_free(&w);
  ig_sink_drop(&sink);
  return st;
}
