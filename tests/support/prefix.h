// SPDX-License-Identifier: Apache-2.0
// Recorded expressions: the prefix form in which records of expressions.jsonl.gz are built.
#ifndef TESTS_PREFIX_H_
#define TESTS_PREFIX_H_

#include "codec/json.h"
#include "sym/expr.h"

// ["add", "s0", 1]: symbols must exist. NULL after an error in c, and for what is no such form.
const ig_expr *test_prefix_build(ig_ctx *c, const ig_json *j);

#endif
