// SPDX-License-Identifier: Apache-2.0
// Named tensors and arrays of texts in .npz archives, single ones in .npy files. An array whose
// layout in the file is that of a tensor is not copied: its storage is a part of the mapping and
// keeps it alive.
#include <string.h>

#include "arrays/arrays.h"
#include "arrays/unpack.h"
#include "codec/npy.h"
#include "tensor/tensor.h"
#include "tensor/texts.h"

// The dtypes that NumPy has, by kind and width; then those it lacks, by the type that represents
// their bits.
static const struct {
  ig_dtype dtype;
  char kind;
  uint8_t width;
} types[] = {
    {IG_BOOL, 'b', 1},   {IG_U8, 'u', 1},    {IG_I8, 'i', 1},   {IG_I16, 'i', 2},
    {IG_I32, 'i', 4},    {IG_I64, 'i', 8},   {IG_U16, 'u', 2},  {IG_U32, 'u', 4},
    {IG_U64, 'u', 8},    {IG_F16, 'f', 2},   {IG_F32, 'f', 4},  {IG_F64, 'f', 8},
    {IG_C64, 'c', 8},    {IG_C128, 'c', 16}, {IG_BF16, 'u', 2}, {IG_F8E4M3FN, 'u', 1},
    {IG_F8E5M2, 'u', 1},
};
enum { NTYPES = sizeof types / sizeof *types, KNOWN = NTYPES - 3 };

// ---- loading

static void release_file(void *user) {
  ig_file_release(user);
}

static bool lies_well(const ig_npy *a) {
  return !ig_npy_is_swapped(a) && (!a->fortran || a->ndim < 2) &&
         (uintptr_t)a->data.at % a->width == 0;
}

// Unpacked members live in the archive's arena, not in the file.
static bool in_file(const ig_file *f, const ig_npy *a) {
  return f && a->data.at >= f->bytes.at && a->data.at + a->data.n <= f->bytes.at + f->bytes.n;
}

static ig_tensor *to_tensor(ig_ctx *c, ig_file *f, const ig_npy *a) {
  size_t i = 0;
  while (types[i].kind != a->kind || types[i].width != a->width) i++;
  ig_tensor *t = NULL;
  if (a->data.n && in_file(f, a) && lies_well(a)) {
    ig_ref_retain(&f->ref);
    ig_foreign memory = {
        .data = (void *)a->data.at, .bytes = a->data.n, .free_fn = release_file, .user = f};
    t = ig_tensor_wrap(c, types[i].dtype, a->shape, a->ndim, &memory);
  } else {
    t = ig_tensor_empty(c, types[i].dtype, a->shape, a->ndim);
    if (t) ig_npy_copy(a, ig_tensor_data(t));
  }
  if (t && types[i].dtype == IG_BOOL) ig_bools_normalize(ig_tensor_data(t), a->data.n);
  return t;
}

static const ig_value *to_texts(ig_ctx *c, const char *name, const ig_npy *a) {
  const char **texts = NULL;
  size_t n = 0;
  if (ig_npy_texts(c, name, a, &texts, &n) != IG_OK) return NULL;
  return ig_texts_make(c, name, texts, a->shape, a->ndim);
}

static ig_weight to_weight(ig_ctx *c, ig_file *f, const char *name, const ig_npy *a) {
  ig_weight w = {.name = name};
  if (ig_npy_is_text(a)) {
    w.texts = to_texts(c, name, a);
  } else {
    w.tensor = to_tensor(c, f, a);
  }
  return w;
}

static ig_status load_all(ig_ctx *c, ig_file *f, const ig_npz *z, ig_tensor_list *out) {
  ig_weight *list = ig_scope_array(c, z->n + 1, sizeof *list);
  for (size_t i = 0; i < z->n && list; i++) {
    size_t n = strlen(z->names[i]) + 1;
    char *name = ig_scope_push(c, n);
    if (!name) break;
    memcpy(name, z->names[i], n);
    list[i] = to_weight(c, f, name, &z->arrays[i]);
  }
  if (ig_ctx_status(c) == IG_OK) *out = (ig_tensor_list){.at = list, .n = z->n};
  return ig_ctx_status(c);
}

ig_status ig_npz_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out) {
  ig_npz z;
  IG_RETURN_IF_ERR(ig_npz_open(c, in->name, in->bytes, in->limits, &z));
  ig_status st = load_all(c, in->owner, &z, out);
  ig_npz_close(&z);
  return st;
}

ig_status ig_npy_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out) {
  ig_npy a;
  IG_RETURN_IF_ERR(ig_npy_read(c, in->name, in->bytes, &a));
  ig_weight *list = ig_scope_push(c, sizeof *list);
  if (list) *list = to_weight(c, in->owner, "arr_0", &a);
  if (ig_ctx_status(c) == IG_OK) *out = (ig_tensor_list){.at = list, .n = 1};
  return ig_ctx_status(c);
}

// ---- saving

static ig_status describe(ig_ctx *c, const ig_weight *w, bool bits, ig_npy *a) {
  const ig_tensor *t = w->tensor;
  size_t i = 0;
  while (i < NTYPES && types[i].dtype != t->dtype) i++;
  if (i >= (bits ? NTYPES : KNOWN)) {
    return ig_fail(c, IG_UNSUPPORTED,
                   "array '%s': NumPy has no %s; convert it, for instance to float32", w->name,
                   ig_dtype_text(t->dtype));
  }
  *a = (ig_npy){.kind = types[i].kind, .width = types[i].width, .ndim = t->ndim};
  for (int d = 0; d < t->ndim; d++) a->shape[d] = ig_tensor_size(t, d).value;
  return IG_OK;
}

static ig_status set_texts(ig_ctx *c, const ig_weight *w, ig_npy *a, uint8_t **copy) {
  *a = (ig_npy){.kind = 'U'};
  if (!ig_texts_measure(w->texts, a->shape, &a->ndim)) {
    return ig_fail(c, IG_INVALID, "array '%s': expected a text or lists of texts of equal lengths",
                   w->name);
  }
  size_t n = ig_texts_read(w->texts, NULL, 0);
  const char **texts = ig_scope_array(c, n + 1, sizeof *texts);
  if (!texts) return ig_ctx_status(c);
  (void)ig_texts_read(w->texts, texts, n);
  return ig_npy_set_texts(c, w->name, texts, n, a, copy);
}

// What goes into the file. The data is *copy, if that is not NULL: a->data.n bytes, to be freed.
static ig_status to_npy(ig_ctx *c, const ig_weight *w, bool bits, ig_npy *a, uint8_t **copy) {
  *copy = NULL;
  if (w->texts) return set_texts(c, w, a, copy);
  IG_RETURN_IF_ERR(describe(c, w, bits, a));
  return ig_tensor_bytes(c, w->name, w->tensor, &a->data, copy);
}

static ig_status add(ig_ctx *c, ig_zip_writer *w, const ig_weight *item, bool bits) {
  ig_npy a;
  uint8_t *copy = NULL;
  IG_RETURN_IF_ERR(to_npy(c, item, bits, &a, &copy));
  ig_status st = ig_npz_add(w, item->name, &a);
  ig_mem_free(c->alloc, copy, copy ? a.data.n : 0);
  return st;
}

ig_status ig_npz_print(ig_ctx *c, const ig_tensor_list *list, bool bits, ig_sink *out) {
  ig_zip_writer w;
  ig_zip_writer_init(&w, c, out, IG_ZIP_ALIGN);
  ig_status st = IG_OK;
  for (size_t i = 0; i < list->n && st == IG_OK; i++) st = add(c, &w, &list->at[i], bits);
  if (st == IG_OK) st = ig_zip_finish(&w);
  ig_zip_writer_free(&w);
  return st;
}

ig_status ig_npy_print(ig_ctx *c, const ig_tensor_list *list, bool bits, ig_sink *out) {
  ig_npy a;
  uint8_t *copy = NULL;
  if (list->n != 1) {
    return ig_fail(c, IG_INVALID, "a .npy file holds one array, found %zu; write .npz", list->n);
  }
  IG_RETURN_IF_ERR(to_npy(c, &list->at[0], bits, &a, &copy));
  ig_str head = ig_str_make(c->alloc);
  ig_status st = ig_npy_head(c, &a, &head);
  if (st == IG_OK) {
    ig_sink_put(out, head.at, head.n);
    ig_sink_put(out, a.data.at, a.data.n);
  }
  ig_str_free(&head);
  ig_mem_free(c->alloc, copy, copy ? a.data.n : 0);
  return st;
}
