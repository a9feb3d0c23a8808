// SPDX-License-Identifier: Apache-2.0
// Operands of a convolution converted to the form that the kernels compute with: planes of f32 or
// f64. Operands in that form are used in place. Buffers too large to keep are returned to the
// system.
#ifndef KERNELS_CONV_STAGE_H_
#define KERNELS_CONV_STAGE_H_

#include "kernels/conv_inner.h"
#include "kernels/scratch.h"

typedef struct ig_conv_buffer {
  void *data;  // NULL: no memory
  bool owned;  // to be freed, else a scratch slot's
} ig_conv_buffer;

ig_conv_buffer ig_conv_buffer_get(ig_scratch_slot slot, size_t bytes);
void ig_conv_buffer_free(ig_conv_buffer *b);

typedef struct ig_conv_stage {
  ig_elem elem;        // as stored by the caller
  bool channels_last;  // of the caller's tensor
  int64_t n;
  int64_t channels;
  int64_t pixels;
} ig_conv_stage;

static inline bool ig_conv_stage_is_plain(const ig_conv_stage *s) {
  return !ig_elem_is_half(s->elem) && (!s->channels_last || s->channels == 1 || s->pixels == 1);
}

// The caller's tensor as planes in dst, and back.
void ig_conv_stage_in(const ig_conv_stage *s, const void *src, void *dst);
void ig_conv_stage_out(const ig_conv_stage *s, const void *src, void *dst);

#endif
