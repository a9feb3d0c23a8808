// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648), for bytes in JSON.
#ifndef CODEC_BASE64_H_
#define CODEC_BASE64_H_

#include "base/arena.h"
#include "base/file.h"

// Decodes into the arena. False: a character outside the alphabet, wrong padding, or out of memory
// (then out->at is NULL and *memory true).
bool ig_base64_decode(ig_arena *arena, const char *text, size_t n, ig_bytes *out, bool *memory);

#endif
