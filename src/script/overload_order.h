// SPDX-License-Identifier: Apache-2.0
#ifndef SCRIPT_OVERLOAD_ORDER_H_
#define SCRIPT_OVERLOAD_ORDER_H_

#include <stddef.h>

enum { IG_OVERLOAD_UNRANKED = 1000, IG_OVERLOAD_HIDDEN = 10000 };

// Position of an overload ("default" is one, too) of an ATen operator in the order of trial.
// IG_OVERLOAD_UNRANKED: the order does not matter, or the overload came later. IG_OVERLOAD_HIDDEN:
// it is not tried.
size_t ig_overload_rank(const char *name, const char *overload);

#endif
