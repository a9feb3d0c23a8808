// SPDX-License-Identifier: Apache-2.0
// The user's frames at a call, and the text that Python prints of them.
//
// Frames are data: whoever records them fills in the structure, and texts are printed from it. Only
// texts of others (files, metadata that a user assigned) are parsed.
#ifndef BASE_FRAMES_H_
#define BASE_FRAMES_H_

#include "base/arena.h"
#include "base/str.h"
#include "ingot/ctx.h"

// Outermost frame first. text: what the frames were parsed from, if it differs from what is printed
// of them, so that nothing is lost; otherwise NULL.
typedef struct ig_frames {
  const ig_frame *at;
  size_t n;
  const char *text;
} ig_frames;

//   File "model.py", line 3, in forward
//     return x + 1
void ig_frames_print(ig_str *s, const ig_frames *f);
// Everything is copied into the arena. Lines that are not part of a frame are skipped. False: out
// of memory.
bool ig_frames_parse(ig_arena *a, const char *text, ig_frames *out);

#endif
