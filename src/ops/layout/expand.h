// SPDX-License-Identifier: Apache-2.0
// Broadcasting one operand to the shape of another, with the checks and messages of expand.
#ifndef OPS_LAYOUT_EXPAND_H_
#define OPS_LAYOUT_EXPAND_H_

#include "op/op.h"

// A view of self with the sizes in the list `size`; IG_RUNTIME if they do not broadcast.
void ig_meta_expand(ig_ctx *c, ig_tensor *self, const ig_value *size, ig_meta *out);

#endif
