// SPDX-License-Identifier: Apache-2.0
// Which lines of a file are the text of a definition. Only brackets, strings, comments and
// indentation are looked at, so that a function is found without reading the rest of its file.
#ifndef SCRIPT_BLOCK_H_
#define SCRIPT_BLOCK_H_

#include <stdbool.h>
#include <stddef.h>

typedef struct ig_block_scan {
  size_t lines;   // given so far
  size_t last;    // how many of them belong to the definition
  size_t def;     // index of the line with `def` or `class`: decorators stand before it
  size_t base;    // column of the definition
  size_t body;    // column of its body; 0: not reached
  size_t depth;   // open brackets
  char quote;     // of the string that is open; 0: none
  bool triple;    // it has three quotes
  bool joined;    // the line before ends with a backslash
  bool begun;     // the definition's first line was given
  bool one_line;  // the body stands behind the colon
} ig_block_scan;

// Takes the next line, with or without its newline; the first one is a decorator or the definition.
// False: the line does not belong to the definition, nor does anything behind it. `last` is then
// final.
bool ig_block_next(ig_block_scan *s, const char *line, size_t n);

#endif
