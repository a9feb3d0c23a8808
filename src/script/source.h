// SPDX-License-Identifier: Apache-2.0
// The text of a script and places in it. Error texts quote the lines around a place and mark it, as
// PyTorch does.
#ifndef SCRIPT_SOURCE_H_
#define SCRIPT_SOURCE_H_

#include "base/str.h"

typedef struct ig_source {
  const char *text;
  size_t n;
  const char *file;   // NULL: none; messages quote lines without naming a file
  size_t first_line;  // number of the text's first line in the file, from 1
  size_t indent;      // columns that were cut off every line of the file
  bool stack;         // the text is the stack of a traced program, and is quoted as it is
} ig_source;

// Bytes [start, end) of a source; source NULL: nowhere.
typedef struct ig_srange {
  const ig_source *source;
  size_t start;
  size_t end;
} ig_srange;

size_t ig_srange_line(ig_srange r);    // number of its first line in the file, from 1
size_t ig_srange_column(ig_srange r);  // of its first byte in the file, from 0

enum { IG_CONTEXT_LINES = 3 };  // before and after

// `  File "f.py", line 3, in forward`, the lines around the range, and `~~~~ <--- HERE` under it.
// function NULL: not named.
void ig_srange_quote(ig_str *s, ig_srange r, const char *function);

#endif
