// SPDX-License-Identifier: Apache-2.0
// Printing text that came from a file. Control characters can move a terminal's cursor, change its
// colours or title, and bidirectional marks can disguise a name. Messages of this library are
// already escaped; a program that prints names, values or sources must escape them with these
// functions.
#ifndef INGOT_TEXT_H_
#define INGOT_TEXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingot/status.h"

IG_BEGIN_DECLS

// How many bytes at s, of n, must be escaped: a control character (C0, DEL, C1), a bidirectional
// mark, a line separator, or a byte that is not UTF-8. 0: none. *code is the character, or the byte
// itself if it is not UTF-8.
IG_API size_t ig_text_hazard(const char *s, size_t n, uint32_t *code);

// Escapes them as \n, \t, \x1b, \u202e; `lines`: line feeds and tabs are kept. Writes as much as
// fits into cap bytes, with a terminating zero, and returns the full length.
IG_API size_t ig_text_escape(const char *s, size_t n, bool lines, char *out, size_t cap);

IG_END_DECLS

#endif
