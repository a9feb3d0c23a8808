// SPDX-License-Identifier: Apache-2.0
// The order in which SymPy stores the operands of sums and products, and graphs compute them.
#ifndef SYM_ORDER_H_
#define SYM_ORDER_H_

#include "sym/expr.h"

// Numbers, symbols of which less is assumed (read from data), symbols of sizes, powers, products,
// sums, functions by name.
int ig_expr_cmp_stored(const ig_expr *a, const ig_expr *b);

#endif  // SYM_ORDER_H_
