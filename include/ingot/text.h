// SPDX-License-Identifier: Apache-2.0
// Showing text that came from a file. A terminal obeys what it is shown: control characters move
// its cursor, colour it, rename it, and marks of direction make a name read as another. Messages of
// this library are safe already; names, values and sources that a program prints go through here.
#ifndef INGOT_TEXT_H_
#define INGOT_TEXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingot/status.h"

// How many bytes at s, of n, must not be shown as they are: a control character (C0, DEL, C1), a
// mark of direction, a separator of lines, or a byte that is no UTF-8. 0: show it. *code is the
// character, or the byte itself if it is no UTF-8.
IG_API size_t ig_text_hazard(const char *s, size_t n, uint32_t *code);

// The text with those written as \n, \t, \x1b, \u202e; `lines`: line feeds and tabs stay. Writes as
// much as fits into cap bytes, ends it with a 0, and returns how long it would be.
IG_API size_t ig_text_escape(const char *s, size_t n, bool lines, char *out, size_t cap);

#endif
