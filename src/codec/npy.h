// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy arrays and .npz archives, both ways. Only plain numbers: bool, integers, floats and
// complex of the widths that C has; Python objects, strings and records are refused. Data is handed
// out where it lies; who wants it in another order or byte order copies with ig_npy_copy.
#ifndef CODEC_NPY_H_
#define CODEC_NPY_H_

#include "base/str.h"
#include "codec/zip.h"

enum { IG_NPY_MAX_DIMS = 64 };

typedef struct ig_npy {
  char kind;      // 'b' bool, 'i' int, 'u' unsigned, 'f' float, 'c' complex
  uint8_t width;  // bytes of one element
  bool fortran;   // first dimension varies fastest
  bool big;       // big-endian, only when read
  int ndim;
  int64_t shape[IG_NPY_MAX_DIMS];
  ig_bytes data;
} ig_npy;

// `name` is used in messages. out->data is a slice of `in`.
IG_MUST_USE ig_status ig_npy_read(ig_ctx *c, const char *name, ig_bytes in, ig_npy *out);
// What stands before the data, as NumPy writes it; its length is a multiple of 64.
IG_MUST_USE ig_status ig_npy_head(ig_ctx *c, const ig_npy *a, ig_str *out);
IG_MUST_USE ig_status ig_npy_save(ig_ctx *c, const char *path, const ig_npy *a);
// The elements in C order and native byte order, a->data.n bytes.
void ig_npy_copy(const ig_npy *a, uint8_t *dst);

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
// One more array of an archive being written.
IG_MUST_USE ig_status ig_npz_add(ig_zip_writer *w, const char *name, const ig_npy *a);

#endif
