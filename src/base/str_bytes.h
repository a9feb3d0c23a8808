// SPDX-License-Identifier: Apache-2.0
// Bytes in string builders: texts with zero bytes, and texts that are put together byte by byte.
#ifndef BASE_STR_BYTES_H_
#define BASE_STR_BYTES_H_

#include "base/str.h"

void ig_str_bytes(ig_str *s, const void *at, size_t n);  // as they are

#endif
