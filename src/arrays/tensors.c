// SPDX-License-Identifier: Apache-2.0
// Named tensors in files of any of the formats for them: the format is determined by content when
// reading and by name when writing.
#include <string.h>

#include "arrays/arrays.h"
#include "arrays/torch_file.h"
#include "arrays/unpack.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "tensor/copy.h"
#include "tensor/tensor.h"

// ---- torch.save

static char *scope_text(ig_ctx *c, const char *text, size_t n) {
  char *copy = ig_scope_push(c, n + 1);
  if (!copy) return NULL;
  memcpy(copy, text, n);
  copy[n] = 0;
  return copy;
}

static ig_status add_entry(ig_ctx *c, const char *file, const ig_object *key,
                           const ig_object *value, ig_weight *out) {
  size_t n = 0;
  const char *name = ig_object_text(key, &n);
  ig_tensor *t = ig_object_tensor(value);
  if (ig_object_kind_of(key) != IG_OBJECT_STR || !t || strlen(name) != n) {
    return ig_fail(c, IG_UNSUPPORTED, "%s: entry '%.100s' is %s, expected a tensor with a name",
                   file, name, ig_object_kind_text(ig_object_kind_of(value)));
  }
  (void)ig_tensor_retain(t);
  if (!ig_pool_add(c, &t->ref)) return ig_ctx_status(c);
  *out = (ig_weight){.name = scope_text(c, name, n), .tensor = t};
  return ig_ctx_status(c);
}

ig_status ig_torch_tensors(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out) {
  ig_object *o = NULL;
  IG_RETURN_IF_ERR(ig_torch_parse(c, in->name, in->bytes, in->owner, in->limits, &o));
  ig_object *wrapped = NULL;
  if (ig_object_tensor(o)) {
    wrapped = ig_object_new(c, IG_OBJECT_DICT);
    if (ig_object_put_str(c, wrapped, "arr_0", ig_object_retain(o)) == IG_OK) {
      ig_object_free(o);
      o = ig_object_retain(wrapped);
    }
  }
  ig_object_kind kind = ig_object_kind_of(o);
  size_t n = ig_object_count(o);
  ig_weight *list = ig_scope_array(c, n + 1, sizeof *list);
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK && kind != IG_OBJECT_DICT && kind != IG_OBJECT_ORDERED) {
    st = ig_fail(c, IG_UNSUPPORTED, "%s: holds %s, expected a dictionary of tensors", in->name,
                 ig_object_kind_text(kind));
  }
  for (size_t i = 0; i < n && st == IG_OK; i++) {
    st = add_entry(c, in->name, ig_object_key(o, i), ig_object_at(o, i), &list[i]);
  }
  ig_object_free(o);
  ig_object_free(wrapped);
  if (st == IG_OK) *out = (ig_tensor_list){.at = list, .n = n};
  return st;
}

static ig_status torch_print(ig_ctx *c, const ig_tensor_list *list, ig_sink *out) {
  for (size_t i = 0; i < list->n; i++) {
    if (!list->at[i].texts) continue;
    return ig_fail(c, IG_UNSUPPORTED,
                   "array '%s' holds texts, which is no tensor for torch.load; write .npz",
                   list->at[i].name);
  }
  ig_object *o = ig_object_new(c, IG_OBJECT_DICT);
  for (size_t i = 0; i < list->n; i++) {
    (void)!ig_object_put_str(c, o, list->at[i].name,
                             ig_object_of_tensor(c, list->at[i].tensor, false));
  }
  ig_status st = ig_ctx_status(c) == IG_OK ? ig_torch_print(c, o, out) : ig_ctx_status(c);
  ig_object_free(o);
  return st;
}

// ---- reading

static bool is_npz(ig_ctx *c, const ig_arrays_in *in) {
  ig_zip z;
  if (ig_zip_open_any_case(c, in->name, in->bytes, in->limits, &z) != IG_OK) return false;
  const char *first = z.n ? z.entries[0].name : ".npy";
  size_t n = strlen(first);
  bool npz = n >= 4 && strcmp(first + n - 4, ".npy") == 0;
  ig_zip_close(&z);
  return npz;
}

ig_status ig_tensors_parse(ig_ctx *c, const ig_arrays_in *in, ig_tensor_list *out) {
  *out = (ig_tensor_list){0};
  const uint8_t *p = in->bytes.at;
  size_t n = in->bytes.n;
  if (n >= 4 && (memcmp(p, "PK\3\4", 4) == 0 || memcmp(p, "PK\5\6", 4) == 0)) {
    bool npz = is_npz(c, in);
    IG_RETURN_IF_ERR(ig_ctx_status(c));
    return npz ? ig_npz_parse(c, in, out) : ig_torch_tensors(c, in, out);
  }
  if (n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0) return ig_npy_parse(c, in, out);
  if (n > 8 && p[8] == '{' && ig_load64(p) <= n) return ig_safetensors_parse(c, in, out);
  if (n > 1 && p[0] == 0x80) return ig_torch_tensors(c, in, out);
  return ig_fail(c, IG_SYNTAX,
                 "%s: no file of tensors (safetensors, .npz, .npy or torch.save; %zu bytes)",
                 in->name, n);
}

ig_status ig_tensors_open(ig_ctx *c, const char *path, const ig_limits *limits,
                          ig_tensor_list *out) {
  *out = (ig_tensor_list){0};
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_file *f = NULL;
  IG_RETURN_IF_ERR(ig_file_map(c, path, &f));
  ig_arrays_in in = {path, f->bytes, f, limits};
  ig_status st = ig_tensors_parse(c, &in, out);
  ig_file_release(f);
  return st;
}

ig_status ig_tensors_load(ig_ctx *c, const char *path, const ig_weight **list, size_t *n) {
  ig_tensor_list all;
  ig_status st = ig_tensors_open(c, path, NULL, &all);
  *list = all.at;
  *n = all.n;
  return st;
}

// ---- writing

ig_status ig_tensor_bytes(ig_ctx *c, const char *name, const ig_tensor *t, ig_bytes *out,
                          uint8_t **copy) {
  *copy = NULL;
  if (ig_tensor_is_fake(t)) {
    return ig_fail(c, IG_INVALID, "array '%s' has no data: it is a fake or meta tensor", name);
  }
  *out = (ig_bytes){ig_tensor_data(t), (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype)};
  if (out->n == 0 || ig_tensor_is_dense(t)) return ig_elements_little(c, t->dtype, out, copy);
  *copy = ig_mem_new(c->alloc, out->n);
  if (!*copy) return ig_fail(c, IG_NOMEM, "out of memory");
  ig_tensor_read(t, t->dtype, *copy);
  if (IG_BIG_ENDIAN) ig_elements_swap(t->dtype, *copy, out->n);
  out->at = *copy;
  return IG_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text);
  size_t k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

static ig_status write_any(ig_ctx *c, const char *path, const ig_tensor_list *list, bool bits) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_sink sink;
  IG_RETURN_IF_ERR(ig_sink_file(c, path, &sink));
  ig_status st;
  if (!bits && ends_with(path, ".safetensors")) {
    st = ig_safetensors_print(c, list, &sink);
  } else if (!bits && (ends_with(path, ".pt") || ends_with(path, ".pth"))) {
    st = torch_print(c, list, &sink);
  } else if (ends_with(path, ".npy")) {
    st = ig_npy_print(c, list, bits, &sink);
  } else {
    st = ig_npz_print(c, list, bits, &sink);
  }
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&sink);
  return st;
}

ig_status ig_tensors_write(ig_ctx *c, const char *path, const ig_tensor_list *list) {
  return write_any(c, path, list, false);
}

ig_status ig_tensors_write_bits(ig_ctx *c, const char *path, const ig_tensor_list *list) {
  return write_any(c, path, list, true);
}

ig_status ig_tensors_save(ig_ctx *c, const char *path, const ig_weight *list, size_t n) {
  ig_tensor_list all = {.at = list, .n = n};
  return ig_tensors_write(c, path, &all);
}
