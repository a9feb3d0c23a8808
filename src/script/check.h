// SPDX-License-Identifier: Apache-2.0
// What Python's syntax has and scripts have not. User code is checked before it is compiled; code
// of archives needs no check, because their compiler names what it does not know.
#ifndef SCRIPT_CHECK_H_
#define SCRIPT_CHECK_H_

#include "script/tree.h"

// Which kind of thing was refused. Hosts have a class of errors for each.
typedef enum ig_srefusal {
  IG_SREFUSAL_NONE,
  IG_SREFUSAL_FRONTEND,   // a constant or name that has no meaning in scripts
  IG_SREFUSAL_FEATURE,    // a form of something that scripts have
  IG_SREFUSAL_STATEMENT,  // a kind of statement or expression
} ig_srefusal;

// Checks a DEF, signature first, then statements in order. At the first thing that is refused the
// context fails with IG_UNSUPPORTED, with a text that quotes the place, and *what says its kind.
IG_MUST_USE ig_status ig_script_check(ig_ctx *c, const ig_tree *def, ig_srefusal *what);

// Fails with the text, a colon, and the place.
void ig_script_refuse(ig_ctx *c, ig_srange where, const char *text);

#endif
