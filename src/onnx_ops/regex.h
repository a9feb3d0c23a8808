// SPDX-License-Identifier: Apache-2.0
// Regular expressions (the common part of RE2's syntax), matched in time linear in the text: a
// nondeterministic automaton whose states are simulated simultaneously. Malicious patterns cost no
// more than others.
#ifndef ONNX_OPS_REGEX_H_
#define ONNX_OPS_REGEX_H_

#include "base/ctx.h"
#include "base/file.h"

typedef struct ig_regex ig_regex;

// Lives as long as the innermost scope. IG_SYNTAX: malformed; IG_UNSUPPORTED.
ig_regex *ig_regex_parse(ig_ctx *c, ig_bytes pattern);
// Does the whole text match? text: UTF-8; invalid sequences count as single bytes.
bool ig_regex_matches(ig_ctx *c, const ig_regex *re, ig_bytes text);

#endif
