// SPDX-License-Identifier: Apache-2.0
// Which sizes, strides and offsets a tensor may have. Every tensor is validated by
// ig_geometry_admit when it is made or reshaped, wherever it comes from: operators, files, NumPy.
// Tensors with data are guaranteed the following, so that kernels may multiply and add without
// checks:
//   - the product of the sizes, an empty one counted as 1, is at most IG_MAX_ELEMENTS
//   - no stride and no offset is negative
//   - offset + sum (size - 1) * stride and every stride are at most IG_MAX_REACH, empty or not
//   - if there are elements, all of them lie inside the storage
// IG_MAX_REACH elements of the widest dtype are 2^61 bytes. Fake tensors have no data: their
// sizes must not be negative, and their number of elements must be representable.
#ifndef TENSOR_GEOMETRY_H_
#define TENSOR_GEOMETRY_H_

#include "tensor/tensor.h"

#define IG_MAX_ELEMENTS ((int64_t)1 << 56)
#define IG_MAX_REACH ((int64_t)1 << 57)

typedef struct ig_extent {
  int64_t count;  // elements
  int64_t bytes;  // from the start of the storage to the end of the last element; 0: no elements
} ig_extent;

// False: too many elements, elements too far away, or a negative number.
bool ig_geometry_measure(const ig_meta *m, ig_extent *out);

// IG_RUNTIME if the geometry is not allowed. `over`: the storage to be used, NULL: new memory.
// *need: the bytes of new memory; 0 if fake.
bool ig_geometry_admit(ig_ctx *c, const ig_meta *m, const ig_storage *over, bool fake,
                       int64_t *need);

#endif
