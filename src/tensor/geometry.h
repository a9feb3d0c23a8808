// SPDX-License-Identifier: Apache-2.0
// Which sizes, strides and offsets a tensor may have. Every tensor passes ig_geometry_admit when it
// is made or gets another shape, whoever asks: operators, files, NumPy. What is promised of tensors
// with bytes, so that kernels may multiply and add without looking:
//   - the product of the sizes, an empty one counted as 1, is at most IG_MAX_ELEMENTS
//   - no stride and no offset is negative
//   - offset + sum (size - 1) * stride and every stride are at most IG_MAX_REACH, empty or not
//   - if there are elements, all of them lie inside the storage
// IG_MAX_REACH elements of the widest dtype are 2^61 bytes. Fake tensors have no bytes to reach: of
// them only the number of elements must be a number.
#ifndef TENSOR_GEOMETRY_H_
#define TENSOR_GEOMETRY_H_

#include "tensor/tensor.h"

#define IG_MAX_ELEMENTS ((int64_t)1 << 56)
#define IG_MAX_REACH ((int64_t)1 << 57)

typedef struct ig_extent {
  int64_t count;  // elements
  int64_t bytes;  // from the start of the storage to the end of the last element; 0: no elements
} ig_extent;

// False: more elements, or elements farther away, than can be addressed; or a negative number.
bool ig_geometry_measure(const ig_meta *m, ig_extent *out);

// IG_RUNTIME where a tensor may not be so. `over`: the storage that it shall have, NULL: memory of
// its own. *need: the bytes of such memory; 0 if fake.
bool ig_geometry_admit(ig_ctx *c, const ig_meta *m, const ig_storage *over, bool fake,
                       int64_t *need);

#endif
