// SPDX-License-Identifier: Apache-2.0
// Structs that programs fill and the library may extend at their end. The first field says how much
// of the struct the program knows.
#ifndef BASE_OPTIONS_H_
#define BASE_OPTIONS_H_

#include <stddef.h>
#include <string.h>

// *to = *from with this library's size; what an older program does not know, and everything if from
// is NULL, is 0; what a newer one knows beyond is ignored. A program that leaves the size 0 means
// the fields up to `last`, the last one of the struct's first release.
#define IG_OPTIONS_TAKE(to, from, last) \
  ig_options_take((to), sizeof *(to), (size_t)((char *)(&(to)->last + 1) - (char *)(to)), (from))

static inline void ig_options_take(void *to, size_t room, size_t first, const void *from) {
  size_t given = 0;
  memset(to, 0, room);
  if (from) {
    memcpy(&given, from, sizeof given);
    if (!given) given = first;
    memcpy(to, from, given < room ? given : room);
  }
  memcpy(to, &room, sizeof room);
}

#endif
