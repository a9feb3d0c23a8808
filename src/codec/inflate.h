// SPDX-License-Identifier: Apache-2.0
// Unpacks deflate streams (RFC 1951) whose unpacked size is known.
#ifndef CODEC_INFLATE_H_
#define CODEC_INFLATE_H_

#include "base/file.h"

typedef enum ig_inflated {
  IG_INFLATED,         // the stream gave exactly n bytes and ended with the last byte of `packed`
  IG_INFLATE_DAMAGED,  // it did not, or is no deflate stream
  IG_INFLATE_STOPPED,  // by a limit of the context, which has the error
} ig_inflated;

// One pass, no memory but the stack. A damaged stream may leave any bytes in dst[0 .. n).
IG_MUST_USE ig_inflated ig_inflate(ig_ctx *c, ig_bytes packed, uint8_t *dst, size_t n);

#endif
