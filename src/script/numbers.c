// SPDX-License-Identifier: Apache-2.0
#include "script/numbers.h"

static const int8_t dtypes[IG_DTYPE_COUNT] = {
    [IG_U8] = 0,    [IG_I8] = 1,    [IG_I16] = 2,     [IG_I32] = 3,       [IG_I64] = 4,
    [IG_F16] = 5,   [IG_F32] = 6,   [IG_F64] = 7,     [IG_C64] = 9,       [IG_C128] = 10,
    [IG_BOOL] = 11, [IG_BF16] = 15, [IG_F8E5M2] = 23, [IG_F8E4M3FN] = 24, [IG_U16] = 27,
    [IG_U32] = 28,  [IG_U64] = 29,  [IG_QI8] = 12,    [IG_QU8] = 13,      [IG_QI32] = 14};
static const int8_t layouts[IG_LAYOUT_COUNT] = {[IG_STRIDED] = 0, [IG_SPARSE_COO] = 1};
static const int8_t formats[IG_MEMORY_FORMAT_COUNT] = {
    [IG_CONTIGUOUS] = 0, [IG_PRESERVE] = 1, [IG_CHANNELS_LAST] = 2, [IG_CHANNELS_LAST_3D] = 3};

static int find(const int8_t *table, int n, int64_t number) {
  for (int i = 0; i < n; i++) {
    if (table[i] == number) return i;
  }
  return n;
}

int64_t ig_script_of_dtype(ig_dtype d) {
  return d < IG_DTYPE_COUNT ? dtypes[d] : -1;
}

ig_dtype ig_script_dtype(int64_t number) {
  return (ig_dtype)find(dtypes, IG_DTYPE_COUNT, number);
}

int64_t ig_script_of_layout(ig_layout l) {
  return l < IG_LAYOUT_COUNT ? layouts[l] : -1;
}

ig_layout ig_script_layout(int64_t number) {
  return (ig_layout)find(layouts, IG_LAYOUT_COUNT, number);
}

int64_t ig_script_of_memory_format(ig_memory_format f) {
  return f < IG_MEMORY_FORMAT_COUNT ? formats[f] : -1;
}

ig_memory_format ig_script_memory_format(int64_t number) {
  return (ig_memory_format)find(formats, IG_MEMORY_FORMAT_COUNT, number);
}
