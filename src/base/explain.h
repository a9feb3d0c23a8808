// SPDX-License-Identifier: Apache-2.0
// From the codes in errors to their explanations.
#ifndef BASE_EXPLAIN_H_
#define BASE_EXPLAIN_H_

#include "base/cause.h"
#include "ingot/explain.h"

extern const ig_explanation ig_explanation_table[IG_CAUSE_COUNT];

// Of an error with this cause: that of its code, or else that of its status. NULL: none.
const ig_explanation *ig_cause_explanation(ig_cause why);
ig_cause ig_explanation_cause(const ig_explanation *e);  // The code without a status. NULL: 0.

#endif
