// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy arrays and .npz archives, both ways: plain numbers (bool, integers, floats and
// complex of the widths that C has) and texts; Python objects, dates and records are refused. Data
// is handed out where it lies; who wants it in another order or byte order copies with ig_npy_copy.
#ifndef CODEC_NPY_H_
#define CODEC_NPY_H_

#include "base/str.h"
#include "codec/zip.h"

enum { IG_NPY_MAX_DIMS = 64 };

typedef struct ig_npy {
  // 'b' bool, 'i' int, 'u' unsigned, 'f' float, 'c' complex; texts, filled up with NULs: 'U' of
  // UCS-4, 'S' of bytes.
  char kind;
  uint32_t width;  // bytes of one element
  bool fortran;    // first dimension varies fastest
  bool big;        // big-endian, only when read; see ig_npy_is_swapped
  int ndim;
  int64_t shape[IG_NPY_MAX_DIMS];
  ig_bytes data;
} ig_npy;

// `name` is used in messages. out->data is a slice of `in`.
IG_MUST_USE ig_status ig_npy_read(ig_ctx *c, const char *name, ig_bytes in, ig_npy *out);
// The header, as NumPy writes it; its length is a multiple of 64.
IG_MUST_USE ig_status ig_npy_head(ig_ctx *c, const ig_npy *a, ig_str *out);
// Its byte order is not the machine's.
bool ig_npy_is_swapped(const ig_npy *a);
// The elements in C order and native byte order, a->data.n bytes.
void ig_npy_copy(const ig_npy *a, uint8_t *dst);

static inline bool ig_npy_is_text(const ig_npy *a) {
  return a->kind == 'U' || a->kind == 'S';
}
// The elements of an array of texts as UTF-8, in C order, in the innermost scope; *n of them.
// IG_SYNTAX names an element that is none: a number outside of Unicode, a surrogate, bytes that are
// no UTF-8; IG_UNSUPPORTED one with a NUL inside, where texts of this library would end.
IG_MUST_USE ig_status ig_npy_texts(ig_ctx *c, const char *name, const ig_npy *a,
                                   const char ***texts, size_t *n);
// a->width and a->data for the texts of an array of kind 'U'; the data is *copy, a->data.n bytes of
// the context's allocator. IG_INVALID names a text that is no UTF-8.
IG_MUST_USE ig_status ig_npy_set_texts(ig_ctx *c, const char *name, const char *const *texts,
                                       size_t n, ig_npy *a, uint8_t **copy);

typedef struct ig_npz {
  ig_zip zip;
  ig_arena arena;      // unpacked members
  const char **names;  // without ".npy"
  ig_npy *arrays;
  size_t n;
} ig_npz;

// The bytes must outlive the archive. limits NULL: the default ones.
IG_MUST_USE ig_status ig_npz_open(ig_ctx *c, const char *name, ig_bytes in, const ig_limits *limits,
                                  ig_npz *out);
void ig_npz_close(ig_npz *z);
const ig_npy *ig_npz_find(const ig_npz *z, const char *name);  // NULL when absent.
// Adds an array to an archive being written.
IG_MUST_USE ig_status ig_npz_add(ig_zip_writer *w, const char *name, const ig_npy *a);

#endif
