// SPDX-License-Identifier: Apache-2.0
// Laying out values: which ones exist in blocks, and which in the program's layout.
#ifndef RT_BLOCKS_H_
#define RT_BLOCKS_H_

#include "rt/layer.h"

// The two layouts of one buffer of the program.
typedef struct ig_rt_twin {
  ig_rt_image image;
  ig_tensor *blocked;  // NULL: not in blocks
  ig_tensor *whole;    // the plain value
  bool plain;          // it is computed
} ig_rt_twin;

typedef struct ig_rt_blocks {
  ig_binding *b;
  size_t n;  // buffers of the program; those of values in blocks come later
  ig_rt_twin *twins;
  int64_t lanes;
  IG_VEC(ig_rt_step) steps;
} ig_rt_blocks;

// The value in blocks; NULL: it is not there, or t shows only a part of it.
ig_tensor *ig_rt_blocked(const ig_rt_blocks *k, const ig_tensor *t);
// The same, made if necessary; NULL after an error. t has an image (ig_rt_image_of).
ig_tensor *ig_rt_need_blocked(ig_rt_blocks *k, ig_tensor *t);
bool ig_rt_need_plain(ig_rt_blocks *k, const ig_tensor *t);  // false after an error
bool ig_rt_has_plain(const ig_rt_blocks *k, const ig_tensor *t);
void ig_rt_made_plain(const ig_rt_blocks *k, const ig_tensor *t);  // a step computes it
// Where a step writes the value t in blocks; NULL after an error.
ig_tensor *ig_rt_give_blocked(ig_rt_blocks *k, ig_tensor *t);

// A call whose operands are all there in blocks is changed to work on these; false: it is as it
// was, because it cannot, or after an error.
bool ig_rt_call_in_blocks(ig_rt_blocks *k, ig_rt_step *s);

#endif
